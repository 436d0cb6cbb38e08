"""How a value of a frame is read does not depend on the other rows, and what breaks Arrow is told without its words."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from core.errors import InvalidInput
from core.plan.domain.table import TableDomain
from tests.core.data.desk import Desk
from understudy import InputUnusable
from understudy.drafts.tables import draft_frame
from understudy.local.rows.frames import arrow_of, clean_features, clean_frame
from understudy.local.rows.intake import taken_in

DOMAIN = TableDomain.from_json({
    "schema": "understudy.domain/1", "privacy_unit": "who", "columns": [
        {"name": "who", "kind": "unit"},
        {"name": "word", "kind": "categorical", "categories": ["1", "1.5", "True"], "other": True, "null": "category"},
        {"name": "size", "kind": "numeric", "type": "real", "lower": 0, "upper": 9, "null": "category"},
        {"name": "seen", "kind": "datetime", "lower": "2020-01-01T00:00:00", "upper": "2020-01-01T23:59:59",
         "resolution": "hour", "null": "category"},
        {"name": "left", "kind": "ignored"},
    ],
})  # fmt: skip
SEVEN = datetime(2020, 1, 1, 7)  # noqa: DTZ001 - without a zone, as most are
ROW: dict[str, Any] = {"who": "a", "word": "1", "size": 2.5, "seen": SEVEN, "left": None}
pandas = pytest.importorskip("pandas")


def codes(*rows: dict[str, Any]) -> list[list[int]]:
    frame = pandas.DataFrame({name: pandas.Series([row[name] for row in rows], dtype=object) for name in ROW})
    records = taken_in([clean_frame(frame, DOMAIN)], DOMAIN, declared_size=100).records
    return records.codes.tolist()  # type: ignore[union-attr, no-any-return]


@pytest.mark.parametrize(
    ("column", "own", "strange"),
    [
        ("seen", SEVEN, date(2020, 1, 1)),
        ("seen", SEVEN, SEVEN.replace(tzinfo=UTC)),
        ("seen", SEVEN.replace(tzinfo=UTC), SEVEN.replace(tzinfo=timezone(timedelta(hours=1)))),
        ("word", Decimal(1), Decimal("1.5")),
        ("word", 1, np.float32(1.1)),
        ("word", True, 1),
        ("word", "1", 1),
        ("word", date(2020, 1, 1), SEVEN),
        ("size", 1, Decimal("1.50")),
        ("size", 2**53 + 1, 1.5),
        ("size", 1, 2**70),
        ("word", "1", "\ud800"),
        ("who", 1, "b"),
        ("size", 1, 1 + 2j),
        ("size", 1, [1]),
    ],
    ids=[
        "a date first", "a zone", "two zones", "decimals", "a small float", "truth", "a number", "dates as words", "a decimal",
        "a large number", "a huge number", "half a character", "units", "complex", "lists",
    ],
)  # fmt: skip
def test_values_that_would_change_how_others_are_read_are_refused(
    column: str, own: object, strange: object
) -> None:
    row, other = ROW | {column: own}, ROW | {"who": "z", column: strange}
    for rows in ((other, row), (row, other)):
        with pytest.raises(InputUnusable, match="kind") as refused:
            codes(*rows)
        assert repr(strange) not in str(refused.value)
        assert refused.value.__cause__ is None


def test_categories_of_pandas_are_looked_at_too() -> None:
    seen = pandas.Series([SEVEN, date(2020, 1, 1)], dtype=object).astype("category")
    frame = pandas.DataFrame([ROW, ROW]).assign(seen=seen)
    with pytest.raises(InputUnusable, match="several kinds"):
        clean_frame(frame, DOMAIN)
    assert clean_frame(frame.assign(seen=pandas.Categorical([SEVEN] * 2)), DOMAIN).batch.num_rows == 2


def test_whole_numbers_are_the_same_words_beside_fractions() -> None:
    row = ROW | {"word": 1}
    assert codes(ROW | {"word": 1.5}, row)[1] == codes(row)[0]


@pytest.mark.parametrize("missing", [None, float("nan"), pandas.NA, pandas.NaT], ids=repr)
def test_one_missing_value_more_changes_nobody_elses_codes(missing: object) -> None:
    for column, value in {"word": 1, "size": 3, "seen": SEVEN}.items():
        row = ROW | {column: value}
        assert codes(ROW | {column: missing}, row)[1] == codes(row)[0]


def test_columns_that_are_ignored_may_hold_anything() -> None:
    assert codes(ROW | {"left": [1]}, ROW | {"left": {"a": 2}}) == codes(ROW, ROW)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([[1]]), pa.array([{"a": 1}]), pa.array([1.5], pa.float16()), pa.array([5], pa.duration("s")),
        pa.array([b"\xff"]), pa.array([5], pa.time32("s")), pa.nulls(1), pa.array([Decimal("1.5")]),
        pa.array([2**63], pa.uint64()), pa.array([-(10**18)], pa.timestamp("s")),
        pa.DictionaryArray.from_arrays(pa.array([5], pa.int8()), pa.array(["1"]), safe=False),
        pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\x01\0\0\0"), pa.py_buffer(b"\xff")]),
    ],
    ids=lambda values: str(values.type),
)  # fmt: skip
@pytest.mark.parametrize("column", ["who", "word", "size", "seen"])
def test_arrays_of_any_type_are_read_or_refused_in_words_of_ours(column: str, values: pa.Array) -> None:
    table = pa.table({name: pa.array([value]) for name, value in ROW.items()})
    table = table.set_column(table.column_names.index(column), column, values)
    try:
        rows = clean_frame(table, DOMAIN).batch.num_rows
    except (InputUnusable, InvalidInput):
        rows = 0
    assert rows in {0, 1}


NULLS = TableDomain.from_json({
    "schema": "understudy.domain/1",
    "csv": {"null_values": ["", "N", "-9", "1900-01-01"], "strip_spaces": True},
    "privacy_unit": None,
    "columns": [
        {"name": "word", "kind": "categorical", "categories": ["1", "2"], "null": "category"},
        {"name": "size", "kind": "numeric", "type": "real", "lower": 0, "upper": 9, "null": "category"},
        {"name": "seen", "kind": "date", "lower": "2020-01-01", "upper": "2020-12-31", "null": "category"},
    ],
})  # fmt: skip
TEXTS = {
    "word": [" 1", "N", "2", "", "-9", "1"],
    "size": ["3", "-9", " N ", "9", "7.5", ""],
    "seen": ["2020-01-02", "", "1900-01-01", "2020-12-31 ", "N", "2020-03-04"],
}
TYPED: dict[str, list[object]] = {
    "word": [1, None, 2, None, -9, 1],
    "size": [3, -9, None, 9, 7.5, None],
    "seen": [date(2020, 1, 2), None, date(1900, 1, 1), date(2020, 12, 31), None, date(2020, 3, 4)],
}


def typed_pandas() -> Any:
    frame = pandas.DataFrame(TYPED)
    return frame.assign(seen=pandas.to_datetime(frame["seen"]))


@pytest.mark.parametrize(
    "frame",
    [
        pandas.DataFrame(TEXTS), pandas.DataFrame(TEXTS, dtype="category"), pa.table(TEXTS), pa.table(TYPED), typed_pandas(),
        pl.DataFrame(TEXTS), pl.DataFrame(TEXTS, schema_overrides=dict.fromkeys(TEXTS, pl.Categorical)),
        pa.table({name: pa.array(values, pa.large_string()) for name, values in TEXTS.items()}),
    ],
    ids=["text of pandas", "categories of pandas", "text", "types", "types of pandas", "text of polars", "categories of polars", "large text"],
)  # fmt: skip
def test_a_frame_is_the_rows_of_the_csv_file_it_may_come_from(frame: object, tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    lines = [",".join(row) for row in zip(*TEXTS.values(), strict=True)]
    report = desk.take("\n".join(["word,size,seen", *lines]).encode(), NULLS)
    assert report.rows_refused == 0
    block = clean_frame(frame, NULLS)
    assert block.rows_refused == 0
    assert block.batch.to_pylist() == desk.rows(NULLS)


LEARNT = TableDomain.from_json({
    "schema": "understudy.domain/1",
    "privacy_unit": "who",
    "columns": [{"name": "who", "kind": "unit"}, {"name": "word", "kind": "categorical", "categories": "learn", "other": True}],
})  # fmt: skip
WORDS = ["a", "b", "a", "c"]


@pytest.mark.parametrize(
    "words",
    [
        pl.Series(WORDS), pl.Series(WORDS, dtype=pl.Categorical), pl.Series(WORDS, dtype=pl.Enum(["c", "b", "a", "d"])),
        pl.concat([pl.Series([word], dtype=pl.Categorical) for word in WORDS], rechunk=False),
    ],
    ids=["text", "categorical", "enum", "chunks"],
)  # fmt: skip
def test_words_of_polars_can_be_learnt(words: pl.Series) -> None:
    batch = clean_frame(pl.DataFrame({"who": words, "word": words}), LEARNT).batch
    assert batch.column("word").to_pylist() == WORDS
    assert batch.column("who").to_pylist() == WORDS


@pytest.mark.parametrize("index", ["who", ["who", "seen"]])
def test_an_index_that_has_a_name_is_refused_and_not_left_out(index: object) -> None:
    frame = pd.DataFrame({"who": ["p1", "p1"], "seen": [1, 2], "word": ["a", "b"]}).set_index(index)
    for read in (arrow_of, lambda rows: clean_frame(rows, DOMAIN)):
        with pytest.raises(InputUnusable, match=r"index of the frame has a name, 'who'.*reset_index\(\)"):
            read(frame)
    bare = frame.reset_index(drop=True)
    assert arrow_of(bare[bare["word"] == "b"]).num_rows == 1, "an index of places has no name"


def test_sparse_columns_of_pandas_are_filled_in() -> None:
    row = ROW | {"size": 0.0}
    frame = pandas.DataFrame([row, row | {"size": 3.0}])
    sparse = frame.assign(size=frame["size"].astype("Sparse[float64]"))
    assert clean_frame(sparse, DOMAIN).batch == clean_frame(frame, DOMAIN).batch
    assert str(sparse["size"].dtype).startswith("Sparse"), "the caller's frame stays"


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_blanks_around_the_names_of_a_frame_do_not_count(library: str) -> None:
    """The draft names columns without them, and rows have the declared names."""
    data = {"age ": [n % 50 for n in range(100)], "\u00a0word": ["PQ"[n % 2] for n in range(100)]}
    frame: Any = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}[library](data)
    drafted = draft_frame(arrow_of(frame))
    assert [column["name"] for column in drafted["columns"]] == ["age", "word"]
    domain = TableDomain.from_json({
        "schema": "understudy.domain/1", "privacy_unit": None, "target": "word", "columns": [
            {"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 49},
            {"name": "word", "kind": "categorical", "categories": ["P", "Q"]},
        ],
    })  # fmt: skip
    assert clean_frame(frame, domain).batch.to_pydict() == {"age": data["age "], "word": data["\u00a0word"]}
    features, _ = clean_features(frame, domain)
    assert features.to_pydict() == {"age": data["age "]}


def test_names_of_a_frame_that_differ_in_blanks_alone_are_refused() -> None:
    frame = pd.DataFrame({"age": [1], "age ": [2]})
    with pytest.raises(InputUnusable, match="columns 1 and 2 have the same name except for outer blanks"):
        draft_frame(pa.table({"age": [1], "age ": [2]}))
    with pytest.raises(InputUnusable, match="the same name except for outer blanks"):
        arrow_of(frame)
    domain = TableDomain.from_json({
        "schema": "understudy.domain/1", "privacy_unit": None,
        "columns": [{"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 49}],
    })  # fmt: skip
    with pytest.raises(InvalidInput, match="repeated but for blanks around it: age"):
        clean_frame(frame, domain)
