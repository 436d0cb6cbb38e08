"""Bounds and bins of a number or time in a draft, and their simulated cost.

Bounds come from the scale that the column's name implies, such as 1 to 31 for a day, if it covers the rows. Otherwise they are the 0.1 % and
99.9 % quantiles, rounded outwards; a bound close to the last value is moved out to it. At least two units reach each bound, so no bound shows
one unit alone.

The candidates for bins, in this order: even bins, bins of equal ratio, bins that are narrow at the lower bound, the same three beside frequent
values with codes of their own, and learnt bins. The first candidate that keeps quartiles, tails and frequent values in simulation is taken, else the
one that loses least.

Bins of equal ratio are declared as edges. The "log" bins of a domain have equal ratios of the distance from the lower bound plus one unit: for
amounts far above one unit most of these bins would lie below the smallest amount.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, takewhile

from understudy.drafts.bin_costs import (
    BINS,
    FEWEST_AT_AN_END,
    TOLERATED_SHIFT,
    UNROUNDED,
    Cost,
    Spread,
    cost_of,
    cumulated,
    edges_of,
    equal_ratio_edges,
    heaps,
    heaps_at_ends,
    large_heaps,
    learnt_edges,
    quantile,
)

_TAIL = 0.001
_CLOSE = 0.5
"""A bound moves out to the last value if the gap is at most this share of the range between the quantiles."""
_SPIKE_SHARE = 0.2
_SENTINEL_SHARE = 0.01
_SENTINELS = frozenset({-999.0, -99.0, -9.0, -8.0, -1.0, 99.0, 999.0, 9999.0, 99999.0})
_CODES_BELOW, _CODES_ABOVE = (-9.0, -8.0, -7.0, -1.0), (9.0, 8.0, 7.0)
"""Survey codes for missing answers among numbers that have a bin each. Codes above the answers include 9, because 8 alone may be a value, such as 8 cylinders beside 6."""
_FEWEST_CODED = 10
"""Minimum rows with a missing-value code above the scale; below it 1 % suffices, because few scales have negative numbers."""
_MOST_SPECIALS = 3
_MOST_FEW = 10
"""Maximum distinct values of a low-cardinality column."""
_SHARE_OF_FEW = 0.99
_MOST_OF_POSSIBLE = 0.5
_FEWEST_BESIDE_LIMITS = 3
_WIDER_TAILS = (0.002, 0.005, 0.01)
_STRETCH, _LOG_STRETCH = 3.0, 2.0
_SHARE_OF_HEAPS = 0.4
_WORTH_A_RATIO = 0.7
"""Maximum cost of bins that widen from the lower bound, relative to even bins."""
_MOST_OF_A_RATIO = 1.5
"""Maximum cost of bins of equal ratio, relative to the tolerance: noise in the wide bins moves the upper tail, and all values below it are more accurate."""
_SKEW = 1.5
_FEWEST_UNITS = 2.0
"""Value, in units, where ratio bins begin. From 1 unit on they would equal the "log" bins of a domain."""
_THOUSANDTHS = 1000
"""Number of units in the range of a continuous column."""
_WORTH_LEARNING = 2.0
"""Factor by which learnt bins must beat other bins that keep the quartiles, because learning takes budget."""
FEWEST_ROWS_OF_A_DRAFT = 200
"""Minimum rows, or units, of a draft without a warning. With fewer, 1 % is a single row: its word is drafted, and bounds lie at the outermost rows."""
FEWEST_FOR_ENDS = 1000
"""Minimum rows for choosing bins by tails and frequent values."""
FEWEST_TO_LEARN = 2000
"""Minimum rows for learnt bins; with fewer, noise hides most counts."""

Ends = tuple[Spread, Spread]
"""Counts of each privacy unit's smallest and largest value; empty if bounds may lie at the outermost values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The draft of a number's or time's bounds and bins.

    Attributes:
        lower: Smallest ordinary value.
        upper: Largest ordinary value.
        specials: Values with a code of their own.
        bins: "linear", "ratio", "log" or "learn".
        cost: Simulated cost; for times and distances with learnt bins, the cost of even bins.
        is_natural: Whether the bounds come from a natural scale.
        even: Cost of even bins with the heaped values inside them; None for times, distances and tables of few rows.
        is_narrowed: Whether values far beyond the rest are left out.
        heaped: Special values that bins would lose.
        share_heaped: Share of the rows with a heaped value.
        edges: Edges of the bins of equal ratio.
    """

    lower: float
    upper: float
    specials: tuple[float, ...]
    bins: str
    cost: Cost
    is_natural: bool = False
    even: Cost | None = None
    is_narrowed: bool = False
    heaped: tuple[float, ...] = ()
    share_heaped: float = 0.0
    edges: tuple[float, ...] = ()


def robust_range(spread: Spread, of_units: Ends) -> tuple[float, float]:
    """The range from the 0.1 % to the 99.9 % quantile; an end moves out to the last shared value if that is close."""
    values, sums = cumulated(spread)
    first, last = _shared(of_units, values[0], values[-1])
    low, high = max(first, quantile(values, sums, _TAIL)), min(last, quantile(values, sums, 1 - _TAIL))
    near = _CLOSE * (high - low)
    return (first if low - first <= near else low), (last if last - high <= near else high)


def _shared(of_units: Ends, low: float, high: float) -> tuple[float, float]:
    """The narrowest range that two units reach at each end; the whole range if there are too few units."""
    found = []
    for counts, falls in zip(of_units, (False, True), strict=True):
        values = sorted((value for value in counts if low <= value <= high), reverse=falls)
        reached = zip(values, accumulate(counts[value] for value in values), strict=True)
        found.append(next((value for value, units in reached if units > 1), None))
    first, last = found
    return (low, high) if first is None or last is None or first > last else (first, last)


def special_values(exact: Spread, spread: Spread) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Values that need a code of their own.

    Args:
        exact: Counts of unrounded numbers.
        spread: Counts of all numbers, which may be rounded.

    Returns:
        Values inside the bounds that a fifth of the rows or more have, and values outside that stand for something else, such as -1 or 999
        for "not asked". For numbers that have a bin each, the latter are `missing_codes`.
    """
    total = sum(spread.values())
    values = sorted(spread)
    if len(values) < 2 or (all(value.is_integer() for value in values) and values[-1] - values[0] < BINS):  # noqa: PLR2004
        return (), missing_codes(spread)  # each number has a bin of its own
    heavy = {value for value, count in exact.items() if count >= _SPIKE_SHARE * total}
    beyond = set()
    for edge, following in ((values[0], values[1]), (values[-1], values[-2])):
        far = abs(edge - following) > _CLOSE * (values[-2] - values[1]) or edge < 0 <= following
        if edge in _SENTINELS and exact.get(edge, 0) >= _SENTINEL_SHARE * total and far:
            beyond.add(edge)
    inside = sorted(heavy - beyond, key=lambda value: -exact[value])[:_MOST_SPECIALS]
    return (
        (tuple(sorted(inside)), tuple(sorted(beyond)))
        if len(inside) + len(beyond) < len(values)
        else ((), ())
    )


