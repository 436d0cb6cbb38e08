"""Lines of JSON are those that json.dumps writes; of floats the same numbers."""

import datetime as dt
import json

import numpy as np
import pyarrow as pa
import pytest

from core.artifacts.sampling.json_lines import JOINED_ROWS, json_lines

ROWS = 2 * JOINED_ROWS + 17
RNG = np.random.default_rng(1)
AWKWARD = ["a", 'quote " and \\', "Ü\n\t\x00", "", "null", "}\n{", "日本"]


def written(batch: pa.RecordBatch) -> bytes:
    return b"".join(json_lines(batch))


def by_rows(batch: pa.RecordBatch) -> bytes:
    rows = batch.to_pylist()
    return "".join(
        json.dumps(row, ensure_ascii=False, default=lambda value: value.isoformat()) + "\n" for row in rows
    ).encode()


def with_nulls(values: pa.Array) -> pa.Array:
    missing = RNG.random(len(values)) < 0.2
    return pa.array(values.to_pylist(), values.type, mask=missing) if len(values) else values


COLUMNS = {
    "words": pa.DictionaryArray.from_arrays(RNG.integers(0, 7, ROWS).astype(np.int16), AWKWARD),
    "more words than rows": pa.DictionaryArray.from_arrays(
        RNG.integers(0, ROWS, ROWS).astype(np.int32), [f"w{place}" for place in range(2 * ROWS)]
    ),
    "texts": pa.array([f"{AWKWARD[place % 7]}{place}" for place in range(ROWS)]),
    "flags": pa.array(RNG.random(ROWS) < 0.5),
    "few integers": pa.array(RNG.integers(-3, 3, ROWS)),
    "many integers": pa.array(RNG.integers(-(2**62), 2**62, ROWS)),
    "few days": pa.array(RNG.integers(0, 9, ROWS).astype(np.int32)).cast(pa.date32()),
    "many days": pa.array(RNG.integers(-700_000, 2_900_000, ROWS).astype(np.int32)).cast(pa.date32()),
    "few moments": pa.array(RNG.integers(0, 9, ROWS), pa.timestamp("s")),
    "many moments": pa.array(RNG.integers(-62_135_596_800, 253_402_300_800, ROWS), pa.timestamp("s")),
    "microseconds": pa.array(RNG.integers(0, 2**50, ROWS), pa.timestamp("us")),
    'a "name"\n': pa.array(np.arange(ROWS) % 5 / 10),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_written_as_row_by_row(name: str) -> None:
    for column in (COLUMNS[name], with_nulls(COLUMNS[name])):
        batch = pa.RecordBatch.from_arrays([column], names=[name])
        assert written(batch) == by_rows(batch)


def test_all_columns_together_and_a_slice_of_them() -> None:
    batch = pa.RecordBatch.from_pydict({name: with_nulls(column) for name, column in COLUMNS.items()})
    assert written(batch) == by_rows(batch)
    assert written(batch.slice(11, 4000)) == by_rows(batch.slice(11, 4000))
    assert written(batch.slice(0, 0)) == b""


def test_floats_come_back_as_the_same_floats() -> None:
    sizes = 10.0 ** RNG.integers(-300, 300, ROWS)
    values = np.concatenate([RNG.standard_normal(ROWS) * sizes, [0.0, -0.0, 5e-324, 1e15, -1e15, 1e16, 1e22]])
    whole = RNG.integers(-(10**9), 10**9, ROWS).astype(np.float64)
    for numbers in (values, whole):
        column = pa.array(numbers)
        lines = written(pa.RecordBatch.from_arrays([column], names=["x"])).splitlines()
        read = [json.loads(line)["x"] for line in lines]
        assert all(isinstance(value, float) for value in read)
        assert np.array_equal(np.array(read).view(np.int64), numbers.view(np.int64))


def test_a_missing_float_is_null_and_one_that_is_not_finite_as_python_writes_it() -> None:
    values = pa.array([None, 0.5, float("inf"), float("nan"), 2.0, 3.0])
    batch = pa.RecordBatch.from_arrays([values], names=["x"])
    assert written(batch) == by_rows(batch)
    days = pa.array([dt.date(2020, 1, 31), None], pa.date32())
    assert written(pa.RecordBatch.from_arrays([days], names=["d"])) == b'{"d": "2020-01-31"}\n{"d": null}\n'
