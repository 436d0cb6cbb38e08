"""Against independent readers: what Python's csv module writes comes back; whatever bytes arrive, nothing crashes."""

import csv
import gzip
import io
import tempfile
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.data.intake import csv_records
from core.data.intake.intake import CSV, GZIP, store_rows
from core.data.intake.intake_report import IntakeReport
from core.data.objects import ObjectStore, open_store
from core.data.private_rows import open_private_rows
from core.errors import UnderstudyError
from tests.core.plan.domain.examples import table

KEY = bytes(32)
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12)
WHO = {"name": "who", "kind": "unit"}
AGE = {"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 99}


def take(data: bytes, kind: str, **csv_keys: object) -> tuple[IntakeReport, list[dict[str, object]]]:
    domain = table(WHO, AGE, privacy_unit="who", csv=csv_keys)
    store: ObjectStore = open_store("memory://")
    with tempfile.TemporaryDirectory() as folder:
        report = store_rows(
            io.BytesIO(data), content_type=kind, domain=domain, store=store, key="rows", data_key=KEY,
            scratch_folder=Path(folder), threads=1,
        )  # fmt: skip
    rows = pa.Table.from_batches(open_private_rows(store, "rows", KEY, domain)).to_pylist()
    return report, rows


@settings(deadline=None)
@given(
    rows=st.lists(st.tuples(TEXT, st.integers(0, 99)), min_size=1, max_size=30),
    ends=st.sampled_from(["\n", "\r\n"]),
    delimiter=st.sampled_from([",", ";", "\t"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    block=st.sampled_from([1, 13, 4096]),
    zipped=st.booleans(),
)
def test_what_python_writes_comes_back(rows, ends, delimiter, quoting, block, zipped):
    if (
        quoting == csv.QUOTE_MINIMAL
    ):  # Python 3.11 does not quote a lone carriage return: then it is a clear error
        rows = [(who.replace("\r", "r"), age) for who, age in rows]
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator=ends, quoting=quoting)
    writer.writerow(["who", "age"])
    writer.writerows(rows)
    data = text.getvalue().encode()
    with mock.patch.object(csv_records, "BLOCK_BYTES", block):
        report, found = take(
            gzip.compress(data) if zipped else data, GZIP if zipped else CSV, delimiter=delimiter
        )
    assert report.rows_refused == 0
    assert [(row["who"], row["age"]) for row in found] == rows


@settings(deadline=None)
@given(rows=st.lists(st.sampled_from(["a,5", "a,x", "a", "a,5,5", "", '"a\nb",5', '"a\nb",x', ",5"]), max_size=40),
       block=st.sampled_from([1, 13, 4096]))  # fmt: skip
def test_every_bad_row_and_only_those_is_listed_with_its_line(rows, block):
    expected = []
    line = 2
    for row in rows:
        if row in {"a,x", "a", "a,5,5", '"a\nb",x', ",5"}:
            expected.append(line)
        line += 1 + row.count("\n")
    good = sum(row in {"a,5", '"a\nb",5'} for row in rows)
    data = ("who,age\n" + "".join(f"{row}\n" for row in rows)).encode()
    with mock.patch.object(csv_records, "BLOCK_BYTES", block):
        if good == 0:
            with pytest.raises(UnderstudyError):
                take(data, CSV)
            return
        report, found = take(data, CSV)
    assert [problem.line for problem in report.problems] == expected
    assert (report.rows_accepted, report.rows_refused, len(found)) == (good, len(expected), good)


ROWS = st.lists(st.sampled_from(["a,5\n", "b,7\r\n", '"a\nb",9\n', "a,x\n"]), max_size=8).map("".join)
TABLES = (st.binary(max_size=60) | (st.text("\"'a,\n\r 5\x00\xe9", max_size=40) | ROWS).map(str.encode)).map(
    lambda data: b"who,age\n" + data
)
ZIPPED = TABLES.map(gzip.compress)
CUT = st.builds(lambda whole, end: whole[:end], ZIPPED, st.integers(0, 60))


@settings(deadline=None, max_examples=200)
@given(st.tuples(TABLES, st.just(CSV)) | st.tuples(ZIPPED | CUT | st.binary(max_size=60), st.just(GZIP)))
def test_whatever_arrives_is_rows_or_a_clear_error(sent):
    data, kind = sent
    try:
        report, rows = take(data, kind)
    except UnderstudyError as error:
        assert 400 <= error.status < 500  # noqa: PT017
        assert error.remedy or error.code == "empty-upload"  # noqa: PT017
    else:
        assert report.rows_accepted == len(rows) > 0
