"""Bounds of a column from noisy counts in public cells that cover all values of its type. Post-processing."""

from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from core.plan.domain.columns.kinds import NumericColumn, TimeColumn

Floats = npt.NDArray[np.float64]

SURE: Final = 4.5
"""A count above this many standard deviations is certain: noise alone reaches it in one of 190 tables of 1,500 empty cells."""
_TOGETHER: Final = (1, 4, 16, 64)
"""Number of neighbouring cells that are summed if no single one stands out."""
_MARGIN: Final = 4
"""Extra cells where bins are learnt too, which then tell what lies in them: half an octave for the tail, never across zero."""
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
    """Return the column bounded by the tightest cells that hold all certain values; by its own bounds if there are none.

    Args:
        column: as declared.
        edges: of the cells, shape (cells + 1,).
        noisy: counts, shape (cells,).
        std: of their noise.
    """
    rest = tuple(what for what in column.learn if what != "bounds")
    sure = _sure(noisy, std)
    if sure is None:
        return replace(column, learn=rest)
    last = _reached(noisy, sure[1], std)
    first = len(noisy) - 1 - _reached(noisy[::-1], len(noisy) - 1 - sure[0], std)
    if rest and isinstance(column, NumericColumn):
        zero = int(np.searchsorted(edges, 0.0))
        last = min(last + _MARGIN, len(noisy) - 1 if edges[last + 1] > 0 else max(zero - 1, last))
        first = max(first - _MARGIN, 0 if edges[first] < 0 else min(zero, first))
    low, high = edges[first], edges[last + 1]
    if isinstance(column, TimeColumn):
        high = high if last + 2 == len(edges) else high - 1
        return replace(column, learn=rest, lower=int(low), upper=int(high))
    if column.integer:
        high = high if last + 2 == len(edges) else np.ceil(high) - 1
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
    return replace(column, learn=rest, lower=low, upper=high)


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


def _reached(noisy: Floats, last: int, std: float) -> int:
    """The last cell of a tail: extended while the sum of counts beyond `last` is certain, to where it is most certain."""
    while len(beyond := noisy[last + 1 :]):
        scores = np.cumsum(beyond) / np.sqrt(np.arange(1, len(beyond) + 1))
        if scores.max() <= SURE * std:
            break
        last += int(scores.argmax()) + 1
    return last
