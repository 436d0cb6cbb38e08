"""Bins of numbers and times: how an ordered column becomes a finite set of codes, by a public rule.

A *grid* is the set of values that may be produced (whole numbers, multiples of 10^-d, days, months ...); a real column
without ``decimals`` has no grid. A value belongs to the bin with the last start not above it; bins are closed
below and open above, the last one is closed. The default rule is part of the schema version
``understudy.domain/1`` and never changes under that name:

* at most 32 grid points between the bounds: one bin per grid point;
* otherwise ``bins`` (default 32) bins of equal width (``spacing`` "linear") or of equal width of
  ``log(1 + (x - lower) / unit)`` (``spacing`` "log"), rounded to grid points; unit is 1 for whole numbers, 10^-d for
  decimals, a thousandth of the range for other reals.

Grid points that are declared special values belong to no bin; a bin that holds nothing else is left out.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

DEFAULT_BINS = 32


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grid:
    """The values a column may take: ``point(t)`` for ticks t = 0 .. ticks-1, increasing in t.

    Attributes:
        offset: Integer tick of the first point in units of ``1 / scale``.
        width: Distance of two points in those units.
        scale: Points are ``(offset + width * t) / scale``; 1 for whole numbers and times.
        ticks: Number of points.
        table: Explicit points (calendar months and the like); offset, width and scale are then ignored.
    """

    offset: int
    width: int
    scale: int
    ticks: int
    table: Integers | None = None

    def points(self, ticks: Integers) -> Floats:
        """The values of some ticks, exact: all are below 2^53."""
        if self.table is not None:
            return self.table[ticks].astype(np.float64)
        whole = (ticks * self.width + self.offset).astype(np.float64)
        return whole if self.scale == 1 else whole / self.scale

    def first_at_or_above(self, values: Floats) -> Integers:
        """The first tick whose point is not below each value; ``ticks`` where there is none."""
        low = np.zeros(len(values), dtype=np.int64)
        high = np.full(len(values), self.ticks, dtype=np.int64)
        for _ in range(int(self.ticks).bit_length() + 1):
            middle = (low + high) // 2
            below = (middle < high) & (self.points(np.minimum(middle, self.ticks - 1)) < values)
            low, high = np.where(below, middle + 1, low), np.where(below, high, middle)
        return low


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bins:
    """Bins in the order of their codes.

    Attributes:
        starts: Lower edges of all intervals, including those without a code; shape (intervals,).
        code_of_interval: Bin number of each interval, -1 for an interval that holds special values only.
        lows: Lower edge of each bin; shape (bins,).
        highs: Upper edge of each bin (excluded, except in the last); shape (bins,).
        grid: The grid, or None for continuous values.
        first_ticks: First tick of each bin; empty without a grid.
        tick_counts: Number of ticks of each bin that are not special values.
        specials: Special values, increasing.
        special_ticks: Ticks that are special values, increasing.
    """

    starts: Floats
    code_of_interval: Integers
    lows: Floats
    highs: Floats
    grid: Grid | None
    first_ticks: Integers
    tick_counts: Integers
    specials: Floats
    special_ticks: Integers

    @property
    def count(self) -> int:
        """Number of bins."""
        return len(self.lows)

    def encode(self, values: Floats) -> Integers:
        """Bin number of each value; values beyond the bounds fall into the outer bins; shape (rows,)."""
        interval = np.searchsorted(self.starts, values, side="right") - 1
        codes: Integers = self.code_of_interval[np.clip(interval, 0, len(self.starts) - 1)]
        return np.maximum(codes, 0)

    def decode(self, bins: Integers, uniforms: Floats) -> Floats:
        """A value drawn uniformly inside each bin; shape (rows,).

        Args:
            bins: Bin numbers, shape (rows,).
            uniforms: Uniform numbers in [0, 1), shape (rows,).
        """
        if self.grid is None:
            lows, highs = self.lows[bins], self.highs[bins]
            values = np.minimum(lows + uniforms * (highs - lows), np.nextafter(highs, lows))
            for special in self.specials:  # a special value has its own code: step off it
                values = np.where(values == special, np.nextafter(special, np.inf), values)
            return values
        counts = self.tick_counts[bins]
        ticks = self.first_ticks[bins] + np.minimum((uniforms * counts).astype(np.int64), counts - 1)
        for special in self.special_ticks:  # step over the special values, in increasing order
            ticks += (ticks >= special) & (self.first_ticks[bins] <= special)
        return self.grid.points(ticks)


def make_bins(*, edges: Floats, grid: Grid | None, specials: Floats) -> Bins:
    """Bins between the given edges (strictly increasing, at least two), without the special values.

    Args:
        edges: Shape (intervals + 1,).
        grid: The grid whose points may be produced, or None.
        specials: Special values; those that are grid points are left out of the bins.
    """
    starts, ends = edges[:-1], edges[1:]
    specials = np.unique(specials)
    if grid is None:
        nothing = np.zeros(0, dtype=np.int64)
        order = np.arange(len(starts))
        return Bins(
            starts=starts, code_of_interval=order, lows=starts, highs=ends, grid=None,
            first_ticks=nothing, tick_counts=nothing, specials=specials, special_ticks=nothing,
        )  # fmt: skip
    first = grid.first_at_or_above(starts)
    stop = np.append(first[1:], grid.ticks)
    special_ticks = np.unique(grid.first_at_or_above(specials))
    special_ticks = special_ticks[special_ticks < grid.ticks]
    special_ticks = special_ticks[np.isin(grid.points(special_ticks), specials)]
    interval_of_special = np.searchsorted(first, special_ticks, side="right") - 1
    counts = stop - first - np.bincount(interval_of_special, minlength=len(first))[: len(first)]
    kept = counts > 0
    return Bins(
        starts=starts, code_of_interval=np.where(kept, np.cumsum(kept) - 1, -1), lows=starts[kept], highs=ends[kept],
        grid=grid, first_ticks=first[kept], tick_counts=counts[kept], specials=specials,
        special_ticks=special_ticks,
    )  # fmt: skip


def default_edges(
    *, lower: float, upper: float, grid: Grid | None, unit: float, bins: int | None, spacing: str
) -> Floats:
    """The public rule of the module docstring.

    Args:
        upper: Upper bound, above ``lower`` unless a grid has a single point.
        grid: The grid of the column, or None.
        unit: Unit of the logarithmic spacing.
        bins: Requested number of bins, or None for the default.
        spacing: "linear" or "log".

    Returns:
        Edges, increasing; with a grid the last edge is one past the last point's interval.
    """
    count = DEFAULT_BINS if bins is None else bins
    steps = np.arange(count + 1) / count
    span = upper - lower
    if spacing == "log" and span > 0:
        steps = np.expm1(steps * np.log1p(span / unit)) / (span / unit)
    if grid is None:
        edges = lower + steps * span
        edges[0], edges[-1] = lower, upper
        return np.unique(edges)
    if grid.ticks <= count:
        ticks = np.arange(grid.ticks)
    else:
        # Rounded first: the last bit of `expm1` differs between machines and must not move an edge.
        ticks = np.unique(np.floor(np.round(steps[:-1] * grid.ticks, 6)).astype(np.int64))
    starts = grid.points(ticks)
    return np.append(starts, max(upper, np.nextafter(starts[-1], np.inf)))
