"""Which codes a condition means, for every kind of column."""

import numpy as np
import pytest

from core.artifacts.asking.codes import labels_of, name_of_group, numbers_of, selected
from core.artifacts.asking.errors import QuestionInvalid
from core.artifacts.asking.question import Condition
from tests.core.plan.domain.examples import table

DOMAIN = table(
    {"name": "dose", "kind": "numeric", "type": "real", "lower": 0, "upper": 10, "edges": [0, 2, 5, 10], "specials": [-1, 0], "null": "category"},
    {"name": "seen", "kind": "date", "lower": "2020-01-01", "upper": "2020-12-31", "resolution": "month", "edges": ["2020-01-01", "2020-04-01", "2020-10-01", "2020-12-31"]},
    {"name": "grade", "kind": "ordinal", "levels": ["low", "middle", "high"], "null": "category"},
    {"name": "ward", "kind": "categorical", "categories": ["A", "missing"], "other": "elsewhere", "null": "category"},
    {"name": "began", "kind": "datetime", "lower": "2020-01-01T00:00:00", "upper": "2020-12-31T23:00:00", "resolution": "hour", "patterns": ["hour", "weekday"]},
    {"name": "floor", "kind": "categorical", "categories": ["01", "1", "02", "A"]},
    {"name": "size", "kind": "numeric", "type": "integer", "lower": 3, "upper": 5},
)  # fmt: skip
COLUMNS = {column.name: column for column in DOMAIN.coded}


def codes(name, *values, is_range=False):
    found = selected(COLUMNS[name], Condition(column=name, values=values, is_range=is_range))
    return np.flatnonzero(found.codes).tolist(), found.note


def test_codes_are_called_by_their_values():
    assert labels_of(COLUMNS["dose"]) == ["-1", "0", "0 to below 2", "2 to below 5", "5 to 10", "(missing)"]
    assert labels_of(COLUMNS["seen"]) == [
        "2020-01-01 to 2020-03-01", "2020-04-01 to 2020-09-01", "2020-10-01 to 2020-12-01",
    ]  # fmt: skip
    assert labels_of(COLUMNS["ward"]) == ["A", "missing", "elsewhere", "(missing)"]
    assert labels_of(COLUMNS["size"]) == ["3", "4", "5"]


@pytest.mark.parametrize(
    ("name", "values", "is_range", "expected", "is_widened"),
    [
        ("dose", ("2", "5"), True, [3], False),
        ("dose", ("2", "10"), True, [3, 4], False),
        ("dose", ("0", "2"), True, [1, 2], False),
        ("dose", ("-5", "5"), True, [0, 1, 2, 3], False),
        ("dose", ("3", "4"), True, [3], True),
        ("dose", ("5", "5"), True, [4], True),
        ("dose", ("-1",), False, [0], False),
        ("dose", ("0", "null", "7"), False, [1, 4, 5], True),
        ("seen", ("2020-04-01", "2020-12-31"), True, [1, 2], False),
        ("seen", ("2020-05-05", "2020-05-06"), True, [1], True),
        ("seen", ("2020-03-01",), False, [0], True),
        ("grade", ("low", "middle"), True, [0, 1], False),
        ("grade", ("missing", "high"), False, [2, 3], False),
        ("ward", ("missing",), False, [1], False),
        ("ward", ("NULL", "elsewhere"), False, [2, 3], False),
        ("began.hour", ("7", "9"), True, [7, 8, 9], False),
        ("began.hour", ("0", "007", "23"), False, [0, 7, 23], False),
        ("floor", ("1", "2"), False, [1, 2], False),
        ("size", ("4", "9"), True, [1, 2], False),
    ],
)
def test_a_condition_means_these_codes(name, values, is_range, expected, is_widened):
    found, note = codes(name, *values, is_range=is_range)
    assert found == expected
    assert (note is not None) == is_widened


@pytest.mark.parametrize(
    ("name", "values", "is_range"),
    [
        ("dose", ("much",), False),
        ("dose", ("11",), False),
        ("dose", ("5", "2"), True),
        ("seen", ("yesterday",), False),
        ("seen", ("2020-13-01", "2020-12-01"), True),
        ("seen", ("9999999999-01-01",), False),
        ("grade", ("high", "low"), True),
        ("grade", ("low", "missing"), True),
        ("ward", ("A", "elsewhere"), True),
        ("ward", ("a",), False),
        ("size", ("null",), False),
        ("began.hour", ("24",), False),
        ("floor", ("001",), False),
        ("size", ("1e400",), False),
    ],
)
def test_what_a_column_cannot_be_is_refused(name, values, is_range):
    with pytest.raises(QuestionInvalid, match=name):
        codes(name, *values, is_range=is_range)


def test_a_refusal_names_what_a_column_can_be():
    with pytest.raises(QuestionInvalid) as refused:
        codes("began.weekday", "monday")
    assert refused.value.remedy.startswith("Did you mean 'Monday'? ")
    with pytest.raises(QuestionInvalid) as refused:
        codes("began.hour", "7:00")
    assert refused.value.remedy.startswith("It has '00' to '23'. ")
    with pytest.raises(QuestionInvalid) as refused:
        codes("ward", "cellar")
    assert refused.value.remedy.startswith("Write it exactly as the domain does")


def test_a_mean_takes_middles_and_leaves_out_what_is_no_number():
    numbers, count, half = numbers_of(COLUMNS["dose"])
    assert numbers.tolist() == [-1, 0, 1, 3.5, 7.5, 0]
    assert count.tolist() == [False, True, True, True, True, False]
    assert half == 2.5
    numbers, count, half = numbers_of(COLUMNS["size"])
    assert (numbers.tolist(), count.all(), half) == ([3, 4, 5], True, 0)


def test_of_a_very_large_group_the_first_codes_are_named():
    labels, scattered = [f"C{code}" for code in range(400)], np.arange(400) % 2
    few = name_of_group(labels[:200], scattered[:200], 1)
    assert few == ", ".join(labels[1:200:2])
    many = name_of_group(labels, scattered, 1)
    assert many == ", ".join(labels[1:40:2]) + " and 180 more"
    assert name_of_group(labels, scattered, 0) != many
    assert name_of_group(labels, np.zeros(400, np.int64), 0) == "C0 ... C399"
