import math
from datetime import date

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.plan.domain.cleaning.text import parse_numbers, parse_times

NUMBERS = st.from_regex(r"[+-]?([0-9]{1,9}\.?[0-9]{0,9}|\.[0-9]{1,9})([eE][+-]?[0-9]{1,3})?", fullmatch=True)


@given(text=NUMBERS)
def test_numbers_read_as_python_reads_them_beside_something_unreadable(text):
    for array in (pa.array([text]), pa.array([text, "x"])):
        values, unreadable = parse_numbers(array)
        assert values[0] == float(text)
        assert unreadable is None or unreadable.tolist() == [False, True]


@given(texts=st.lists(st.none() | st.text(max_size=6) | NUMBERS, max_size=8))
def test_any_text_is_a_number_or_marked(texts):
    values, unreadable = parse_numbers(pa.array(texts, pa.string()))
    for index, text in enumerate(texts):
        marked = unreadable is not None and unreadable[index]
        assert not (text is None and marked)
        assert math.isnan(values[index]) or not marked


@given(day=st.dates(date(1900, 1, 1), date(2200, 1, 1)))
def test_declared_formats_read_what_python_writes(day):
    for form in ("%d.%m.%Y", "%m/%d/%Y"):
        values, unreadable = parse_times(pa.array([day.strftime(form), None, "x"]), format_=form, days=True)
        assert values.to_pylist() == [day.toordinal() - date(1970, 1, 1).toordinal(), None, None]
        assert unreadable is not None
        assert unreadable.tolist() == [False, False, True]


@given(day=st.integers(1, 40), month=st.integers(1, 12))
def test_days_that_do_not_exist_are_marked(day, month):
    text = f"{day:02}.{month:02}.2021"
    try:
        exists = bool(date(2021, month, day))
    except ValueError:
        exists = False
    for form, written in (("%d.%m.%Y", text), (None, f"2021-{month:02}-{day:02}")):
        _, unreadable = parse_times(pa.array([written]), format_=form, days=True)
        assert (unreadable is None or not unreadable[0]) == exists


def test_mixed_iso_forms_beside_each_other():
    texts = [
        "2020-01-01",
        "2020-01-01T01:00:00.999Z",
        "2020-01-01 03:00+02:00",
        "20200101",
        "2020-13-01",
        None,
        "1969-12-31T23:59:59.5",
    ]
    values, unreadable = parse_times(pa.array(texts), format_=None, days=False)
    assert values.to_pylist() == [1577836800, 1577840400, 1577840400, None, None, None, -1]
    assert unreadable is not None
    assert unreadable.tolist() == [False, False, False, True, True, False, False]


def test_fractions_of_a_second_before_1970_are_cut_downwards():
    for text in ("1969-12-31T23:59:59.5", "1969-12-31T23:59:59.5Z"):
        values, _ = parse_times(pa.array([text]), format_=None, days=False)
        assert values.to_pylist() == [-1]


def test_the_other_mark_stands_in_no_number() -> None:
    texts = pa.array(["1,5", "-0,25", "3", "1e3", "1.5", "1.234,5", "1,2,3", "", None])
    values, unreadable = parse_numbers(texts, decimal_mark=",")
    assert values[:4].tolist() == [1.5, -0.25, 3, 1000]
    assert unreadable is not None
    assert unreadable.tolist() == [False, False, False, False, True, True, True, True, False]
    values, unreadable = parse_numbers(pa.array(["1,5", "1.5"]))
    assert unreadable is not None
    assert unreadable.tolist() == [True, False]


def test_composed_parts_of_formats_read_every_day_of_a_month():
    for form, written in (
        ("%F", "2021-03-{:02}"),
        ("%D", "03/{:02}/21"),
        ("%FT%T", "2021-03-{:02}T00:00:00"),
    ):
        texts = pa.array([written.format(day) for day in range(1, 32)])
        values, unreadable = parse_times(texts, format_=form, days=True)
        first = date(2021, 3, 1).toordinal() - date(1970, 1, 1).toordinal()
        assert values.to_pylist() == list(range(first, first + 31))
        assert unreadable is not None
        assert not unreadable.any()


def test_two_digits_are_no_year_on_any_day():
    texts = pa.array(["05.01.24", "15.01.24", "15.01.2024"])
    _, unreadable = parse_times(texts, format_="%d.%m.%Y", days=True)
    assert unreadable is not None
    assert unreadable.tolist() == [True, True, False]


@given(
    text=st.from_regex(r"[0-2][0-9]{3}-[01][0-9]-[0-3][0-9]([T ][0-2][0-9](:[0-5][0-9](:[0-5][0-9])?)?(Z|[+-]0[0-9](:?00)?)?)?", fullmatch=True)
)  # fmt: skip
def test_what_a_time_is_does_not_depend_on_the_other_rows(text):
    alone, _ = parse_times(pa.array([text]), format_=None, days=False)
    beside, _ = parse_times(pa.array([text, "x"]), format_=None, days=False)
    assert alone[0] == beside[0]


@pytest.mark.parametrize("text", ["nan(abc)", "-nan(1)", "NaN()", "nan", "+inf", "1e400", ".5", "1_0"])
@pytest.mark.parametrize("mark", [".", ","])
def test_what_a_number_is_does_not_depend_on_the_other_rows(text: str, mark: str) -> None:
    told = []
    for others in ([], ["1"], [None], ["x"]):
        values, unreadable = parse_numbers(pa.array([text, *others], pa.string()), decimal_mark=mark)
        told.append((repr(float(values[0])), unreadable is not None and bool(unreadable[0])))
    assert len(set(told)) == 1
    assert told[0][1] == ("(" in text or "_" in text or (mark == "," and "." in text))


@pytest.mark.parametrize(
    "text", ["0000-12-31T23:00-02:00", "0000-12-31T23:59:59Z", "0001-01-01T00:00+14:00", "0001-01-01"]
)
def test_what_a_time_at_the_beginning_of_years_is_does_not_depend_on_the_other_rows(text: str) -> None:
    told = []
    for others in ([], [None], ["2024-01-01T10:00Z"], ["x"]):
        values, unreadable = parse_times(pa.array([text, *others], pa.string()), format_=None, days=False)
        told.append((values[0].as_py(), unreadable is not None and bool(unreadable[0])))
    assert len(set(told)) == 1
    assert told[0][1] == text.startswith("0000")