def missing_codes(spread: Spread) -> tuple[float, ...]:
    """Missing-value codes below or above whole numbers that have a bin each, such as -9 beside 1 to 5; the gap between is wider than any gap among the answers."""
    total = sum(spread.values())
    found: tuple[float, ...] = ()
    for codes, fewest in (
        (_CODES_BELOW, max(2, min(_FEWEST_CODED, total // 100))),
        (_CODES_ABOVE, max(_FEWEST_CODED, total // 100)),
    ):
        values = sorted(spread.keys() - set(found), reverse=codes[0] > 0)
        coded = list(takewhile(codes.__contains__, values)) if values[0] < 0 or values[0] == codes[0] else []
        for many in range(len(coded), 0, -1):
            answers = values[many:]
            if len(answers) < 2 or any(spread[code] < fewest for code in coded[:many]):  # noqa: PLR2004 - a step takes two
                continue
            step = max(abs(one - other) for one, other in pairwise(answers))
            if abs(answers[0] - coded[many - 1]) > step:
                found = (*found, *coded[:many])
                break
    return tuple(sorted(found))


def outermost(units: int) -> Ends | None:
    """Empty ends if the table has so few units that the draft warns: bounds then lie at the outermost values. None for other tables."""
    return ({}, {}) if units < FEWEST_ROWS_OF_A_DRAFT else None


def limits(exact: Spread, spread: Spread, beyond: Sequence[float]) -> tuple[float, ...]:
    """Heaps at the ends of the range, such as detection limits; empty if each number has a bin of its own. For the arguments see `few_values`."""
    spread = {value: count for value, count in spread.items() if value not in beyond}
    values = sorted(spread)
    has_bins = any(not value.is_integer() for value in values) or values[-1] - values[0] >= BINS
    if len(values) <= _FEWEST_BESIDE_LIMITS or not has_bins:
        return ()
    return tuple(value for value in heaps_at_ends(spread) if exact.get(value, 0) >= UNROUNDED * spread[value])


def few_values(
    exact: Spread, spread: Spread, *, unit: float | None, fewest: int, beyond: Sequence[float] = ()
) -> tuple[float, ...]:
    """All frequent values of a low-cardinality column, such as prices; empty if there are many values, or if each has a bin of its own.

    Args:
        exact: Counts of unrounded numbers.
        spread: Counts of all numbers, which may be rounded.
        unit: Distance between possible values; None for continuous ones.
        fewest: Minimum rows of a value; rarer values are dropped and may hold 1 % of the rows.
        beyond: Special values outside the bounds, which are left out.
    """
    spread = {value: count for value, count in spread.items() if value not in beyond}
    values = sorted(spread)
    is_whole = unit is None or unit >= 1
    each_has_a_bin = (
        is_whole and all(value.is_integer() for value in values) and values[-1] - values[0] < BINS
    )
    kept = tuple(value for value in sorted(exact) if exact[value] >= fewest and value not in beyond)
    if each_has_a_bin or sum(exact[value] for value in kept) < _SHARE_OF_FEW * sum(spread.values()):
        return ()
    return kept if len(values) <= _MOST_FEW or _are_listed(kept, exact, unit) else ()


def _are_listed(values: Sequence[float], exact: Spread, unit: float | None) -> bool:
    """Whether values form a price list: at most as many as bins, in enough rows, and at most half of the possible values between them."""
    possible = math.inf if unit is None else (values[-1] - values[0]) / unit + 1
    return (
        len(values) <= min(BINS, _MOST_OF_POSSIBLE * possible)
        and sum(exact[value] for value in values) >= FEWEST_FOR_ENDS
    )


def choose_bounds(
    spread: Spread,
    *,
    unit: float | None,
    of_units: Ends | None = None,
    exact: Spread | None = None,
    are_days: bool = False,
    inside: Sequence[float] = (),
    beyond: Sequence[float] = (),
    natural: Sequence[tuple[float, float]] = (),
) -> Bounds:
    """Choose bounds and bins.

    Args:
        unit: Step between possible values, such as 0.01; None for continuous ones.
        of_units: Ends of each privacy unit's values without `beyond`; None if each row is a unit.
        exact: Counts of unrounded numbers: frequent ones may become special values, and extreme ones may lie outside the bounds. None for
            times and distances, whose bins keep the quartiles only.
        are_days: Whether the values are days. Their bounds are rounded by the caller, and no domain has bins of equal ratio for them.
        inside: Values inside the bounds with a code of their own.
        beyond: Values outside the bounds with a code of their own.
        natural: Bounds of natural scales, narrowest first. The first that covers the rows is taken if even bins keep the quartiles.
    """
    spread = {value: count for value, count in spread.items() if value not in beyond}
    of_units = (spread, spread) if of_units is None else of_units
    low, high = robust_range(spread, of_units)
    ordinary = {value: count for value, count in spread.items() if value not in inside} or spread
    specials = tuple(sorted((*inside, *beyond)))
    for lower, upper in natural:
        if lower <= low and high <= upper:
            cost = cost_of(ordinary, edges_of(lower, upper, unit, "linear"), unit)
            if cost.shift <= TOLERATED_SHIFT:
                return Bounds(
                    lower=lower, upper=upper, specials=specials, bins="linear", cost=cost, is_natural=True
                )
    pinned = () if exact is None else [value for value in inside if spread.get(value, 0) >= FEWEST_AT_AN_END]
    # Whole numbers with a bin each keep exact bounds: rounding would add values that no row has.
    is_short = unit == 1.0 and 0 < high - low < BINS
    rows = sum(spread.values())
    has_ends = not is_short and sum(ordinary.values()) >= FEWEST_FOR_ENDS
    if are_days:
        return _bounds_of_days(ordinary, low, high, of_units, may_narrow=has_ends)
    ends = (low, high) if is_short else _outside(low, high, spread, pinned)
    if exact is None or not has_ends:
        large = (
            ()
            if exact is None or is_short
            else large_heaps(ordinary, exact, edges_of(*ends, unit, "linear"), unit, rows)
        )
        rest = {value: count for value, count in ordinary.items() if value not in large}
        bins, cost = _bins(rest, *ends, unit)
        return Bounds(
            lower=ends[0],
            upper=ends[1],
            specials=tuple(sorted({*specials, *large})),
            bins=bins,
            cost=cost,
            heaped=large,
            share_heaped=sum(spread[value] for value in large) / rows,
        )
    found = _least(ordinary, exact, *ends, unit, _ratio_edges(ordinary, low, ends, of_units, unit), rows)
    inner = _unstretched(ordinary, low, high, of_units)
    is_narrowed = not found.cost.is_tolerated and inner != (low, high)
    if is_narrowed:
        ends = _outside(*inner, spread, pinned)
        edges = _ratio_edges(ordinary, inner[0], ends, of_units, unit)
        found = _least(ordinary, exact, *ends, unit, edges, rows)
    even = cost_of(ordinary, edges_of(*ends, unit, "linear"), unit)
    if found.bins == "log" and inner[0] > 0:
        ends, found = _raised(ordinary, found, ends, _round_below(inner[0] if is_narrowed else low), unit)
    return Bounds(
        lower=found.edges[0] if found.edges else ends[0],
        upper=ends[1],
        specials=tuple(sorted({*specials, *found.heaped})),
        bins=found.bins,
        cost=found.cost,
        even=even,
        is_narrowed=is_narrowed,
        heaped=found.heaped,
        share_heaped=sum(exact[value] for value in found.heaped) / sum(spread.values()),
        edges=found.edges,
    )


def _bounds_of_days(spread: Spread, low: float, high: float, of_units: Ends, *, may_narrow: bool) -> Bounds:
    """Bounds and bins of days: even ones, else learnt ones."""

    def between(lower: float, upper: float, *, is_narrowed: bool) -> Bounds:
        cost = cost_of(spread, edges_of(lower, upper, 1.0, "linear"), 1.0)
        is_learnt = cost.shift > TOLERATED_SHIFT and sum(spread.values()) >= FEWEST_TO_LEARN
        bins = "learn" if is_learnt else "linear"
        return Bounds(lower=lower, upper=upper, specials=(), bins=bins, cost=cost, is_narrowed=is_narrowed)

    found = between(low, high, is_narrowed=False)
    inner = _unstretched(spread, low, high, of_units)
    if may_narrow and found.cost.shift > TOLERATED_SHIFT and inner != (low, high):
        return between(*inner, is_narrowed=True)
    return found


def _unstretched(ordinary: Spread, low: float, high: float, of_units: Ends) -> tuple[float, float]:
    """The bounds without a few values far beyond the rest, such as typing errors.

    On a log scale, the outermost thousandth of a lognormal quantity lies 1.3 times as far from the median as its outermost hundredth. Values more
    than twice as far on the log scale, and three times as far in units, are errors, or spoil the bins of all other values.
    """
    values, sums = cumulated(ordinary)
    middle = quantile(values, sums, 0.5)
    ends = []
    for end, side in ((low, 0), (high, 1)):
        for tail in _WIDER_TAILS:
            inner = quantile(values, sums, abs(side - tail))
            far = abs(end - middle) > _STRETCH * abs(inner - middle) > 0
            ratio = _log_ratio(end, middle) > _LOG_STRETCH * _log_ratio(inner, middle)
            if far and ratio:
                end = inner  # noqa: PLW2901 - the bound without the tail
                break
        ends.append(end)
    if ends == [low, high]:
        return low, high
    near = _CLOSE * (ends[1] - ends[0])
    within = [value for value in values if ends[0] - near <= value <= ends[1] + near]
    first, last = _shared(of_units, within[0], within[-1])
    return max(low, first), min(high, last)


def _log_ratio(one: float, other: float) -> float:
    """The absolute log ratio of two numbers; infinite unless both are positive."""
    return abs(math.log(one / other)) if one > 0 and other > 0 else math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    """Bins, the frequent values beside them, and the cost of both."""

    bins: str
    heaped: tuple[float, ...]
    cost: Cost
    edges: tuple[float, ...] = ()


def _ratio_edges(
    ordinary: Spread, low: float, ends: tuple[float, float], of_units: Ends, unit: float | None
) -> tuple[float, ...]:
    """Edges of equal ratio from a round number below the smallest values. Empty if the lower bound is negative, if that number is below two units, or if most values are not small.

    Args:
        ordinary: Counts of the values without special ones.
        low: Lower end of all values before rounding. If it is 0, as with many zeros, one bin from the lower bound precedes the others.
        of_units: The ends of each privacy unit's values.
        unit: Distance between possible values; None for continuous ones.
    """
    lower, upper = ends
    smallest = low if low > 0 else robust_range(ordinary, of_units)[0]
    if lower < 0 or smallest <= 0 or not _are_mostly_small(ordinary):
        return ()
    start = max(lower, _round_below(smallest))
    if start >= upper or start < _FEWEST_UNITS * (unit or (upper - lower) / _THOUSANDTHS):
        return ()
    return tuple(equal_ratio_edges(start if low > 0 else lower, upper, unit, start=start))


def _are_mostly_small(ordinary: Spread) -> bool:
    """Whether the distance from the median to the 95 % point is at least 1.5 times the distance to the 5 % point."""
    values, sums = cumulated(ordinary)
    first, middle, last = (quantile(values, sums, share) for share in (0.05, 0.5, 0.95))
    return last - middle >= _SKEW * (middle - first)


def _least(
    ordinary: Spread,
    exact: Spread,
    lower: float,
    upper: float,
    unit: float | None,
    ratio_edges: tuple[float, ...],
    rows: int,
) -> _Choice:
    """The first bins with a tolerated cost, else the cheapest: even ones, narrow ones at the lower end, both beside more frequent values, learnt ones."""
    even = edges_of(lower, upper, unit, "linear")
    large, heaped = large_heaps(ordinary, exact, even, unit, rows), _heaped(ordinary, exact, even, unit)
    tried: list[_Choice] = []
    for taken in dict.fromkeys((large, tuple(sorted({*large, *heaped})))):
        rest = {value: count for value, count in ordinary.items() if value not in taken}
        linear, log = (
            _Choice(bins=kind, heaped=taken, cost=cost_of(rest, edges_of(lower, upper, unit, kind), unit))
            for kind in ("linear", "log")
        )
        tried.append(linear)
        if linear.cost.is_tolerated:
            return linear
        narrow = [log] if lower >= 0 else []
        if ratio_edges:
            counted = [*ratio_edges[:-1], ratio_edges[-1] + (unit or 0.0)]
            cost = cost_of(rest, counted, unit)
            narrow.insert(0, _Choice(bins="ratio", heaped=taken, cost=cost, edges=ratio_edges))
        for choice in narrow:
            if choice.cost.badness < _WORTH_A_RATIO * linear.cost.badness:
                tried.append(choice)
                if choice.cost.badness <= (_MOST_OF_A_RATIO if choice.bins == "ratio" else 1.0):
                    return choice
    best = min(tried, key=lambda choice: choice.cost.badness)
    rest = {value: count for value, count in ordinary.items() if value not in best.heaped}
    if sum(rest.values()) < FEWEST_TO_LEARN:
        return best
    learnt = cost_of(rest, learnt_edges(rest, lower, upper, unit), unit)
    if best.cost.shift > TOLERATED_SHIFT or _WORTH_LEARNING * learnt.badness < best.cost.badness:
        return _Choice(bins="learn", heaped=best.heaped, cost=learnt)
    return best


def _raised(
    ordinary: Spread, found: _Choice, ends: tuple[float, float], lower: float, unit: float | None
) -> tuple[tuple[float, float], _Choice]:
    """Log bins from a higher lower bound, if they cost less: from 0, half of them lie below the smallest values, and noise fills them."""
    if lower <= ends[0]:
        return ends, found
    rest = {value: count for value, count in ordinary.items() if value not in found.heaped}
    cost = cost_of(rest, edges_of(lower, ends[1], unit, "log"), unit)
    if cost.badness >= found.cost.badness:
        return ends, found
    return (lower, ends[1]), _Choice(bins="log", heaped=found.heaped, cost=cost)


def _round_below(value: float) -> float:
    """The largest number 1, 2 or 5 times a power of ten at or below a positive number."""
    power = 10.0 ** math.floor(math.log10(value))
    return float(
        f"{max(factor * power for factor in (1, 2, 5) if factor * power <= value * (1 + 1e-9)):.12g}"
    )


def _heaped(ordinary: Spread, exact: Spread, edges: Sequence[float], unit: float | None) -> tuple[float, ...]:
    """Frequent values that bins lose, if they hold at least two fifths of the rows."""
    total = sum(ordinary.values())
    found = tuple(
        value for value in heaps(ordinary, edges, unit) if exact.get(value, 0) >= UNROUNDED * ordinary[value]
    )
    held = sum(ordinary[value] for value in found)
    return found if _SHARE_OF_HEAPS * total <= held < total else ()


def _bins(ordinary: Spread, lower: float, upper: float, unit: float | None) -> tuple[str, Cost]:
    """Bins between two bounds that keep the quartiles, and their cost."""
    cost = {kind: cost_of(ordinary, edges_of(lower, upper, unit, kind), unit) for kind in ("linear", "log")}
    bins = "linear"
    if cost["linear"].shift > TOLERATED_SHIFT:
        skewed = lower >= 0 and cost["log"].shift < cost["linear"].shift
        if skewed and cost["log"].shift <= TOLERATED_SHIFT:
            bins = "log"
        elif sum(ordinary.values()) >= FEWEST_TO_LEARN:
            bins = "learn"
        elif skewed:
            bins = "log"
    return bins, cost["log" if bins == "log" else "linear"]


def _outside(low: float, high: float, spread: Spread, pinned: Sequence[float]) -> tuple[float, float]:
    """Rounded bounds. An end that is a frequent value with its own code stays exact, so no bin lies beyond that limit."""
    lower, upper = nice_bounds(low, high)
    first, last = min(spread), max(spread)
    return (first if first in pinned else lower), (last if last in pinned else upper)


def nice_bounds(lower: float, upper: float) -> tuple[float, float]:
    """Bounds rounded outwards to a step of 1, 2 or 5 times a power of ten, about a twentieth of the range."""
    span = (upper - lower) or max(abs(upper), 1.0)
    power = 10.0 ** math.floor(math.log10(span / 20))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= span / 20)
    step = max(step, 1.0) if float(lower).is_integer() and float(upper).is_integer() else step
    low, high = math.floor(lower / step) * step, math.ceil(upper / step) * step
    return float(f"{low:.12g}"), float(f"{high if high > low else low + step:.12g}")
