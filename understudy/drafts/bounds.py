"""Bounds and bins of a number or time in a draft, and by simulation what they cost.

Bounds are those of a natural scale that the name says and that holds the rows, such as 1 to 31 for a day. Otherwise they are the 0.1 % and 99.9 % quantiles, widened to round numbers; a bound that lies close takes in the rest too. Two
units reach each of them, so one unit sets no bound. Bins are even, else of equal ratio, else narrow at the lower bound, all also beside frequent values with codes of their own, else learnt: the first
under which rows that are drawn evenly inside their bins keep the quartiles, the ends and the frequent values of the rows, else those that lose least. Bins of equal ratio are listed edges: the bins
that a domain calls "log" have equal ratios of the distance from the lower bound plus one unit, so of amounts far above one unit most of them would lie below the smallest.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, takewhile

from understudy.drafts.bin_costs import (
    BINS,
    FEWEST_AT_AN_END,
    TOLERATED_SHIFT,
    Cost,
    Spread,
    cost_of,
    cumulated,
    edges_of,
    equal_ratio_edges,
    heaps,
    heaps_at_ends,
    learnt_edges,
    quantile,
)

_TAIL = 0.001
_CLOSE = 0.5
"""Share of the range between the quantiles up to which a bound is moved out to the last value."""
_SPIKE_SHARE = 0.2
_SENTINEL_SHARE = 0.01
_SENTINELS = frozenset({-999.0, -99.0, -9.0, -8.0, -1.0, 99.0, 999.0, 9999.0, 99999.0})
_CODES_BELOW, _CODES_ABOVE = (-9.0, -8.0, -7.0, -1.0), (9.0, 8.0, 7.0)
"""Codes of surveys for answers that are missing, among numbers that have a bin each; above the answers 9 is one of them, because 6 may lie beside 8 cylinders."""
_FEWEST_CODED = 10
"""Rows of such a code above the answers; below them one row in a hundred is enough, because few scales have numbers below zero."""
_MOST_SPECIALS = 3
_MOST_FEW = 10
"""Values up to which a column has few, however they lie."""
_SHARE_OF_FEW = 0.99
_MOST_OF_POSSIBLE = 0.5
_FEWEST_BESIDE_LIMITS = 3
_WIDER_TAILS = (0.002, 0.005, 0.01)
_STRETCH, _LOG_STRETCH = 3.0, 2.0
_SHARE_OF_HEAPS = 0.4
_UNROUNDED = 0.9
"""Share of the rows of a rounded number that have one unrounded one, from which it is a frequent value."""
_WORTH_A_RATIO = 0.7
"""What bins that widen from the lower bound on may cost beside even ones."""
_MOST_OF_A_RATIO = 1.5
"""What bins of equal ratio may cost beside what is tolerated: noise in the wide ones moves the upper end, and all values below it are nearer."""
_SKEW = 1.5
_FEWEST_UNITS = 2.0
"""Units of a number from which equal ratios begin; from one on those of a domain's "log" are the same."""
_THOUSANDTHS = 1000
"""Parts of the range that are the unit of continuous numbers."""
_WORTH_LEARNING = 2.0
"""How much less learnt bins must cost where others keep the quartiles, because they take budget."""
FEWEST_ROWS_OF_A_DRAFT = 200
"""Rows, or units, below which one in a hundred is a single one, so that its word is drafted, and bounds lie at the outermost ones."""
FEWEST_FOR_ENDS = 1000
"""Rows below which too few lie in the ends, and too few share a value, to choose bins by them."""
FEWEST_TO_LEARN = 2000
"""Rows below which so few stand out of the noise that learnt bins are worse than declared ones."""

