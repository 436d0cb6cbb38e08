"""The effect of bounds, bins and special values on a column, by simulation: clamp, count by bin, add a little noise, draw evenly inside each bin.

The quartiles show whether the bulk survives. The 5 %, 95 % and 99 % points show whether the tails do: wide bounds leave many bins nearly
empty, and the noise of a release fills them. The distribution function shows whether groups of different size survive in one bin, and frequent values
show whether heaps do.
"""

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from understudy.drafts.facts import rounded_number

BINS: Final = 32
RATIO_BINS: Final = 24
"""Number of bins of equal ratio. On skewed columns of public tables, 24 give more accurate tails in noisy draws than 16 or 32."""
TOLERATED_SHIFT: Final = 0.15
TOLERATED_TAIL: Final = 0.3
TOLERATED_SIGN: Final = 0.03
"""Largest tolerated change in the share of rows below zero."""
TOLERATED_UNEVEN: Final = 0.1
"""Largest tolerated difference of distribution functions: the one from which a training gives a column whose bins it checks other bins
(`models.learnt_domains.crowded_bins.UNEVEN`)."""
TOLERATED_LOSS: Final = 0.25
"""Largest tolerated share of rows that lose a frequent value."""
_PROBES: Final = (0.1, 0.25, 0.5, 0.75, 0.9)
_ENDS: Final = (0.05, 0.95, 0.99)
_NOISE: Final = 10.0
"""Mean number of rows that noise adds to an empty bin, because negative counts are set to zero: 0.4 standard errors of 27 rows, as for a count in a
table of 21 columns at epsilon 1."""
_MOST_NOISE: Final = 0.003
"""Upper limit on that number as a share of the rows: in small tables more would hide the effect of the bins."""
_FREQUENT: Final = 0.02
"""Minimum share of the rows of a heap."""
_MOST_FREQUENT: Final = 10
_ROUNDING: Final = 1e-6
_NEAR_ZERO: Final = 0.25
"""Approximate share of the nonzero values that fall into the narrowest bins beside 0."""
_BESIDE: Final = 3
_HEAP: Final = 3.0
"""Minimum ratio of a heap's rows to the mean count of its neighbours."""
UNROUNDED: Final = 0.9
"""Minimum share of a rounded number's rows that one exact number must hold to be a frequent value."""
_LARGE_HEAP: Final = 0.05
_FEWEST_OF_A_LARGE_HEAP: Final = 200
"""Minimum share and number of the rows of a heap that has a code of its own whatever the other heaps hold. With fewer rows its code adds more noise to
pairs than it keeps of them (docs/decisions/domain-drafts.md)."""
FEWEST_AT_AN_END: Final = 10
"""Minimum rows of a heap at an end of the range."""

