"""Parquet files say the same as CSV files, or are refused."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.data.intake.intake import PARQUET
from core.data.intake.unpacking import IntakeLimits
from core.errors import UnderstudyError
from tests.core.data.desk import AGE, WORK, Desk, people
from tests.core.plan.domain.examples import table


def parquet(data: dict[str, object], **options: object) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(data), sink, **options)
    return sink.getvalue()


def test_parquet_rows_and_their_numbers(desk: Desk):
    data = parquet({
        "note": ["x"] * 5, "work": ["P", "Q", None, "Z", "P"], "age": [5.0, 3.5, 7.0, 8.0, 9.0],
    }, row_group_size=2)  # fmt: skip
    report = desk.take(data, people(), PARQUET)
    assert [(p.line, p.column, p.kind) for p in report.problems] == [
        (2, "age", "not-an-integer"), (3, "work", "missing-value"), (4, "work", "unknown-category")
    ]  # fmt: skip
    assert report.to_json()["problems"][0] == {"row": 2, "column": "age", "kind": "not-an-integer"}  # type: ignore[index]
    assert desk.rows(people()) == [{"age": 5, "work": "P"}, {"age": 9, "work": "P"}]


def test_parquet_types_that_mean_the_same(desk: Desk):
    domain = table(
        AGE, WORK, {"name": "day", "kind": "date", "lower": "2020-01-01", "upper": "2020-12-31"},
        {"name": "ok", "kind": "boolean"}, {"name": "who", "kind": "unit"}, privacy_unit="who",
    )  # fmt: skip
    day = pa.array(["2020-05-06"] * 2)
    variants = [
        {"age": pa.array(["5", "7"]), "work": pa.array(["P", "Q"]).dictionary_encode(), "day": day,
         "ok": pa.array(["true", "false"]), "who": pa.array([1, 2])},
        {"age": pa.array([5, 7], pa.int8()), "work": pa.array(["P", "Q"], pa.large_string()),
         "day": day.cast(pa.date32()), "ok": [True, False], "who": ["1", "2"]},
        {"age": pa.array([5, 7]).cast(pa.decimal128(22, 2)), "work": ["P", "Q"],
         "day": day.cast(pa.timestamp("ns")).cast(pa.timestamp("ns", "UTC")), "ok": [True, False], "who": [1.0, 2.0]},
    ]  # fmt: skip
    for columns in variants:
        desk.take(parquet(columns), domain, PARQUET)
        assert [tuple(map(str, row.values())) for row in desk.rows(domain)] == [
            ("5", "P", "2020-05-06", "True", "1"), ("7", "Q", "2020-05-06", "False", "2")
        ]  # fmt: skip


def test_numbers_as_repeated_text_in_parquet_follow_the_same_rules(desk: Desk):
    domain = table(AGE | {"null": {"use": 1}, "unreadable": "null", "outside": "refuse"})
    desk.take(parquet({"age": ["5", None, "x", "5", "500"]}), domain, PARQUET)
    assert desk.rows(domain) == [{"age": 5}, {"age": 1}, {"age": 1}, {"age": 5}]


@pytest.mark.parametrize(
    "columns",
    [
        {"age": [[1], [2]], "work": ["P", "Q"], "note": ["", ""]},
        {"age": [1, 2], "work": [{"a": 1}, {"a": 2}], "note": ["", ""]},
    ],
)
def test_parquet_types_that_cannot_be_read(desk: Desk, columns):
    assert desk.refuse(parquet(columns), people(), PARQUET).code == "domain-mismatch"


def test_parquet_with_a_wrong_header_or_without_rows(desk: Desk):
    assert desk.refuse(parquet({"age": [1]}), people(), PARQUET).code == "wrong-header"
    no_rows = {
        "age": pa.array([], pa.int64()),
        "work": pa.array([], pa.string()),
        "note": pa.array([], pa.string()),
    }
    assert desk.refuse(parquet(no_rows), people(), PARQUET).code == "empty-upload"


@pytest.mark.parametrize("seed", range(25))
def test_damaged_parquet_never_crashes(desk: Desk, seed: int):
    data = bytearray(parquet({"age": list(range(50)), "work": ["P"] * 50, "note": ["x"] * 50}))
    if seed < 10:
        data = data[: len(data) * seed // 10]
    else:
        data[(seed * 7919) % len(data)] ^= 0x5A
    try:
        desk.take(bytes(data), people(), PARQUET)
    except UnderstudyError as error:
        assert error.status < 500  # noqa: PT017
        assert not desk.store.exists("rows")


def test_cut_parquet_is_damaged(desk: Desk):
    data = parquet({"age": [1, 2], "work": ["P", "P"], "note": ["x", "x"]})
    assert desk.refuse(data[: len(data) // 2], people(), PARQUET).code == "damaged-upload"


def test_a_parquet_footer_that_promises_too_much(desk: Desk):
    data = parquet({"age": [1] * 9000, "work": ["x" * 100] * 9000, "note": [""] * 9000}, use_dictionary=False)
    limits = IntakeLimits(max_column_chunk_bytes=100_000)
    assert desk.refuse(data, people(), PARQUET, limits=limits).code == "decompression-bomb"


def test_a_long_text_repeated_a_million_times_costs_it_once(desk: Desk):
    domain = table(WORK | {"other": True})
    report = desk.take(
        parquet({"work": pa.array(["x" * 50_000]).dictionary_encode().take(pa.array([0] * 10**5))}),
        domain,
        PARQUET,
    )
    assert report.changes == {"work": {"mapped-to-other": 10**5}}
