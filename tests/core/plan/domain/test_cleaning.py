import math

import numpy as np
import pyarrow as pa
import pytest

from core.plan.domain.cleaning.cleaned import Cleaned
from core.plan.domain.cleaning.column import clean_column, clean_unit
from core.plan.domain.errors import DomainMismatch
from core.plan.domain.table import CsvFormat
from tests.core.plan.domain.examples import table

AGE = {"kind": "numeric", "type": "integer", "lower": 0, "upper": 99}
DAY = {"kind": "date", "lower": "2020-01-01", "upper": "2020-12-31"}


def clean(column: dict[str, object], values: pa.Array, csv: CsvFormat | None = None) -> Cleaned:
    return clean_column(table(column | {"name": "c"}).modelled[0], values, csv)


def kinds(found: Cleaned) -> dict[str, list[int]]:
    masks = [*found.refused.items(), *found.changed.items()]
    return {kind: np.flatnonzero(mask).tolist() for kind, mask in masks}


def test_unknown_words_may_become_null_and_null_a_value():
    words = {"kind": "categorical", "categories": ["P", "Q"], "unknown": "null", "null": {"use": "Q"}}
    found = clean(words, pa.array(["P", "Z", None]))
    assert found.values.to_pylist() == ["P", "Q", "Q"]
    assert kinds(found) == {"mapped-to-null": [1], "null-replaced": [1, 2]}


def test_booleans_of_parquet_take_the_declared_words():
    found = clean(
        {"kind": "boolean", "true": "yes", "false": "no", "null": "category"}, pa.array([True, False, None])
    )
    assert found.values.to_pylist() == ["yes", "no", None]


def test_categories_that_are_numbers_match_whole_floats():
    found = clean({"kind": "categorical", "categories": ["1", "2", "2.5"]}, pa.array([1.0, 2.0, 2.5, 3.0]))
    assert found.values.to_pylist()[:3] == ["1", "2", "2.5"]
    assert kinds(found) == {"unknown-category": [3]}


def test_dictionaries_of_numbers_are_words_too():
    found = clean({"kind": "ordinal", "levels": ["1", "2"]}, pa.array([2, 1]).dictionary_encode())
    assert found.values.to_pylist() == ["2", "1"]


def test_infinity_may_become_null():
    found = clean(AGE | {"infinite": "null", "null": "category"}, pa.array([1.0, np.inf, -np.inf, np.nan]))
    assert found.values.to_pylist() == [1, None, None, None]
    assert kinds(found) == {"mapped-to-null": [1, 2]}


def test_infinity_and_huge_numbers_are_refused_by_their_own_words():
    found = clean(AGE | {"outside": "refuse"}, pa.array([1e300, np.inf, 5.0]))
    assert kinds(found) == {"infinite": [1], "outside-bounds": [0]}


@pytest.mark.parametrize(
    "values", [pa.array([True, False]), pa.array([1, 0], pa.uint8()), pa.array([1, 0], pa.float32())]
)
def test_numbers_of_other_types(values: pa.Array):
    assert clean(AGE, values).values.to_pylist() == [1, 0]


def test_columns_without_any_value():
    assert kinds(clean(AGE, pa.nulls(2))) == {"missing-value": [0, 1]}
    assert (
        clean(DAY | {"null": {"use": "2020-02-03"}}, pa.nulls(1)).values.to_pylist()[0].isoformat()
        == "2020-02-03"
    )


@pytest.mark.parametrize(
    ("column", "values"),
    [(DAY, pa.array([5])), (AGE, pa.array([b"1"])), (AGE, pa.array([[1]])),
     ({"kind": "categorical", "categories": ["a"]}, pa.array([b"\xff"]))],
)  # fmt: skip
def test_types_that_do_not_fit_are_refused_as_a_whole(column, values):
    with pytest.raises(DomainMismatch) as caught:
        clean(column, values)
    assert caught.value.remedy


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_any_unit_and_zone(unit: str):
    moment = pa.array([1577840400], pa.timestamp("s")).cast(pa.timestamp(unit, "Europe/Berlin"))
    at = {"kind": "datetime", "lower": "2020-01-01", "upper": "2020-12-31"}
    assert clean(at, moment).values.to_pylist()[0].isoformat() == "2020-01-01T01:00:00"


def test_text_given_once_and_text_given_often_are_prepared_alike():
    texts = pa.array(["5", " 7", "x", None, "?", "3.5", "500", "inf", "5", "nan"])
    csv = CsvFormat(strip_spaces=True, null_values=("?",))
    for policy in (
        {"null": "category", "unreadable": "null", "fraction": "round", "infinite": "clamp"},
        {"null": {"use": 3}, "outside": "null", "infinite": "null"},
        {"outside": "refuse"},
    ):
        plain, coded = (
            clean(AGE | policy, texts, csv),
            clean(AGE | policy, texts.dictionary_encode(), csv),
        )
        refused = np.logical_or.reduce([*plain.refused.values(), np.zeros(len(texts), bool)])
        keep = pa.array(~refused)
        assert plain.values.filter(keep).equals(coded.values.filter(keep))
        assert kinds(plain) == kinds(coded)


def test_a_format_without_null_values():
    assert clean(AGE, pa.array([" 5 "]), CsvFormat(strip_spaces=True, null_values=())).values.to_pylist() == [
        5
    ]


def test_units_are_text_and_never_missing():
    found = clean_unit(
        "who", pa.array(["a", None, "x" * 257]), CsvFormat(strip_spaces=False, null_values=("a",))
    )
    assert kinds(found) == {"missing-value": [0, 1], "unit-too-long": [2]}


@pytest.mark.parametrize(
    "units",
    [
        pa.array([1.0, math.nan, None]),
        pa.array([1.0, math.nan, None]).dictionary_encode(),
        pa.array(["1", "", None]),
        pa.array(["1", "", None]).dictionary_encode(),
    ],
    ids=["numbers", "numbers given often", "texts", "texts given often"],
)
def test_records_without_a_unit_are_not_those_of_one_unit(units: pa.Array):
    """NaN, and an empty text of a Parquet file, made one unit of everybody whose unit is not known."""
    found = clean_unit("who", units)
    assert kinds(found) == {"missing-value": [1, 2]}
    assert found.values[0].as_py() == "1"


@pytest.mark.parametrize("null", ["category", "refuse"])
def test_a_number_that_is_none_is_a_missing_word(null: str):
    """Of a column whose categories are learnt "nan" was a word like others."""
    declared = {"kind": "categorical", "categories": ["1", "2"], "null": null}
    for column in (declared, {**declared, "categories": "learn"}):
        found = clean(column, pa.array([1.0, math.nan, 2.0]))
        assert kinds(found) == ({} if null == "category" else {"missing-value": [1]})
        assert found.values.to_pylist()[::2] == ["1", "2"]
        assert found.values[1].as_py() is None or null == "refuse"


def test_a_rule_sees_one_row_only():
    # Row-local: what becomes of a value does not depend on the other rows.
    values = pa.array(["5", "x", "3.7", "1e400", None, "2020", "-1"])
    column = AGE | {"null": "category", "unreadable": "null"}
    together = clean(column, values)
    for index in range(len(values)):
        alone = clean(column, values.slice(index, 1))
        assert alone.refused.keys() == {kind for kind, mask in together.refused.items() if mask[index]}
        assert alone.changed.keys() == {kind for kind, mask in together.changed.items() if mask[index]}
        if not alone.refused:
            assert alone.values[0] == together.values[index] or not alone.values[0].is_valid