Ends = tuple[Spread, Spread]
"""Counts of the smallest and of the largest value of each privacy unit; empty where bounds may lie at the outermost values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a draft declares of a number or time.

    Attributes:
        lower: Smallest ordinary value.
        upper: Largest ordinary value.
        specials: Values with a code of their own.
        bins: "linear", "ratio", "log" or "learn".
        cost: What this costs; of times and distances with learnt bins, what even ones would.
        is_natural: Whether the bounds are those of a natural scale.
        even: Of numbers in enough rows, what even bins without these special values would cost; else None.
        is_narrowed: Whether values far beyond the rest are left out.
        heaped: Special values that are there because bins would lose them.
        share_heaped: Share of the rows that have one of these.
        edges: Of bins of equal ratio.
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
    """The range from the 0.1 % to the 99.9 % quantile, or to the last shared value where that is close."""
    values, sums = cumulated(spread)
    first, last = _shared(of_units, values[0], values[-1])
    low, high = max(first, quantile(values, sums, _TAIL)), min(last, quantile(values, sums, 1 - _TAIL))
    near = _CLOSE * (high - low)
    return (first if low - first <= near else low), (last if last - high <= near else high)


def _shared(of_units: Ends, low: float, high: float) -> tuple[float, float]:
    """The range between two values that two units reach at each end; all of it if there are too few units."""
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
        Those that a fifth of the rows or more have; and those far off all others that stand for something else, such as
        -1 or 999 for "not asked", which lie beyond the bounds: of numbers that have a bin each, `missing_codes`.
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
    """Codes such as -9 beside answers from 1 to 5, or 8 and 9 above them: a gap lies between, wider than any between the answers.

    Args:
        spread: Counts of whole numbers that have a bin each.
    """
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
    """The ends of units in a table of so few that the draft warns of them: bounds lie at the outermost values. None in any other table.

    Args:
        units: Number of privacy units of the table.
    """
    return ({}, {}) if units < FEWEST_ROWS_OF_A_DRAFT else None


def limits(exact: Spread, spread: Spread, beyond: Sequence[float]) -> tuple[float, ...]:
    """Heaps at the ends of the range, such as limits of detection; empty where each number has a bin of its own.

    Args:
        exact: Counts of unrounded numbers.
        spread: Counts of all numbers, which may be rounded.
        beyond: Values that stand for something else, which are not counted.
    """
    spread = {value: count for value, count in spread.items() if value not in beyond}
    values = sorted(spread)
    has_bins = any(not value.is_integer() for value in values) or values[-1] - values[0] >= BINS
    if len(values) <= _FEWEST_BESIDE_LIMITS or not has_bins:
        return ()
    return tuple(
        value for value in heaps_at_ends(spread) if exact.get(value, 0) >= _UNROUNDED * spread[value]
    )


def few_values(
    exact: Spread, spread: Spread, *, unit: float | None, fewest: int, beyond: Sequence[float] = ()
) -> tuple[float, ...]:
    """All values of a column that has few of them, such as prices; empty where it has many, or where each has a bin of its own.

    Args:
        exact: Counts of unrounded numbers.
        spread: Counts of all numbers, which may be rounded.
        unit: Distance between possible values; None for continuous ones.
        fewest: Rows that a value needs; values of fewer rows are left out and may be 1 % of the rows.
        beyond: Values that stand for something else, which are not counted.
    """
    spread = {value: count for value, count in spread.items() if value not in beyond}
    values = sorted(spread)
    each_has_a_bin = all(value.is_integer() for value in values) and values[-1] - values[0] < BINS
    kept = tuple(value for value in sorted(exact) if exact[value] >= fewest and value not in beyond)
    if each_has_a_bin or sum(exact[value] for value in kept) < _SHARE_OF_FEW * sum(spread.values()):
        return ()
    return kept if len(values) <= _MOST_FEW or _are_listed(kept, exact, unit) else ()


def _are_listed(values: Sequence[float], exact: Spread, unit: float | None) -> bool:
    """Whether values are the prices of a list: no more than bins, in enough rows, and at most half of those that lie between them."""
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
        spread: Counts of the values.
        unit: Distance between possible values, such as 0.01; None for continuous ones.
        of_units: The ends of each privacy unit's values without `beyond`; None if each row is a unit.
        exact: Counts of unrounded numbers, of which frequent ones may be special values and extreme ones lie beyond the bounds; None for
            times and distances, whose bins keep the quartiles alone.
        are_days: Whether the values are days: their bounds are widened to round numbers by the caller, and no domain has bins of equal ratio for them.
        inside: Values with a code of their own inside the bounds.
        beyond: The same, outside the bounds.
        natural: Bounds of a natural scale, narrowest first. The first that holds the rows is taken if even bins between it keep the quartiles.
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
    # Whole numbers that have a bin each need no round bounds: these would add values that no row has.
    is_short = unit == 1.0 and 0 < high - low < BINS
    has_ends = not is_short and sum(ordinary.values()) >= FEWEST_FOR_ENDS
    if are_days:
        return _bounds_of_days(ordinary, low, high, of_units, may_narrow=has_ends)
    ends = (low, high) if is_short else _outside(low, high, spread, pinned)
    if exact is None or not has_ends:
        bins, cost = _bins(ordinary, *ends, unit)
        return Bounds(lower=ends[0], upper=ends[1], specials=specials, bins=bins, cost=cost)
    found = _least(ordinary, exact, *ends, unit, _ratio_edges(ordinary, low, ends, of_units, unit))
    inner = _unstretched(ordinary, low, high, of_units)
    is_narrowed = not found.cost.is_tolerated and inner != (low, high)
    if is_narrowed:
        ends = _outside(*inner, spread, pinned)
        found = _least(ordinary, exact, *ends, unit, _ratio_edges(ordinary, inner[0], ends, of_units, unit))
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

    The outermost thousandth of a lognormal quantity lies 1.3 times as far from the median as its outermost hundredth on a scale of ratios. What lies
    more than twice as far, and three times as far in units, are errors, or values that spoil the bins of all others.
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
    """How far apart two numbers are on a scale of ratios; infinite where they have none."""
    return abs(math.log(one / other)) if one > 0 and other > 0 else math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    """Bins, the frequent values beside them, and what both cost."""

    bins: str
    heaped: tuple[float, ...]
    cost: Cost
    edges: tuple[float, ...] = ()


def _ratio_edges(
    ordinary: Spread, low: float, ends: tuple[float, float], of_units: Ends, unit: float | None
) -> tuple[float, ...]:
    """Edges of equal ratio from a round number below the smallest values on; empty where these lie near one unit or below zero, or most values are not small.

    Args:
        ordinary: Counts of the values without special ones.
        low: The lower end of all values, from which on the bounds are rounded. Where it is 0, as beside many zeros, a bin from there on precedes the others.
        ends: The rounded bounds.
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
    """Whether the 95 % point lies half as far again from the median as the 5 % point, or more."""
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
) -> _Choice:
    """The first bins that cost no more than is tolerated, else those that cost least: even ones, narrow ones at the lower end, all beside frequent values, learnt ones."""
    heaped = _heaped(ordinary, exact, edges_of(lower, upper, unit, "linear"), unit)
    tried: list[_Choice] = []
    for taken in ((), heaped) if heaped else ((),):
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
    """Bins of equal ratio from a higher lower bound on, if they cost less: from 0 on half of them lie below the smallest values, and noise fills them."""
    if lower <= ends[0]:
        return ends, found
    rest = {value: count for value, count in ordinary.items() if value not in found.heaped}
    cost = cost_of(rest, edges_of(lower, ends[1], unit, "log"), unit)
    if cost.badness >= found.cost.badness:
        return ends, found
    return (lower, ends[1]), _Choice(bins="log", heaped=found.heaped, cost=cost)


