import csv
import io
import threading
from dataclasses import replace

import pytest

from core.artifacts.errors import BundleInvalid, FormatNotForRelease, SpreadsheetSafeIsForCsv
from core.artifacts.packing import pack
from core.artifacts.sampling.samples import open_samples
from tests.core.artifacts import image_stand_in, stand_in

KINDS = {
    "table": (stand_in.bundle(), ["csv", "parquet", "jsonl", "arrow"]),
    "images": (image_stand_in.bundle(), ["npz", "zip", "png"]),
}


@pytest.fixture(params=list(KINDS))
def kind(request):
    made, formats = KINDS[request.param]
    return pack(made, readme="x"), formats


def test_a_bundle_has_the_formats_of_what_it_generates(kind):
    packed, formats = kind
    samples = open_samples(packed)
    assert list(samples.MEDIA_TYPES) == formats
    for name in formats:
        assert sum(map(len, samples.write(3, name))) > 50


def test_a_format_of_the_other_kind_is_refused_before_anything_is_drawn(kind):
    packed, formats = kind
    samples = open_samples(packed)
    for other in {"csv", "parquet", "jsonl", "arrow", "npz", "zip", "png", "xlsx"} - set(formats):
        with pytest.raises(FormatNotForRelease) as caught:
            samples.write(3, other)
        assert caught.value.facts == {"formats": formats}


def test_closing_a_file_stops_the_drawing(kind):
    packed, formats = kind
    pieces = open_samples(packed, threads=2).write(10**12, formats[0])
    next(pieces)
    pieces.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("sampler")]


def test_bytes_paths_and_files_are_opened(kind, tmp_path):
    packed, formats = kind
    path = tmp_path / "b.zip"
    path.write_bytes(packed)
    with path.open("rb") as file:
        for source in (packed, path, file):
            assert list(open_samples(source).MEDIA_TYPES) == formats


def test_what_is_no_bundle_is_refused():
    with pytest.raises(BundleInvalid):
        open_samples(b"PK")


def test_csv_for_a_spreadsheet_holds_no_formula_and_other_csv_the_declared_words():
    made = stand_in.bundle()
    columns = [dict(column) for column in stand_in.DOMAIN["columns"]]
    columns[0] |= {"name": "=ward", "categories": ["=A", "-B", "-1"]}
    samples = open_samples(pack(replace(made, domain=stand_in.DOMAIN | {"columns": columns}), readme="x"))

    def read(**how):
        return list(csv.reader(io.StringIO(b"".join(samples.write(400, "csv", **how)).decode())))

    header, *rows = read()
    assert header == ["=ward", "age", "sick", "seen"]
    assert {row[0] for row in rows} == {"=A", "-B", "-1"}
    header, *rows = read(spreadsheet_safe=True)
    assert header == ["'=ward", "age", "sick", "seen"]
    assert {row[0] for row in rows} == {"'=A", "'-B", "-1"}
    assert all(row[1].isdigit() for row in rows)
    for other in ("parquet", "jsonl", "arrow"):
        with pytest.raises(SpreadsheetSafeIsForCsv):
            samples.write(3, other, spreadsheet_safe=True)


def test_images_are_not_made_for_spreadsheets():
    samples = open_samples(pack(image_stand_in.bundle(), readme="x"))
    with pytest.raises(SpreadsheetSafeIsForCsv):
        samples.write(3, "zip", spreadsheet_safe=True)
