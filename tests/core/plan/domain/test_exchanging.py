"""Rows that break an order exchange values: each column keeps its values, and few rows are drawn again."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from core.plan.domain.codec import batch_of
from core.plan.domain.table import TableDomain
from tests.core.plan.domain.ruled import broken, day, document, moment, number, words

Floats = npt.NDArray[np.float64]
DAYS, GROUP = 730, 105
ORDER = {"kind": "at_most", "columns": ["a", "b"]}
CLOSE = document([day("a", "2020-01-01", "2022-02-28"), day("b", "2020-01-01", "2022-02-28")], [ORDER])
FIRST_DAY = 18262
"""2020-01-01, in days since 1970-01-01."""


def numbers(*rules: dict[str, Any], names: str = "ab", **keys: Any) -> dict[str, Any]:
    return document([number(name, null="category", specials=[-1]) for name in names], list(rules), **keys)


def kept(
    found: dict[str, Any],
    columns: Sequence[Sequence[float] | Floats],
    *,
    again: Sequence[Floats] | None = None,
    target: int | None = None,
    seed: int = 0,
) -> tuple[list[Floats], list[int]]:
    """Rows made to keep the rules, and how many were drawn again each time; drawn again they are as before, or as `again` says."""
    domain = TableDomain.from_json(found)
    values = [np.array(column, dtype=np.float64) for column in columns]
    rng, redraws, first = np.random.default_rng(seed), [], [column.copy() for column in values]

    def redraw(at: npt.NDArray[np.int64]) -> Sequence[Floats]:
        redraws.append(len(at))
        if again is None:
            return [column[at] for column in first]
        some = rng.integers(len(again[0]), size=len(at))
        return [column[some] for column in again]

    assert domain.kept is not None
    domain.kept.keeper.keep(values, redraw, rng, target=target)
    assert not [row for row in batch_of(domain, values).to_pylist() if broken(found, row)]
    return values, redraws


def close_dates(rows: int, rng: np.random.Generator) -> tuple[Floats, Floats, Floats, Floats]:
    """Two dates some days apart; then as a generator draws them: within groups of days independently."""
    a = rng.integers(0, DAYS, rows)
    b = a + rng.geometric(0.2, rows) - 1
    drawn = []
    for dates in (a, b):
        own = dates.copy()
        for group in range(DAYS // GROUP + 1):
            members = np.flatnonzero(dates // GROUP == group)
            own[members] = own[rng.permutation(members)]
        drawn.append(own)
    first, second, free, other = (
        (column + FIRST_DAY).astype(np.float64) for column in (a, b, drawn[0], drawn[1])
    )
    return first, second, free, other


def variation(one: Floats, other: Floats, width: int) -> float:
    """Total variation between the distributions of two columns in bins of so many days."""
    counts = [np.bincount(((own - FIRST_DAY) // width).astype(int), minlength=20) for own in (one, other)]
    return float(np.abs(counts[0] / len(one) - counts[1] / len(other)).sum() / 2)


def test_an_order_of_close_dates_bends_neither_column_and_keeps_the_distance() -> None:
    """Drawing again until the order holds made first dates come 15 days too early and second ones 15 days too late."""
    a, b, first, second = close_dates(8000, np.random.default_rng(1))
    assert 0.4 < (first > second).mean() < 0.6
    values, redraws = kept(CLOSE, [first, second], again=[first, second])
    assert sum(redraws) < 80
    for own, truth in zip(values, (a, b), strict=True):
        assert variation(own, truth, 91) < 0.01
        assert abs(own.mean() - truth.mean()) < 1
    distances = np.quantile(values[1] - values[0], [0.1, 0.5, 0.9])
    assert np.abs(distances - np.quantile(b - a, [0.1, 0.5, 0.9])).max() <= 2


@pytest.mark.parametrize("target", [None, 2])
def test_rows_exchange_values_and_none_is_drawn_again_if_some_matching_keeps_the_order(
    target: int | None,
) -> None:
    rng = np.random.default_rng(2)
    a = rng.integers(0, 60, 3000)
    b = a + rng.integers(0, 40, 3000)
    found = document(
        [number("a"), number("b"), words("t", "x", "y")], [ORDER], target="t" if target else None
    )
    drawn = [a, rng.permutation(b), rng.integers(0, 2, 3000)]
    (low, high, label), redraws = kept(found, drawn, target=target)
    assert redraws == []
    assert np.array_equal(low, a)
    assert np.array_equal(label, drawn[2])
    assert np.array_equal(np.sort(high), np.sort(b))


def test_a_free_value_goes_to_each_waiting_row_with_equal_chances() -> None:
    """To the first or the second of four rows, and then on: the third is broken, and the last has nothing to give."""
    found = Counter(
        tuple(kept(numbers(ORDER), [[0, 1, 5, 30], [10, 10, 2, 40]], seed=seed)[0][1].tolist())
        for seed in range(400)
    )
    assert set(found) == {(2.0, 10.0, 10.0, 40.0), (10.0, 2.0, 10.0, 40.0)}
    assert min(found.values()) > 150


def test_as_many_rows_are_drawn_again_as_have_too_small_values_and_no_more() -> None:
    """Three values of b are below every a: no distribution under the order has them."""
    rng = np.random.default_rng(3)
    a, b = rng.integers(10, 50, 500), rng.integers(50, 90, 500)
    b[:3] = 5
    a[rng.permutation(500)[:100]] = 60
    _, redraws = kept(numbers(ORDER), [a, rng.permutation(b)], again=[np.full(1, 20.0), np.full(1, 30.0)])
    assert redraws[0] >= 3
    deficit = max(int((b <= value).sum() - (a <= value).sum()) for value in range(100))
    assert redraws == [deficit]


def test_rows_of_one_label_exchange_among_themselves_where_that_is_enough() -> None:
    rng = np.random.default_rng(4)
    label = rng.integers(0, 2, 4000)
    a = rng.integers(0, 30, 4000)
    b = a + rng.integers(0, 20, 4000) + 30 * label
    for own in (0, 1):
        members = np.flatnonzero(label == own)
        b[members] = b[rng.permutation(members)]
    found = document([number("a"), number("b"), words("t", "x", "y")], [ORDER], target="t")
    (_, high, _), redraws = kept(found, [a, b, label], target=2)
    assert redraws == []
    assert (a > b).sum() > 300
    for own in (0, 1):
        assert np.array_equal(np.sort(high[label == own]), np.sort(b[label == own]))


def test_what_other_rules_tie_to_a_column_moves_with_it() -> None:
    """A code book of b, and a total whose part b is."""
    book = {
        "kind": "determines",
        "columns": ["b", "k"],
        "pairs": [[{"to": 49}, "low"], [{"from": 50}, "high"]],
    }
    total = {"kind": "sum", "parts": ["b", "d"], "total": "e"}
    found = document(
        [number("a"), number("b"), words("k", "low", "high"), number("d"), number("e", 0, 200), number("c"), number("f")],
        [ORDER, book, total, {"kind": "at_most", "columns": ["c", "a"]}, {"kind": "at_most", "columns": ["f", "c"]}],
    )  # fmt: skip
    rng = np.random.default_rng(5)
    f = rng.integers(0, 20, 2000)
    c = f + rng.integers(0, 20, 2000)
    a = c + rng.integers(0, 20, 2000)
    b = rng.permutation(a + rng.integers(0, 40, 2000))
    d = rng.integers(0, 100, 2000)
    side = np.stack([b, b >= 50, d, b + d])
    values, redraws = kept(found, [a, *side, c, f])
    assert redraws == []
    moved = np.stack(values[1:5])
    assert Counter(map(tuple, moved.T.tolist())) == Counter(map(tuple, side.T.astype(float).tolist()))
    # Of both sides of the order the one with fewer columns moves.
    assert not np.array_equal(np.stack([values[0], *values[5:]]), np.stack([a, c, f]))
    assert np.array_equal(values[1], b)


def test_an_order_that_follows_from_others_does_not_hinder_them() -> None:
    rules = [{"kind": "at_most", "columns": list(pair)} for pair in ("ab", "bc", "ac")]
    rng = np.random.default_rng(6)
    a = rng.integers(0, 40, 2000)
    b = a + rng.integers(0, 30, 2000)
    c = b + rng.integers(0, 30, 2000)
    drawn = [rng.permutation(a), b, rng.permutation(c)]
    values, redraws = kept(numbers(*rules, names="abc"), drawn)
    assert redraws == []
    for own, before in zip(values, drawn, strict=True):
        assert np.array_equal(np.sort(own), np.sort(before))


def test_an_order_whose_columns_another_rule_ties_is_kept_by_drawing_again() -> None:
    """Exchanging totals would break their sums."""
    found = document(
        [number("a", 0, 50), number("d", 0, 50), number("b")],
        [{"kind": "sum", "parts": ["a", "d"], "total": "b"}, {"kind": "at_most", "columns": ["d", "a"]}],
    )
    rng = np.random.default_rng(7)
    a, d = rng.integers(0, 51, (2, 1000))
    whole = d <= a
    values, redraws = kept(found, [a, d, a + d], again=[np.full(1, 9.0), np.full(1, 3.0), np.full(1, 12.0)])
    assert redraws == [int((~whole).sum())]
    for own, before in zip(values, (a, d, a + d), strict=True):
        assert np.array_equal(own[whole], before[whole])


def test_missing_values_and_words_among_numbers_stay_where_they_are() -> None:
    rng = np.random.default_rng(8)
    a = rng.integers(0, 50, 1000).astype(np.float64)
    b = rng.permutation(a + rng.integers(0, 50, 1000))
    a[:100], b[50:150] = np.nan, -1
    a[150:200] = np.sort(a[150:])[:50]
    values, _redraws = kept(numbers(ORDER), [a, b])
    assert np.isnan(values[0][:100]).all()
    assert (values[1][50:150] == -1).all()
    assert not np.isnan(values[0][100:]).any()
    assert (values[1][150:] >= 0).all()


@pytest.mark.parametrize("date_first", [True, False])
def test_dates_and_times_are_exchanged_by_day(date_first: bool) -> None:
    dates, times = (
        day("d", "2020-01-01", "2020-12-31"),
        moment("t", "2020-01-01T00:00:00", "2020-12-31T23:59:59"),
    )
    columns = ["d", "t"] if date_first else ["t", "d"]
    found = document([dates, times], [{"kind": "at_most", "columns": columns}])
    rng = np.random.default_rng(9)
    early = FIRST_DAY + rng.integers(0, 300, 2000)
    late = early + rng.integers(0, 5, 2000)
    days, seconds = (early, late) if date_first else (late, early)
    seconds = seconds * 86400 + rng.integers(0, 86400, 2000)
    drawn = [days, rng.permutation(seconds)]
    values, redraws = kept(found, drawn)
    assert redraws == []
    for own, before in zip(values, drawn, strict=True):
        assert np.array_equal(np.sort(own), np.sort(before))