def _round_below(value: float) -> float:
    """The largest number of the form 1, 2 or 5 times a power of ten that is not above a positive number."""
    power = 10.0 ** math.floor(math.log10(value))
    return float(
        f"{max(factor * power for factor in (1, 2, 5) if factor * power <= value * (1 + 1e-9)):.12g}"
    )


def _heaped(ordinary: Spread, exact: Spread, edges: Sequence[float], unit: float | None) -> tuple[float, ...]:
    """Frequent values that bins lose, if they hold two fifths of the rows or more."""
    total = sum(ordinary.values())
    found = tuple(
        value for value in heaps(ordinary, edges, unit) if exact.get(value, 0) >= _UNROUNDED * ordinary[value]
    )
    held = sum(ordinary[value] for value in found)
    return found if _SHARE_OF_HEAPS * total <= held < total else ()


def _bins(ordinary: Spread, lower: float, upper: float, unit: float | None) -> tuple[str, Cost]:
    """The bins between two bounds that keep the quartiles, and what they cost."""
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
    """Round bounds; one of the first or last value where that has a code of its own: no bin lies beyond a limit that many rows have."""
    lower, upper = nice_bounds(low, high)
    first, last = min(spread), max(spread)
    return (first if first in pinned else lower), (last if last in pinned else upper)


def nice_bounds(lower: float, upper: float) -> tuple[float, float]:
    """Bounds widened to multiples of 1, 2 or 5 times a power of ten, about a twentieth of the range."""
    span = (upper - lower) or max(abs(upper), 1.0)
    power = 10.0 ** math.floor(math.log10(span / 20))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= span / 20)
    step = max(step, 1.0) if float(lower).is_integer() and float(upper).is_integer() else step
    low, high = math.floor(lower / step) * step, math.ceil(upper / step) * step
    return float(f"{low:.12g}"), float(f"{high if high > low else low + step:.12g}")
