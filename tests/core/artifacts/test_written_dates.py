"""Dates and times of synthetic files: CSV as the declared format says, other files typed or in ISO 8601."""

import csv
import io
import json
import subprocess
import sys
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from core.artifacts.bundle import Bundle
from core.artifacts.packing import pack
from core.artifacts.sampling.sampler_script import render_script
from core.artifacts.sampling.samples import open_samples
from core.data.intake.intake import CSV, receive
from core.plan.domain.table import TableDomain
from tests.core.artifacts import stand_in
from tests.core.artifacts.test_sampler_script import unzipped

BOUNDS = {
    "date": {"lower": "2019-03-05", "upper": "2024-11-20"},
    "datetime": {"lower": "2019-03-05T00:00:00", "upper": "2024-11-20T23:59:59", "resolution": "minute"},
}
FORMATS = [
    ("date", "%d/%m/%Y"),
    ("date", "%m/%d/%Y"),
    ("date", "%Y%m%d"),
    ("date", "%d.%m.%y"),
    ("date", "%b %d, %Y"),
    ("date", "%A %d %B %Y"),
    ("datetime", "%d/%m/%Y %H:%M"),
    ("datetime", "%m/%d/%Y %I:%M %p"),
    ("datetime", "%Y-%m-%dT%H:%M:%S"),
]


def domain_of(kind: str, format_: str | None) -> dict[str, Any]:
    seen = {"name": "seen", "kind": kind, "null": "category"} | BOUNDS[kind]
    return {
        "schema": "understudy.domain/1",
        "target": "ward",
        "privacy_unit": None,
        "columns": [
            seen | ({} if format_ is None else {"format": format_}),
            {"name": "ward", "kind": "categorical", "categories": ["A", "B"]},
        ],
    }


def bundle(kind: str, format_: str | None) -> Bundle:
    return stand_in.even_bundle(domain_of(kind, format_))


def moment_of(text: str, format_: str) -> datetime:
    return datetime.strptime(text, format_)  # noqa: DTZ007 - synthetic times have no zone


def drawn(made: Bundle, name: str, rows: int = 400, **options: Any) -> bytes:
    return b"".join(open_samples(pack(made, readme="how to")).write(rows, name, **options))


def texts(content: str) -> list[str]:
    return [row["seen"] for row in csv.DictReader(io.StringIO(content))]


@pytest.mark.parametrize(("kind", "format_"), FORMATS)
def test_a_synthetic_csv_file_is_written_as_the_real_one_and_read_by_the_same_domain(
    kind: str, format_: str, tmp_path: Path
) -> None:
    made = bundle(kind, format_)
    content = drawn(made, "csv")
    found = texts(content.decode())
    present = [text for text in found if text]
    assert 0 < len(present) < len(found) == 400
    moments = [moment_of(text, format_) for text in present]
    assert [moment.strftime(format_) for moment in moments] == present
    assert date(2019, 3, 5) <= min(moments).date() <= max(moments).date() <= date(2024, 11, 20)
    assert len(set(present)) > 200
    report = receive(
        io.BytesIO(content),
        content_type=CSV,
        domain=TableDomain.from_json(domain_of(kind, format_)),
        sink=io.BytesIO(),
        scratch_folder=tmp_path,
    )
    assert (report.rows_refused, dict(report.changes)) == (0, {})


@pytest.mark.parametrize(("kind", "format_"), FORMATS)
def test_the_script_of_a_bundle_writes_it_too(kind: str, format_: str, tmp_path: Path) -> None:
    script = unzipped(pack(bundle(kind, format_), readme="how to"), tmp_path)
    run = [sys.executable, "-I", str(script), "300", str(tmp_path / "rows.csv")]
    subprocess.run(run, check=True, cwd=tmp_path, timeout=600)
    found = texts((tmp_path / "rows.csv").read_text())
    present = [text for text in found if text]
    assert 0 < len(present) < len(found)
    assert [moment_of(text, format_).strftime(format_) for text in present] == present


def test_other_files_are_typed_or_in_iso_8601() -> None:
    made = bundle("date", "%d/%m/%Y")
    lines = drawn(made, "jsonl").decode().splitlines()
    assert all(date.fromisoformat(json.loads(line)["seen"] or "2020-01-01") for line in lines)
    assert (
        pa.parquet.read_table(pa.BufferReader(drawn(made, "parquet"))).schema.field("seen").type
        == pa.date32()
    )
    assert pa.ipc.open_stream(drawn(made, "arrow")).schema.field("seen").type == pa.date32()


@pytest.mark.parametrize("format_", [None, "%Y-%m-%dT%H:%M:%S%z", "%d.%m.%Y %H:%M:%S.%f"])
def test_without_a_format_or_with_one_that_only_reading_knows_it_is_iso_8601(format_: str | None) -> None:
    present = [text for text in texts(drawn(bundle("datetime", format_), "csv").decode()) if text]
    assert [str(datetime.fromisoformat(text)) for text in present] == present


def test_no_cell_runs_as_a_formula_where_the_format_begins_with_one() -> None:
    found = texts(drawn(bundle("date", "=%d/%m/%Y"), "csv", spreadsheet_safe=True).decode())
    assert {text[:2] for text in found if text} == {"'="}


def test_the_script_of_a_domain_without_formats_knows_none() -> None:
    made = stand_in.bundle()
    assert "strftime" not in render_script(made.manifest, stand_in.DOMAIN)
