"""Weekday, month and hour of dates and times: coded from a record, and drawn within its bin."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.plan.domain.codec import codes_of, decode, draw_values, encode, encode_place
from core.plan.domain.columns.patterns import MOST_STRETCHES
from core.plan.domain.errors import DomainInvalid, DomainMismatch
from core.plan.domain.forbidden import forbidden_pairs
from core.plan.domain.schema import sample_schema
from core.plan.domain.table import TableDomain
from tests.core.plan.domain.examples import table

YEARS: dict[str, Any] = {
    "name": "admitted", "kind": "date", "lower": "2018-03-05", "upper": "2022-11-20", "patterns": ["weekday", "month"],
}  # fmt: skip
SEEN: dict[str, Any] = {
    "name": "seen", "kind": "datetime", "lower": "2021-05-01T00:00:00", "upper": "2021-06-30T23:59:59",
    "resolution": "minute", "bins": 10, "patterns": ["weekday", "hour"],
}  # fmt: skip


def days(domain: TableDomain, codes: np.ndarray, seed: int = 1) -> list[Any]:
    found: list[Any] = decode(domain, codes, np.random.default_rng(seed)).column(0).to_pylist()
    return found


def test_the_codes_are_those_of_the_calendar():
    domain = table(YEARS, SEEN, {"name": "sex", "kind": "boolean"})
    assert [column.name for column in domain.coded] == [
        "admitted", "seen", "sex", "admitted.weekday", "admitted.month", "seen.weekday", "seen.hour",
    ]  # fmt: skip
    assert domain.cardinalities == (32, 10, 2, 7, 12, 7, 24)
    every = [date(2018, 3, 5) + timedelta(days=day) for day in range(1700)]
    times = [
        datetime(2021, 5, 1, tzinfo=UTC).replace(tzinfo=None) + timedelta(minutes=51 * step)
        for step in range(1700)
    ]
    batch = pa.record_batch(
        [pa.array(every), pa.array(times, pa.timestamp("s")), pa.array([True] * 1700)],
        schema=sample_schema(domain),
    )
    codes = encode(domain, batch)
    assert codes[:, 3].tolist() == [day.weekday() for day in every]
    assert codes[:, 4].tolist() == [day.month - 1 for day in every]
    assert codes[:, 5].tolist() == [time.weekday() for time in times]
    assert codes[:, 6].tolist() == [time.hour for time in times]
    assert all(np.array_equal(encode_place(domain, place, batch), codes[:, place]) for place in range(7))


def test_a_day_of_the_bin_with_the_weekday_and_the_month_is_drawn_and_all_such_days_alike():
    domain = table(YEARS)
    bins = domain.modelled[0].bins
    every = np.arange(bins.first_ticks[5], bins.first_ticks[6]) + (date(2018, 3, 5) - date(1970, 1, 1)).days
    inside = [date(1970, 1, 1) + timedelta(days=int(day)) for day in every]
    month = inside[20].month
    wanted = [day for day in inside if day.weekday() == 6 and day.month == month]
    assert 1 < len(wanted) < 6
    rows = 30_000
    drawn = days(domain, np.tile([5, 6, month - 1], (rows, 1)))
    counts = [drawn.count(day) for day in wanted]
    assert sum(counts) == rows
    # Six deviations of a binomial count: false alarms below 1e-8 each.
    share = 1 / len(wanted)
    assert np.abs(np.array(counts) - rows * share).max() < 6 * (rows * share * (1 - share)) ** 0.5


@st.composite
def patterned(draw: st.DrawFn) -> dict[str, Any]:
    first = draw(st.dates(min_value=date(1900, 1, 1), max_value=date(2200, 1, 1)))
    last = first + timedelta(days=draw(st.integers(0, 2000)))
    null = draw(st.sampled_from(["refuse", "category"]))
    if draw(st.booleans()):
        resolution = draw(st.sampled_from(["day", "month"]))
        known = ["month"] if resolution == "month" else ["weekday", "month"]
        head: dict[str, Any] = {"kind": "date", "lower": first.isoformat(), "upper": last.isoformat()}
    else:
        resolution = draw(st.sampled_from(["second", "minute", "hour", "day"]))
        known = ["weekday", "month"] if resolution == "day" else ["weekday", "month", "hour"]
        start = f"{first.isoformat()}T{draw(st.integers(0, 23)):02d}:30:00"
        head = {"kind": "datetime", "lower": start, "upper": f"{last.isoformat()}T23:59:59"}
    patterns = draw(st.lists(st.sampled_from(known), min_size=1, unique=True))
    bins = draw(st.integers(1, 40))
    return head | {"name": "t", "resolution": resolution, "patterns": patterns, "bins": bins, "null": null}


@given(column=patterned(), seed=st.integers(0, 2**32))
def test_drawn_times_have_the_codes_that_they_were_drawn_from_as_far_as_their_bins_have_them(
    column: dict[str, Any], seed: int
):
    domain = table(column)
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, size, 300) for size in domain.cardinalities], axis=1).astype(np.int16)
    values = draw_values(domain, codes, rng)
    again = codes_of(domain, values)
    assert np.array_equal(encode(domain, decode(domain, again, rng)), again), "what a time has is possible"
    assert np.array_equal(again[:, 0], codes[:, 0]), "the bin never gives way"
    present = codes[:, 0] != (domain.modelled[0].null_code if column["null"] == "category" else -1)
    forbidden = forbidden_pairs(domain)
    first = forbidden.get((0, 1), np.zeros(domain.cardinalities[:2], dtype=bool))
    alone = present & ~first[codes[:, 0], codes[:, 1]]
    if len(column["patterns"]) == 1:
        assert np.array_equal(again[alone], codes[alone])
    for (one, other), cells in forbidden.items():
        assert not cells[again[:, one], again[:, other]].any()


def test_what_is_forbidden_is_exactly_what_no_day_has():
    domain = table(YEARS | {"bins": 60, "null": "category"})
    span = [
        date(2018, 3, 5) + timedelta(days=day)
        for day in range((date(2022, 11, 20) - date(2018, 3, 5)).days + 1)
    ]
    codes = encode(domain, pa.record_batch([pa.array([*span, None])], schema=sample_schema(domain)))
    found = forbidden_pairs(domain)
    for pair in ((0, 1), (0, 2), (1, 2)):
        seen = np.zeros([domain.cardinalities[place] for place in pair], dtype=bool)
        seen[codes[:, pair[0]], codes[:, pair[1]]] = True
        assert np.array_equal(found[pair], ~seen)


def test_the_pattern_that_is_listed_last_gives_way_first():
    # Bins of one day: a weekday beside another is not there, an hour is.
    domain = table(SEEN | {"upper": "2021-05-10T23:59:59", "bins": 10})
    codes = np.array([[3, weekday, hour] for weekday in range(7) for hour in range(24)])
    for drawn, (_bin, _weekday, hour) in zip(days(domain, codes), codes.tolist(), strict=True):
        assert (drawn.date(), drawn.hour) == (date(2021, 5, 4), hour)
    # Two days, of a Monday and a Tuesday in two months: one of two codes has to give way.
    two = {"name": "t", "kind": "date", "lower": "2021-05-31", "upper": "2021-06-01", "bins": 1}
    asked = np.array([[0, 0, 5]])
    assert days(table(two | {"patterns": ["weekday", "month"]}), asked) == [date(2021, 5, 31)]
    assert days(table(two | {"patterns": ["month", "weekday"]}), asked[:, [0, 2, 1]]) == [date(2021, 6, 1)]


def test_a_pattern_is_missing_where_its_time_is():
    domain = table(YEARS | {"null": "category"}, {"name": "sex", "kind": "boolean"})
    assert domain.cardinalities == (33, 2, 8, 13)
    values = [pa.array([None, date(2020, 2, 29)], pa.date32()), pa.array([True, True])]
    batch = pa.record_batch(values, schema=sample_schema(domain))
    assert encode(domain, batch)[:, 2:].tolist() == [[7, 12], [5, 1]]
    codes = np.array([[32, 0, 3, 3], [10, 0, 7, 12], [10, 0, 4, 12]])
    drawn = days(domain, codes)
    assert drawn[0] is None
    assert drawn[1] is not None, "the bin says that there is a time"
    assert drawn[2].weekday() == 4, "one code of two is missing"


def test_a_value_that_stands_in_has_its_own_weekday():
    domain = table(YEARS | {"null": {"use": "2020-02-29"}})
    batch = pa.record_batch([pa.array([None], pa.date32())], schema=sample_schema(domain))
    assert encode(domain, batch)[:, 1:].tolist() == [[5, 1]]
    with pytest.raises(DomainMismatch):
        encode(table(YEARS), pa.record_batch([pa.array([None], pa.date32())], schema=sample_schema(domain)))


def test_a_value_beyond_the_bounds_counts_as_the_nearest_within():
    domain = table(YEARS)
    found = encode(
        domain,
        pa.record_batch([pa.array([date(1990, 1, 1), date(2050, 1, 1)])], schema=sample_schema(domain)),
    )
    assert found.tolist() == [[0, 0, 2], [31, 6, 10]]


def test_hours_of_a_thousand_years_are_given_up_and_weekdays_are_not():
    column = SEEN | {
        "lower": "1500-01-01T00:00:00",
        "upper": "2500-12-31T23:59:59",
        "patterns": ["hour", "weekday"],
    }
    assert MOST_STRETCHES < 1000 * 365 * 24
    drawn = days(table(column), np.tile([7, 3, 2], (500, 1)))
    assert {time.weekday() for time in drawn} == {2}
    assert len({time.hour for time in drawn}) > 10


def test_a_document_keeps_its_patterns_and_one_without_them_is_as_it_was():
    domain = table(YEARS)
    assert TableDomain.from_json(domain.to_json()) == domain
    assert domain.to_json()["columns"][0]["patterns"] == ["weekday", "month"]
    without = {key: value for key, value in YEARS.items() if key != "patterns"}
    assert table(without) == table(without | {"patterns": []})
    assert "patterns" not in table(without).to_json()["columns"][0]


@pytest.mark.parametrize(
    ("change", "problem", "pointer"),
    [
        ({"patterns": ["hour"]}, "not-a-choice", "/columns/0/patterns/0"),
        ({"patterns": ["weekday", "season"]}, "not-a-choice", "/columns/0/patterns/1"),
        ({"patterns": ["weekday", ["month"]]}, "not-a-choice", "/columns/0/patterns/1"),
        ({"patterns": ["month", "month"]}, "duplicate-value", "/columns/0/patterns/1"),
        ({"patterns": "weekday"}, "not-an-array", "/columns/0/patterns"),
        ({"resolution": "week"}, "pattern-below-resolution", "/columns/0/patterns/0"),
        (
            {"resolution": "quarter", "patterns": ["month"]},
            "pattern-below-resolution",
            "/columns/0/patterns/0",
        ),
    ],
)
def test_a_wrong_declaration_is_refused_at_its_place(change: dict[str, Any], problem: str, pointer: str):
    with pytest.raises(DomainInvalid) as refused:
        table(YEARS | change)
    assert (refused.value.problem, refused.value.pointer) == (problem, pointer)


def test_a_column_called_like_a_pattern_is_refused():
    with pytest.raises(DomainInvalid) as refused:
        table(YEARS, {"name": "admitted.weekday", "kind": "ignored"})
    assert refused.value.problem == "duplicate-name"


def test_patterns_and_distances_are_derived_from_their_date():
    left = YEARS | {"name": "left", "upper": "2023-01-31", "difference": {"from": "admitted", "upper": 60}}
    del left["patterns"]
    domain = table(YEARS, SEEN, left, {"name": "sex", "kind": "boolean"})
    names = [column.name for column in domain.coded]
    derived = {
        names[place]: {names[each] for each in domain.derived_from(place)} for place in range(len(names))
    }
    of_admitted = {"admitted", "left.difference", "admitted.weekday", "admitted.month"}
    of_seen = {"seen", "seen.weekday", "seen.hour"}
    assert derived == {
        **dict.fromkeys(of_admitted - {"left"}, of_admitted),
        **dict.fromkeys(of_seen, of_seen),
        "left.difference": {"left.difference"},
        "sex": {"sex"},
    }
