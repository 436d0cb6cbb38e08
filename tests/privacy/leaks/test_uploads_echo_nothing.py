"""Uploads: nothing of them is on a disk in the clear at any moment, nothing is left of one that failed, and no error quotes it."""

import gzip
import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.data.intake import parquet_table
from core.data.intake.intake import CSV, GZIP, PARQUET, store_rows
from core.data.objects import open_store
from core.errors import UnderstudyError
from core.plan.domain.table import TableDomain
from tests.privacy.leaks.canaries import PERSON, WARD, in_bytes, in_text
from tests.privacy.leaks.stage import Watch
from tests.privacy.leaks.table import DOMAIN

KEY = bytes(range(32))
HEADER = "person,ward,dose,sick\n"
COUNT = 3_000
ROWS = "".join(f"{PERSON}{number},{WARD},{number % 10},yes\n" for number in range(COUNT))


def parquet() -> bytes:
    columns = {
        "person": [f"{PERSON}{n}" for n in range(COUNT)],
        "ward": [WARD] * COUNT,
        "dose": [1.0] * COUNT,
        "sick": ["yes"] * COUNT,
    }
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, compression="none")
    return sink.getvalue()


UPLOADS = {
    CSV: (HEADER + ROWS).encode(),
    GZIP: gzip.compress((HEADER + ROWS).encode(), mtime=0),
    PARQUET: parquet(),
}
BROKEN = {
    "another header": (CSV, f"{WARD},{PERSON}\n{ROWS}".encode()),
    "no row is good": (CSV, (HEADER + f"{PERSON},{WARD},x,{WARD}\n" * 3).encode()),
    "an open quotation mark": (CSV, (HEADER + f'"{PERSON},{WARD}\n').encode()),
    "not utf-8": (CSV, HEADER.encode() + f"{PERSON}".encode() + b"\xff\xfe,A,1,yes\n"),
    "a damaged archive": (GZIP, UPLOADS[GZIP][:-9]),
    "half a Parquet file": (PARQUET, UPLOADS[PARQUET][: len(UPLOADS[PARQUET]) // 2]),
    "Parquet of other columns": (PARQUET, UPLOADS[PARQUET].replace(b"person", b"cAnArY")),
}


def take_in(folder, kind, content):
    """Store an upload, looking at all files before every piece. Returns the watch."""
    watch = Watch(folder)

    def pieces():
        for start in range(0, len(content), 1 << 14):
            watch.look_once()
            yield content[start : start + (1 << 14)]
        watch.look_once()

    store = open_store((folder / "objects").as_uri())
    try:
        store_rows(
            pieces(), content_type=kind, domain=TableDomain.from_json(DOMAIN), store=store, key="datasets/a/rows.sealed",
            data_key=KEY, scratch_folder=folder / "scratch",
        )  # fmt: skip
    finally:
        watch.look_once()
    return watch


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "objects").mkdir()
    return tmp_path


@pytest.mark.parametrize("kind", UPLOADS, ids=["csv", "gzip", "parquet"])
def test_nothing_is_on_disk_in_the_clear_at_any_moment(folder, kind):
    watch = take_in(folder, kind, UPLOADS[kind])
    assert watch.seen > 0
    assert not watch.found
    assert not list((folder / "scratch").iterdir())
    (kept,) = [path for path in (folder / "objects").rglob("*") if path.is_file()]
    assert not in_bytes(kept.read_bytes())


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_upload_leaves_nothing_and_its_error_quotes_nothing(folder, how):
    kind, content = BROKEN[how]
    with pytest.raises(UnderstudyError) as refused:
        take_in(folder, kind, content)
    assert not [path for path in folder.rglob("*") if path.is_file()]
    error = refused.value
    assert not in_text(f"{error} {error.detail} {error.remedy} {error.facts}")


def test_a_spool_in_the_clear_would_be_noticed(folder, monkeypatch):
    class Plain(io.BufferedIOBase):
        """Writes what it is given."""

        def __init__(self, raw, **_):
            self.raw = raw

        def write(self, data):
            self.raw.write(data)
            self.raw.flush()
            return len(data)

    monkeypatch.setattr(parquet_table, "SealedWriter", Plain)
    watch = Watch(folder)
    (folder / "scratch").mkdir()
    with pytest.raises(UnderstudyError), parquet_table.spooled(iter([UPLOADS[PARQUET]]), folder / "scratch"):
        pass
    watch.look_once()
    kept = parquet_table.tempfile.TemporaryFile

    def looked_at(**options):
        file = kept(**options)
        real = file.close

        def close():
            watch.look_once()
            real()

        file.close = close
        return file

    monkeypatch.setattr(parquet_table.tempfile, "TemporaryFile", looked_at)
    with pytest.raises(UnderstudyError), parquet_table.spooled(iter([UPLOADS[PARQUET]]), folder / "scratch"):
        pass
    assert watch.found