Spread = Mapping[float, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The effect of bounds and bins on a column.

    Attributes:
        clamped: Share of rows beyond the bounds.
        shift: Largest move of a quartile before noise, as a share of the distance between its neighbouring quantiles. The neighbours of the
            median are the other two quartiles.
        tail: Largest move of the 5 %, 95 % and 99 % points with noise, as a share of their distance from the median.
        lost: Share of the rows that lose a frequent value, because other values of its bin are drawn in its place.
        sign: Change in the share of rows below zero.
        uneven: Largest difference of the distribution functions of rows and of a draw before noise, less half the share of the value there: heaps
            count as lost.
        ends: The 5 %, 95 % and 99 % points of the rows.
        drawn_ends: The same points of a simulated draw.
    """

    clamped: float
    shift: float
    tail: float
    lost: float
    sign: float
    uneven: float
    ends: tuple[float, ...]
    drawn_ends: tuple[float, ...]

    @property
    def is_tolerated(self) -> bool:
        """Whether bulk, tails, heaps, signs and the distribution function survive."""
        return self.badness <= 1

    @property
    def badness(self) -> float:
        """The largest of the five losses, each relative to its tolerance."""
        return max(
            self.shift / TOLERATED_SHIFT,
            self.tail / TOLERATED_TAIL,
            self.lost / TOLERATED_LOSS,
            self.sign / TOLERATED_SIGN,
            self.uneven / TOLERATED_UNEVEN,
        )


def cost_of(spread: Spread, edges: Sequence[float], unit: float | None) -> Cost:
    """Simulate the effect of bins with increasing edges; `unit` is the distance between possible values, None for continuous ones."""
    values, sums = cumulated(spread)
    total = sums[-1]
    clamped = sum(count for value, count in spread.items() if not edges[0] <= value <= edges[-1]) / total
    counts = _counts(spread, edges)
    drawn = list(accumulate(counts))
    noise = min(_NOISE, _MOST_NOISE * total)
    noisy = list(accumulate(count + noise for count in counts))

    def made(sums: Sequence[float], share: float) -> float:
        value = _drawn_quantile(edges, sums, share)
        return value if unit is None else edges[0] + math.floor((value - edges[0]) / unit + _ROUNDING) * unit

    real = [quantile(values, sums, share) for share in _PROBES]
    least = (edges[-1] - edges[0]) / BINS
    shift = max(
        abs(real[place] - made(drawn, _PROBES[place])) / max(real[place + 1] - real[place - 1], least)
        for place in range(1, len(_PROBES) - 1)
    )
    ends = tuple(quantile(values, sums, share) for share in _ENDS)
    drawn_ends = tuple(made(noisy, share) for share in _ENDS)
    middle = real[len(_PROBES) // 2]
    narrow = max((ends[1] - ends[0]) / BINS, unit or 0.0, 1e-12)
    tail = max(
        max(0.0, abs(one - other) - narrow) / max(abs(one - middle), narrow)
        for one, other in zip(ends, drawn_ends, strict=True)
    )
    lost = sum(share for _, share in _losses(spread, edges, counts, unit))
    sign = _below_zero(edges, counts, unit) - sum(count for value, count in spread.items() if value < 0)
    return Cost(
        clamped=clamped,
        shift=shift,
        tail=tail,
        lost=lost,
        sign=abs(sign) / total,
        uneven=_unevenness(values, sums, edges, drawn, unit),
        ends=ends,
        drawn_ends=drawn_ends,
    )


def _unevenness(
    values: Sequence[float],
    sums: Sequence[int],
    edges: Sequence[float],
    drawn: Sequence[int],
    unit: float | None,
) -> float:
    """The largest difference of two distribution functions, of rows and of an even draw inside bins, in the middle of each value's rows."""
    largest, before = 0.0, 0
    for value, reached in zip(values, sums, strict=True):
        place = _place(value, edges)
        first = drawn[place - 1] if place else 0
        low, high = edges[place], edges[place + 1]
        inside = (min(max(value + (unit or 0.0) / 2, low), high) - low) / (high - low)
        largest = max(largest, abs((before + reached) / 2 - first - inside * (drawn[place] - first)))
        before = reached
    return largest / sums[-1]


def _below_zero(edges: Sequence[float], counts: Sequence[int], unit: float | None) -> float:
    """The expected number of values below zero when values are drawn evenly inside bins."""
    found = 0.0
    for low, high, count in zip(edges, edges[1:], counts, strict=False):
        if low < 0:
            below = min(high, 0.0) - low
            possible = high - low if unit is None else max(high - low, unit)
            found += count * min(1.0, below / possible)
    return found


def with_frequent_numbers(spread: Spread, exact: Spread) -> Spread:
    """Counts of rounded numbers, but of a frequent number itself where nearly all that are rounded to the same are that one.

    Args:
        exact: Counts of unrounded numbers.
    """
    found, fewest = dict(spread), _FREQUENT * sum(spread.values())
    for value, count in exact.items():
        rounded = rounded_number(value)
        if count >= fewest and value not in found and count >= UNROUNDED * found.get(rounded, math.inf):
            found[value] = found.pop(rounded)
    return found


def heaps(spread: Spread, edges: Sequence[float], unit: float | None) -> list[float]:
    """Frequent values that lose more than half of their rows in the bins, ten at most."""
    total = sum(spread.values())
    return sorted(
        value
        for value, share in _losses(spread, edges, _counts(spread, edges), unit)
        if share > spread[value] / total / 2
    )


def large_heaps(
    ordinary: Spread, exact: Spread, edges: Sequence[float], unit: float | None, rows: int
) -> tuple[float, ...]:
    """Heaps of a twentieth of the rows or more that the bins lose; empty if no other values are left.

    Args:
        ordinary: Counts of the values without special ones.
        exact: Counts of unrounded numbers.
        rows: With any value of the column.
    """
    fewest = max(_LARGE_HEAP * rows, _FEWEST_OF_A_LARGE_HEAP)
    found = tuple(
        value
        for value in heaps(ordinary, edges, unit)
        if exact.get(value, 0) >= max(fewest, UNROUNDED * ordinary[value])
    )
    return found if len(found) < len(ordinary) else ()


def _losses(
    spread: Spread, edges: Sequence[float], counts: Sequence[int], unit: float | None
) -> Iterator[tuple[float, float]]:
    """Each heap, with the share of all rows that have it and draw another value."""
    total = sum(spread.values())
    values = sorted(spread)
    for value in sorted(spread, key=lambda value: -spread[value])[:_MOST_FREQUENT]:
        if spread[value] < _FREQUENT * total or not edges[0] <= value <= edges[-1]:
            continue
        if not _is_heap(value, values, spread):
            continue
        place = _place(value, edges)
        width = edges[place + 1] - edges[place]
        drawn = counts[place] * min(1.0, (unit or 0.0) / width)
        yield value, max(0.0, spread[value] - drawn) / total


def heaps_at_ends(spread: Spread) -> list[float]:
    """The smallest and the largest value if they are heaps, such as detection limits and top codes ("this or more")."""
    values = sorted(spread)
    fewest = max(FEWEST_AT_AN_END, _FREQUENT * sum(spread.values()))
    return [
        value
        for value in (values[0], values[-1])
        if spread[value] >= fewest and _is_heap(value, values, spread)
    ]


def _is_heap(value: float, values: Sequence[float], spread: Spread) -> bool:
    """Whether a value has three times as many rows as its neighbours on average."""
    at = bisect_left(values, value)
    beside = [*values[max(0, at - _BESIDE) : at], *values[at + 1 : at + 1 + _BESIDE]]
    return spread[value] * len(beside) >= _HEAP * sum(spread[one] for one in beside)


def _place(value: float, edges: Sequence[float]) -> int:
    return min(max(bisect_right(edges, value) - 1, 0), len(edges) - 2)


def _counts(spread: Spread, edges: Sequence[float]) -> list[int]:
    counts: Counter[int] = Counter()
    for value, count in spread.items():
        counts[_place(value, edges)] += count
    return [counts[place] for place in range(len(edges) - 1)]


def edges_of(lower: float, upper: float, unit: float | None, kind: str) -> list[float]:
    """The edges of the public default rule (`core.plan.domain.columns.bins.default_edges`), approximately."""
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
        edges = [lower + math.floor((edge - lower) / unit + _ROUNDING) * unit for edge in edges]
        edges[-1] += unit
    return sorted(set(edges))


def equal_ratio_edges(
    lower: float, upper: float, unit: float | None, *, start: float | None = None
) -> list[float]:
    """Edges in a constant ratio from `start`, or else from the lower bound, which is then above zero; rounded to three significant digits."""
    first = lower if start is None else start
    count = RATIO_BINS - (first > lower)
    ratio = upper / first
    inner = [float(f"{first * ratio ** (place / count):.3g}") for place in range(count)]
    if unit is not None:
        inner = [float(f"{round(edge / unit) * unit:.12g}") for edge in inner]
    return sorted({lower, upper, *(edge for edge in inner if lower < edge < upper)})


def edges_around_zero(spread: Spread, lower: float, upper: float, unit: float | None) -> list[float]:
    """Edges of bins that are narrow on both sides of 0 and widen towards both bounds, rounded to three significant digits; 0 is an edge.

    The edges are evenly spaced on the inverse hyperbolic sine scale, so edges far from 0 have equal ratios. The scale parameter is a round number
    at or below the first quartile of the absolute nonzero values, of which there is at least one.
    """
    sizes: Counter[float] = Counter()
    for value, count in spread.items():
        if value:
            sizes[abs(value)] += count
    narrow = max(quantile(*cumulated(sizes), _NEAR_ZERO), unit or 0.0)
    power = 10.0 ** math.floor(math.log10(narrow))
    scale = max(factor * power for factor in (1, 2, 5) if factor * power <= narrow * (1 + _ROUNDING))
    first, last = math.asinh(lower / scale), math.asinh(upper / scale)
    below = min(max(round(BINS * first / (first - last)), 1), BINS - 1)
    places = [
        *(first * (1 - place / below) for place in range(below)),
        *(last * place / (BINS - below) for place in range(BINS - below)),
    ]
    inner = [float(f"{scale * math.sinh(place):.3g}") for place in places]
    if unit is not None:
        inner = [float(f"{round(edge / unit) * unit:.12g}") for edge in inner]
    return sorted({lower, upper, *(edge for edge in inner if lower < edge < upper)})


def learnt_edges(spread: Spread, lower: float, upper: float, unit: float | None) -> list[float]:
    """Edges with equally many rows in each bin, close to those that a training learns."""
    values, sums = cumulated(spread)
    cuts = {quantile(values, sums, place / BINS) for place in range(1, BINS)}
    last = upper if unit is None else upper + unit
    return sorted({lower, last, *(cut for cut in cuts if lower < cut < upper)})


def cumulated(spread: Spread) -> tuple[list[float], list[int]]:
    """The sorted values and their cumulative counts."""
    values = sorted(spread)
    return values, list(accumulate(spread[value] for value in values))


def quantile(values: Sequence[float], sums: Sequence[int], share: float) -> float:
    """The value at a quantile of the rows."""
    return values[min(bisect_right(sums, share * sums[-1]), len(values) - 1)]


def _drawn_quantile(edges: Sequence[float], sums: Sequence[float], share: float) -> float:
    rank = share * sums[-1]
    place = min(bisect_right(sums, rank), len(sums) - 1)
    before = sums[place - 1] if place else 0
    inside = (rank - before) / ((sums[place] - before) or 1)
    return edges[place] + inside * (edges[place + 1] - edges[place])
