"""Numbers that a file writes for people are read as declared; another form is no number and never guessed."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.plan.domain.cleaning.column import clean_column
from core.plan.domain.columns.number_format import GROUPING
from core.plan.domain.errors import DomainInvalid
from core.plan.domain.table import CsvFormat, TableDomain

CSV = CsvFormat(null_values=("",))


def domain(number_format: dict[str, Any] | None, **more: Any) -> TableDomain:
    entry = {
        "name": "x",
        "kind": "numeric",
        "type": "real",
        "lower": -1e9,
        "upper": 1e9,
        "null": "category",
    } | more
    if number_format is not None:
        entry["number_format"] = number_format
    return TableDomain.from_json(
        {"schema": "understudy.domain/1", "target": None, "privacy_unit": None, "columns": [entry]}
    )


def read(number_format: dict[str, Any], texts: list[Any], csv: CsvFormat | None = CSV) -> list[object]:
    """The numbers; "refused" for text that is none."""
    (column,) = domain(number_format).modelled
    cleaned = clean_column(column, pa.array(texts, pa.string()), csv)
    refused = cleaned.refused.get("not-a-number")
    return [
        "refused" if refused is not None and refused[place] else value
        for place, value in enumerate(cleaned.values.to_pylist())
    ]


NO = "refused"
CASES: list[tuple[dict[str, Any], dict[Any, object]]] = [
    (
        {"thousands": ","},
        {"1,234.50": 1234.5, "1234.5": 1234.5, "-1,234,567": -1234567, "12": 12, "1,5": NO, "0,577": NO, "12,34": NO, ",123": NO, "1e3": NO, None: None, "": None},
    ),
    ({"thousands": "."}, {"1.234,50": 1234.5, "1.234": 1234, "1,5": 1.5, "1.5": NO}),
    ({"thousands": " "}, {"1 234": 1234, "1\u202f234.5": 1234.5, "1\u00a0234": 1234, "12 34": NO}),
    ({"thousands": "'"}, {"1'234": 1234, "1’234.5": 1234.5, "12'34": NO}),
    (
        {"thousands": ".", "decimal_mark": ",", "affixes": ["€", "EUR"]},
        {"1.234,50 €": 1234.5, "€ 1": 1, "- € 5": -5, "-€5": -5, "EUR\u00a01.000": 1000, "5 € €": NO, "1 EURO": NO, "€": NO, "5 $": NO, "--5": NO, "-€-5": NO},
    ),
    ({"affixes": ["%"]}, {"4.5%": 4.5, "4.5 %": 4.5, "7": 7, "%": NO, "4,5%": NO}),
    ({"affixes": ["Fr.", "(x)", "a|b"]}, {"5.5 Fr.": 5.5, "5.": NO, "(x)5": 5, "a|b 5": 5, "a5": NO, "x5": NO}),
    (
        {"clock": True},
        {"17:45": 1065, "5:45 PM": 1065, "12:00 am": 0, "12:05 PM": 725, "13:00 PM": NO, "0:05 AM": NO, "36:15": 2175, "09:05:59.5": 545, "545": 545, "7:5": NO, "7:65": NO, "x": NO, None: None},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("number_format", "expected"), CASES)
def test_numbers_are_read_as_declared(number_format: dict[str, Any], expected: dict[Any, object]) -> None:
    assert read(number_format, list(expected)) == list(expected.values())


@pytest.mark.parametrize(("number_format", "expected"), CASES)
def test_each_text_is_read_by_itself(number_format: dict[str, Any], expected: dict[Any, object]) -> None:
    for text, value in expected.items():
        assert read(number_format, [text]) == [value]


@given(
    number=st.integers(-(10**8), 10**8), thousands=st.sampled_from(list(GROUPING)), affix=st.sampled_from(["%", "R$", "kr."]),
    before=st.booleans(),
)  # fmt: skip
def test_what_python_writes_is_read(number: int, thousands: str, affix: str, before: bool) -> None:
    mark = "," if thousands == "." else "."
    digits = f"{abs(number) / 100:,.2f}".replace(",", "_").replace(".", mark).replace("_", thousands)
    text = ("-" if number < 0 else "") + (f"{affix} {digits}" if before else f"{digits} {affix}")
    assert read({"thousands": thousands, "affixes": [affix]}, [text]) == [pytest.approx(number / 100)]


def test_the_mark_of_the_file_holds_where_the_column_says_none() -> None:
    commas = CsvFormat(null_values=("",), decimal_mark=",")
    assert read({"affixes": ["%"]}, ["4,5 %", "4.5 %"], commas) == [4.5, NO]
    assert read({"affixes": ["%"], "decimal_mark": "."}, ["4,5 %", "4.5 %"], commas) == [NO, 4.5]
    assert read({"thousands": ","}, ["1,234.5"], commas) == [1234.5]


def test_text_of_a_parquet_file_is_read_so_too() -> None:
    assert read({"thousands": ","}, ["1,234"], None) == [1234]
    (column,) = domain({"clock": True}, type="integer").modelled
    assert clean_column(column, pa.array([3600, 64800], pa.time32("s"))).values.to_pylist() == [60, 1080]


def test_plain_numbers_change_no_digest_and_a_format_is_kept() -> None:
    assert "number_format" not in domain(None).to_json()["columns"][0]  # type: ignore[index]
    declared = domain({"thousands": ".", "affixes": ["€"]})
    assert declared.to_json()["columns"][0]["number_format"] == {"thousands": ".", "affixes": ["€"]}  # type: ignore[index]
    assert TableDomain.from_json(declared.to_json()) == declared


@pytest.mark.parametrize(
    ("number_format", "problem", "key"),
    [
        ({"thousands": ";"}, "not-a-choice", "/thousands"),
        ({"thousands": ",", "decimal_mark": ","}, "bad-thousands", "/thousands"),
        ({"affixes": ["%", " "]}, "bad-affix", "/affixes/1"),
        ({"affixes": ["x1"]}, "bad-affix", "/affixes/0"),
        ({"affixes": ["-"]}, "bad-affix", "/affixes/0"),
        ({"affixes": ["."]}, "bad-affix", "/affixes/0"),
        ({"affixes": ["%", ",’"]}, "bad-affix", "/affixes/1"),
        ({"affixes": ["x" * 17]}, "bad-affix", "/affixes/0"),
        ({"affixes": [chr(97 + n) for n in range(17)]}, "too-many-affixes", "/affixes"),
        ({"clock": True, "affixes": ["h"]}, "clock-beside-format", "/clock"),
        ({"thousand": ","}, "unknown-key", "/thousand"),
        ({}, "empty-format", ""),
    ],
)
def test_a_format_that_cannot_be_is_refused(number_format: dict[str, Any], problem: str, key: str) -> None:
    with pytest.raises(DomainInvalid) as refused:
        domain(number_format)
    assert refused.value.problem == problem
    assert refused.value.pointer == f"/columns/0/number_format{key}"
