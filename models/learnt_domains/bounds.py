"""Bounds of a column from noisy counts in public cells that cover all values of its type. Post-processing."""

from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from core.plan.domain.columns.kinds import NumericColumn, TimeColumn

Floats = npt.NDArray[np.float64]

SURE: Final = 5.0
"""A count above this many standard deviations is certain: noise alone reaches it in one of 2,300 columns of 1,500 empty cells."""
_TOGETHER: Final = (1, 4, 16, 64)
"""Number of neighbouring cells that are summed if no single one stands out."""
_LIKELY: Final = (1, 2, 4, 8, 16, 32, 64, 128)
"""Widths in cells among which the likeliest interval is sought where nothing is certain and no bound is declared."""
_CONTINUED: Final = 0.5
"""Standard deviations that each cell of a tail has to hold on average for the tail to go on; docs/rules-study.md has the measurements."""
_CONTINUED_YEARS: Final = 3.0
"""The same of years, which are few and hold much: one too many would be seen."""
_MARGIN: Final = 1
"""Extra cells where bins are learnt too, which then show what lies in them; never across zero."""
_SMALLEST, _LARGEST = -40, 53
"""Octaves of numbers: from 2^-40 to 2^53, to either side of zero."""
_PARTS = 8
"""Cells of equal width in one octave."""


def octave_edges() -> Floats:
    """Edges of the cells of all numbers, increasing: eighths of octaves to either side of zero, each an exact float."""
    eighths = 1.0 + np.arange(_PARTS) / _PARTS
    positive = np.concatenate([2.0**octave * eighths for octave in range(_SMALLEST, _LARGEST)])
    positive = np.append(positive, 2.0**_LARGEST)
    return np.concatenate([-positive[::-1], [0.0], positive])


def bound_cells(column: NumericColumn | TimeColumn) -> Floats:
    """Edges of the public cells between the outermost bounds of a column: parts of octaves, or years."""
    if isinstance(column, NumericColumn):
        edges = octave_edges()
    else:
        years = np.arange(1, 10000).astype("U4")
        starts = np.char.add(np.char.zfill(years, 4), "-01-01").astype("datetime64[D]").astype(np.int64)
        edges = starts.astype(np.float64) * (86400 // column.seconds_per_unit)
    inner = edges[(edges > column.lower) & (edges < column.upper)]
    return np.concatenate([[column.lower], inner, [column.upper]])


def with_bounds(
    column: NumericColumn | TimeColumn, edges: Floats, noisy: Floats, std: float
) -> NumericColumn | TimeColumn:
    """Return the column bounded by the tightest cells that hold all certain values and the tails beyond them.

    Where no value is certain it keeps the bounds that it was declared with; without any, it gets the likeliest interval.

    Args:
        edges: of the cells, shape (cells + 1,).
        noisy: counts, shape (cells,).
        std: of their noise.
    """
    rest = tuple(what for what in column.learn if what != "bounds")
    sure = _sure(noisy, std)
    if sure is None and _is_unbounded(column):
        sure = _likeliest(noisy)
    if sure is None:
        return replace(column, learn=rest)
    each = std * (_CONTINUED if isinstance(column, NumericColumn) else _CONTINUED_YEARS)
    last = _reached(noisy, sure[1], each)
    first = len(noisy) - 1 - _reached(noisy[::-1], len(noisy) - 1 - sure[0], each)
    if rest and isinstance(column, NumericColumn):
        zero = int(np.searchsorted(edges, 0.0))
        last = min(last + _MARGIN, len(noisy) - 1 if edges[last + 1] > 0 else max(zero - 1, last))
        first = max(first - _MARGIN, 0 if edges[first] < 0 else min(zero, first))
    return between(
        replace(column, learn=rest), edges[first], edges[last + 1], reaches_end=last + 2 == len(edges)
    )


def between(
    column: NumericColumn | TimeColumn, low: float, high: float, *, reaches_end: bool
) -> NumericColumn | TimeColumn:
    """Return the column bounded by its values from `low` on and below `high`, within its own bounds.

    Args:
        reaches_end: whether `high` is the column's own upper bound, which is a value of it.
    """
    if isinstance(column, TimeColumn):
        return replace(column, lower=int(low), upper=int(high if reaches_end else high - 1))
    if column.integer:
        high = high if reaches_end else np.ceil(high) - 1
        low = min(np.ceil(low), high)
    elif column.decimals is not None:
        scale = 10**column.decimals
        low, high = np.floor(low * scale) / scale, np.ceil(high * scale) / scale
    if column.multiple_of is not None:  # so that a multiple lies between the bounds
        scale = 10 ** (column.decimals or 0)
        width = round(column.multiple_of * scale)
        low, high = (
            np.floor(low * scale / width) * width / scale,
            np.ceil(high * scale / width) * width / scale,
        )
    low, high = max(float(low), column.lower), min(float(high), column.upper)
    return replace(column, lower=low, upper=high)


def _sure(noisy: Floats, std: float) -> tuple[int, int] | None:
    """The first and last cell with certain values: single cells, or as few neighbours together as stand out."""
    for count in _TOGETHER:
        if count > len(noisy):
            break
        sums = np.convolve(noisy, np.ones(count), mode="valid")
        sure = np.flatnonzero(sums > SURE * std * np.sqrt(count))
        if len(sure):
            return int(sure[0]), int(sure[-1]) + count - 1
    return None


def _is_unbounded(column: NumericColumn | TimeColumn) -> bool:
    """Whether a column was declared without bounds, so that its own are those of its type."""
    return isinstance(column, NumericColumn) and column.upper - column.lower > 2.0 ** (_LARGEST - 1) / 10 ** (
        column.decimals or 0
    )


def _likeliest(noisy: Floats) -> tuple[int, int]:
    """The first and last cell of the interval whose sum stands out most."""
    best, found = -np.inf, (0, len(noisy) - 1)
    for count in _LIKELY:
        if count > len(noisy):
            break
        scores = np.convolve(noisy, np.ones(count), mode="valid") / np.sqrt(count)
        place = int(scores.argmax())
        if scores[place] > best:
            best, found = float(scores[place]), (place, place + count - 1)
    return found


def _reached(noisy: Floats, last: int, each: float) -> int:
    """The last cell of a tail: extended to where the cells beyond `last` together exceed `each` per cell by the most."""
    above = np.cumsum(noisy[last + 1 :] - each)
    return last + int(above.argmax()) + 1 if len(above) and above.max() > 0 else last
