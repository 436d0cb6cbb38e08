"""Bounds and bins of a number or time in a draft, and by simulation what they cost.

Bounds are those of a natural scale that the name says and that holds the rows, such as 1 to 31 for a day. Otherwise they are the 0.1 % and 99.9 % quantiles, widened to round numbers; a bound that lies close takes in the rest too. So one
extreme value moves no bound. Bins are even, else of equal ratio, else learnt: the first under which rows that are drawn
evenly inside their bins keep the quantiles of the rows.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

BINS = 32
_TAIL = 0.001
_CLOSE = 0.5
"""Share of the range between the quantiles up to which a bound is moved out to the last value."""
_SPIKE_SHARE = 0.2
_SENTINEL_SHARE = 0.01
_SENTINELS = frozenset({-999.0, -99.0, -9.0, -8.0, -1.0, 99.0, 999.0, 9999.0, 99999.0})
_MOST_SPECIALS = 3
_MOST_FEW = 10
"""Values up to which a column has few. Each is a group of its own in counts of pairs, so more would cost precision."""
_SHARE_OF_FEW = 0.99
TOLERATED_SHIFT = 0.15
FEWEST_TO_LEARN = 2000
"""Rows below which so few stand out of the noise that learnt bins are worse than declared ones."""
_PROBES = (0.1, 0.25, 0.5, 0.75, 0.9)

Spread = Mapping[float, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What bounds and bins do to a column, before any noise.

    Attributes:
        clamped: Share of rows beyond the bounds.
        shift: Largest move of the quartiles, as a share of the distance between the quantiles around each: of the median,
            between the other two quartiles.
        median: Median of the rows.
        drawn_median: Median of rows that are drawn evenly inside their bins.
    """

    clamped: float
    shift: float
    median: float
    drawn_median: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a draft declares of a number or time.

    Attributes:
        lower: Smallest ordinary value.
        upper: Largest ordinary value.
        specials: Values with a code of their own.
        bins: "linear", "log" or "learn".
        cost: What this costs; of learnt bins, what even ones would.
        is_natural: Whether the bounds are those of a natural scale.
    """

    lower: float
    upper: float
    specials: tuple[float, ...]
    bins: str
    cost: Cost
    is_natural: bool = False


def robust_range(spread: Spread) -> tuple[float, float]:
    """The range from the 0.1 % to the 99.9 % quantile, or to the last value where that is close."""
    values, sums = _cumulated(spread)
    low, high = _quantile(values, sums, _TAIL), _quantile(values, sums, 1 - _TAIL)
    near = _CLOSE * (high - low)
    return (values[0] if low - values[0] <= near else low), (
        values[-1] if values[-1] - high <= near else high
    )


def special_values(exact: Spread, spread: Spread) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Values that need a code of their own.

    Args:
        exact: Counts of unrounded numbers.
        spread: Counts of all numbers, which may be rounded.

    Returns:
        Those that a fifth of the rows or more have; and those far off all others that stand for something else, such as
        -1 or 999 for "not asked", which lie beyond the bounds.
    """
    total = sum(spread.values())
    values = sorted(spread)
    if len(values) < 2 or (all(value.is_integer() for value in values) and values[-1] - values[0] < BINS):  # noqa: PLR2004
        return (), ()  # each number has a bin of its own
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


def few_values(
    exact: Spread, spread: Spread, *, fewest: int, beyond: Sequence[float] = ()
) -> tuple[float, ...]:
    """All values of a column that has few of them, such as prices; empty where it has many, or where each has a bin of its own.

    Args:
        exact: Counts of unrounded numbers.
        spread: Counts of all numbers, which may be rounded.
        fewest: Rows that a value needs; values of fewer rows are left out and may be 1 % of the rows.
        beyond: Values that stand for something else, which are not counted.
    """
    spread = {value: count for value, count in spread.items() if value not in beyond}
    values = sorted(spread)
    each_has_a_bin = all(value.is_integer() for value in values) and values[-1] - values[0] < BINS
    if len(values) > _MOST_FEW or each_has_a_bin:
        return ()
    kept = tuple(value for value in sorted(exact) if exact[value] >= fewest and value not in beyond)
    return kept if sum(exact[value] for value in kept) >= _SHARE_OF_FEW * sum(spread.values()) else ()


def choose_bounds(
    spread: Spread,
    *,
    unit: float | None,
    round_numbers: bool = True,
    inside: Sequence[float] = (),
    beyond: Sequence[float] = (),
    natural: Sequence[tuple[float, float]] = (),
) -> Bounds:
    """Choose bounds and bins.

    Args:
        spread: Counts of the values.
        unit: Distance between possible values, such as 0.01; None for continuous ones.
        round_numbers: Whether bounds are widened to round numbers; of days they are not.
        inside: Values with a code of their own inside the bounds.
        beyond: The same, outside the bounds.
        natural: Bounds of a natural scale, narrowest first. The first that holds the rows is taken if even bins between it keep the quartiles.
    """
    spread = {value: count for value, count in spread.items() if value not in beyond}
    low, high = robust_range(spread)
    ordinary = {value: count for value, count in spread.items() if value not in inside} or spread
    specials = tuple(sorted((*inside, *beyond)))
    for lower, upper in natural:
        if lower <= low and high <= upper:
            cost = cost_of(ordinary, _edges(lower, upper, unit, "linear"), unit)
            if cost.shift <= TOLERATED_SHIFT:
                return Bounds(
                    lower=lower, upper=upper, specials=specials, bins="linear", cost=cost, is_natural=True
                )
    # Whole numbers that have a bin each need no round bounds: these would add values that no row has.
    is_short = unit == 1.0 and 0 < high - low < BINS
    lower, upper = nice_bounds(low, high) if round_numbers and not is_short else (low, high)
    bins, cost = _bins(ordinary, lower, upper, unit)
    return Bounds(lower=lower, upper=upper, specials=specials, bins=bins, cost=cost)


def _bins(ordinary: Spread, lower: float, upper: float, unit: float | None) -> tuple[str, Cost]:
    """The bins between two bounds, and what they cost."""
    cost = {kind: cost_of(ordinary, _edges(lower, upper, unit, kind), unit) for kind in ("linear", "log")}
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


def cost_of(spread: Spread, edges: Sequence[float], unit: float | None) -> Cost:
    """Simulate what bounds and bins do: clamp, count by bin, draw evenly inside each bin.

    Args:
        spread: Counts of the values.
        edges: Of the bins, increasing.
        unit: Distance between possible values; None for continuous ones.
    """
    values, sums = _cumulated(spread)
    total = sums[-1]
    clamped = sum(count for value, count in spread.items() if not edges[0] <= value <= edges[-1]) / total
    counts: Counter[int] = Counter()
    for value, count in spread.items():
        counts[min(max(bisect_right(edges, value) - 1, 0), len(edges) - 2)] += count
    drawn = list(accumulate(counts[place] for place in range(len(edges) - 1)))
    real = [_quantile(values, sums, share) for share in _PROBES]
    made = [_drawn_quantile(edges, drawn, share) for share in _PROBES]
    if unit is not None:
        made = [edges[0] + math.floor((value - edges[0]) / unit) * unit for value in made]
    least = (edges[-1] - edges[0]) / BINS
    shift = max(
        abs(real[place] - made[place]) / max(real[place + 1] - real[place - 1], least)
        for place in range(1, len(_PROBES) - 1)
    )
    middle = len(_PROBES) // 2
    return Cost(clamped=clamped, shift=shift, median=real[middle], drawn_median=made[middle])


def nice_bounds(lower: float, upper: float) -> tuple[float, float]:
    """Bounds widened to multiples of 1, 2 or 5 times a power of ten, about a twentieth of the range."""
    span = (upper - lower) or max(abs(upper), 1.0)
    power = 10.0 ** math.floor(math.log10(span / 20))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= span / 20)
    step = max(step, 1.0) if float(lower).is_integer() and float(upper).is_integer() else step
    low, high = math.floor(lower / step) * step, math.ceil(upper / step) * step
    return float(f"{low:.12g}"), float(f"{high if high > low else low + step:.12g}")


def _edges(lower: float, upper: float, unit: float | None, kind: str) -> list[float]:
    """Edges of the public default rule (`core.plan.domain.bins.default_edges`), about."""
    span = upper - lower
    if unit is not None and span / unit < BINS:
        count = round(span / unit) + 1
        return [lower + place * unit for place in range(count + 1)]
    steps = [place / BINS for place in range(BINS + 1)]
    if kind == "log":
        ratio = span / (span / 1000 if unit is None else unit)
        steps = [math.expm1(step * math.log1p(ratio)) / ratio for step in steps]
    edges = [lower + step * span for step in steps]
    if unit is not None:
        edges = [lower + math.floor((edge - lower) / unit + 1e-6) * unit for edge in edges]
        edges[-1] += unit
    return sorted(set(edges))


def _cumulated(spread: Spread) -> tuple[list[float], list[int]]:
    values = sorted(spread)
    return values, list(accumulate(spread[value] for value in values))


def _quantile(values: Sequence[float], sums: Sequence[int], share: float) -> float:
    return values[min(bisect_right(sums, share * sums[-1]), len(values) - 1)]


def _drawn_quantile(edges: Sequence[float], sums: Sequence[int], share: float) -> float:
    rank = share * sums[-1]
    place = min(bisect_right(sums, rank), len(sums) - 1)
    before = sums[place - 1] if place else 0
    inside = (rank - before) / ((sums[place] - before) or 1)
    return edges[place] + inside * (edges[place + 1] - edges[place])
