"""Whether the even bins of a column are crowded, and its bounds and bins if they are, from a tree of noisy counts. Post-processing.

Values that many rows have are taken out of the tree first: what lies beside them decides the bounds. These are narrowed level by level.
Values beyond them, which are few beside the noise, count as the bound.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from scipy.special import ndtri

from core.plan.domain.codec import numbers_of, stand_in_value
from core.plan.domain.columns.bins import DEFAULT_BINS
from core.plan.domain.columns.kinds import NumericColumn, TimeColumn
from models.learnt_domains.bins import (
    Cell,
    FineGrid,
    Floats,
    NoisyTree,
    certain_cells,
    fine_grid,
    inside_of,
    tree_levels,
    with_cells,
    without_heavy,
)
from models.learnt_domains.bounds import between
from models.learnt_domains.tails import CERTAIN, with_cut_tails

CROWDED: Final = 0.9
"""Share of a column's values in few bins from which its bins are crowded."""
FEW_BINS: Final = 4
"""Number of bins that are few, of `DEFAULT_BINS`."""
UNEVEN: Final = 0.1
"""Largest difference of the distribution functions of values and of bins with even densities from which bins are crowded too."""
_NARROW: Final = 0.5
"""Largest part of the declared bounds to which they are narrowed; wider ones are kept."""
_CONTINUED: Final = 1.0
"""Standard deviations that each node of a tail has to hold on average for the tail to go on."""
_FINE: Final = 0.5
"""Bounds are not narrowed further once a node is at most this part of what is certain, and they leave so much of it beside it."""
_FALSE: Final = 1e-4
"""Probability that noise alone makes a node of a level certain."""
_LIKELY: Final = 3.0
"""Standard deviations from which neighbouring nodes together hold values, where no node is certain."""
_TOGETHER: Final = (1, 2, 4, 8)
"""Numbers of neighbouring nodes that are tried."""


def check_grid(column: NumericColumn | TimeColumn) -> FineGrid:
    """Return the grid that the values of a checked column are counted on."""
    grid = column.grid
    return fine_grid(column, finest=0.0 if grid is None else grid.width / grid.scale)


def with_uncrowded_bins(
    column: NumericColumn | TimeColumn, tree: NoisyTree, *, declared_size: int, cut_tails: bool
) -> NumericColumn | TimeColumn:
    """Return the column with bins, and where its own are far too wide bounds, from its noisy counts if its even bins are crowded; else as declared.

    Args:
        column: with its declared bounds.
        tree: noisy counts between them.
        declared_size: units, each of which counts one at most.
        cut_tails: whether tails are cut at growing distances; false for older plans.
    """
    declared = replace(column, learn=())
    cells = certain_cells(tree, DEFAULT_BINS)
    if not is_crowded(declared, tree, cells, declared_size=declared_size):
        return declared
    heavy, taken = list[float](), list[Cell]()
    if isinstance(declared, NumericColumn):
        taken = cells
        cells, heavy = without_heavy(cells, tree, declared, DEFAULT_BINS)
        taken = [old for old, new in zip(taken, cells, strict=True) if new.is_heavy]
    found = _occupied(tree, taken)
    if found is None and not tree.grid.continuous and isinstance(declared, NumericColumn):
        # Few possible values and too few rows beside the heavy ones to choose bins by.
        specials = tuple(sorted({*declared.specials, *heavy}))
        return replace(declared, specials=specials, bin_count=DEFAULT_BINS - len(heavy))
    first, last = found or (min(cell.first for cell in taken), max(cell.last for cell in taken))
    if declared.null.action == "use":
        first, last = _with_stand_in(declared, tree, first, last)
    starts = np.append(tree.grid.starts, np.inf)
    reaches_end = not float(starts[last]) <= declared.upper
    low, high = float(starts[first]), float(declared.upper) if reaches_end else float(starts[last])
    bounded = replace(declared, bin_count=DEFAULT_BINS)
    if high - low <= _NARROW * (declared.upper - declared.lower):
        bounded = replace(between(bounded, low, high, reaches_end=reaches_end), outside="clamp")
        cells = inside_of(cells, tree, first, last)
    cells, *tails = with_cut_tails(cells, tree) if cut_tails else (cells,)
    return with_cells(bounded, tree, cells, heavy, *tails)


def _with_stand_in(
    column: NumericColumn | TimeColumn, tree: NoisyTree, first: int, last: int
) -> tuple[int, int]:
    """Widen the leaves from `first` to before `last` so that what stands for a missing value stays between the bounds."""
    value = float(numbers_of(column, stand_in_value(column))[0])
    if value in column.specials:
        return first, last
    leaf = int(np.searchsorted(tree.grid.starts, value, side="right")) - 1
    return min(first, leaf), max(last, leaf + 1)


def is_crowded(
    column: NumericColumn | TimeColumn, tree: NoisyTree, cells: list[Cell], *, declared_size: int
) -> bool:
    """Whether few of the column's even bins hold nearly all its values, or values lie very unevenly within bins.

    Shares are of the declared number of units, or of as many values as the noisy counts allow.
    """
    parts = _parts(column, tree, cells)
    counts, stds = (np.array([getattr(cell, what) for cell in cells]) for what in ("count", "std"))
    is_certain = counts > CERTAIN * stds
    certain = np.where(is_certain, counts, 0.0)
    if not is_certain.any():
        return False
    most = min(float(counts.sum() + np.linalg.norm(stds)), declared_size)
    fullest = parts[np.argsort(-(parts @ certain), kind="stable")[:FEW_BINS]].sum(axis=0)
    if float(fullest @ counts + np.linalg.norm(fullest * stds)) >= CROWDED * most:
        return True
    ends = np.append(tree.grid.starts, np.inf)[[cell.last for cell in cells]]
    edges = np.append(column.bins.lows, column.upper)
    even = np.interp(ends, edges, np.append(0.0, np.cumsum(parts @ certain)))
    apart = float(np.abs(np.cumsum(certain) - even).max())
    return apart - float(np.linalg.norm(stds[is_certain])) >= UNEVEN * most


def _parts(column: NumericColumn | TimeColumn, tree: NoisyTree, cells: list[Cell]) -> Floats:
    """(bins, cells) the part of each cell that lies in each of the column's even bins."""
    starts = np.append(tree.grid.starts, np.inf)
    lows = column.bins.lows
    parts = np.zeros((len(lows), len(cells)))
    for place, cell in enumerate(cells):
        begin, end = float(starts[cell.first]), min(float(starts[cell.last]), float(column.upper))
        widths = np.diff(np.clip(np.append(lows, column.upper), begin, max(end, begin)))
        if (whole := float(widths.sum())) > 0:
            parts[:, place] = widths / whole
        else:
            parts[max(int(np.searchsorted(lows, begin, side="right")) - 1, 0), place] = 1.0
    return parts


@dataclass(frozen=True, slots=True, eq=False)
class _Rest:
    """One level of the tree without the heavy values."""

    size: int
    counts: Floats
    stds: Floats


def _occupied(tree: NoisyTree, taken: list[Cell]) -> tuple[int, int] | None:
    """The first leaf of those that hold the certain values and the tails beyond them, and the one after the last.

    Beside heavy values little may be certain: where no coarse node is, the likeliest interval is added. None where there is neither.

    Args:
        tree: noisy counts.
        taken: leaves of heavy values.
    """
    levels = [_rest(level.size, level.counts, level.std, tree, taken) for level in tree_levels(tree)]
    if not taken:
        return _certain(levels, tree) or (0, tree.grid.leaves)
    top = next(level for level in levels if level.size == tree.grid.sizes[0])
    likely = None if bool((top.counts > _sure(top)).any()) else _likeliest(top, tree)
    found = [one for one in (_certain(levels, tree), likely) if one is not None]
    return (min(first for first, _ in found), max(last for _, last in found)) if found else None


def _rest(size: int, counts: Floats, std: float, tree: NoisyTree, taken: list[Cell]) -> _Rest:
    left, variances = counts.copy(), np.full(len(counts), std**2)
    for cell in taken:
        left[cell.first // size] -= tree.counts[-1][cell.first]
        variances[cell.first // size] += tree.std**2
        if size == 1:
            left[cell.first], variances[cell.first] = 0.0, std**2
    return _Rest(size, left, np.sqrt(variances))


def _certain(levels: list[_Rest], tree: NoisyTree) -> tuple[int, int] | None:
    """The bounds of certain nodes, narrowed level by level until nodes are fine beside what is certain; a level without any narrows nothing."""
    reach = np.append(0.0, np.cumsum(tree.grid.widths))
    outer = first, last = 0, tree.grid.leaves
    certain: float | None = None
    for level in levels:
        begin, end = first // level.size, min(-(-last // level.size), len(level.counts))
        counts, stds = level.counts[begin:end], level.stds[begin:end]
        sure = np.flatnonzero(counts > _sure(level)[begin:end])
        if not len(sure):
            continue
        top = _reached(counts, stds, int(sure[-1]))
        bottom = len(counts) - 1 - _reached(counts[::-1], stds[::-1], len(counts) - 1 - int(sure[0]))
        outer = first, last
        first, last = max(first, (begin + bottom) * level.size), min(last, (begin + top + 1) * level.size)
        begins = np.minimum((begin + np.array([sure[0], sure[-1]])) * level.size, tree.grid.leaves)
        ends = np.minimum(begins + level.size, tree.grid.leaves)
        certain = float(reach[ends[1]] - reach[begins[0]])
        if float((reach[ends] - reach[begins]).max()) <= _FINE * certain:
            break
    if certain is None:
        return None
    # What lies beside may hold a tail that no node of the last level shows.
    low = int(np.searchsorted(reach, float(reach[first]) - _FINE * certain, side="right")) - 1
    high = int(np.searchsorted(reach, float(reach[last]) + _FINE * certain))
    return max(outer[0], low, 0), min(outer[1], high)


def _sure(level: _Rest) -> Floats:
    """The counts above which nodes are certain."""
    found: Floats = -ndtri(_FALSE / len(level.counts)) * level.stds
    return found


def _likeliest(level: _Rest, tree: NoisyTree) -> tuple[int, int] | None:
    """The bounds of the neighbouring nodes of a level that hold most beside their noise, if they hold clearly more."""
    best, found = _LIKELY, None
    for many in _TOGETHER:
        if many > len(level.counts):
            break
        sums, variances = (
            np.convolve(values, np.ones(many), mode="valid") for values in (level.counts, level.stds**2)
        )
        scores = sums / np.sqrt(variances)
        place = int(scores.argmax())
        if float(scores[place]) > best:
            best, found = float(scores[place]), (place * level.size, (place + many) * level.size)
    return None if found is None else (found[0], min(found[1], tree.grid.leaves))


def _reached(counts: Floats, stds: Floats, last: int) -> int:
    """The last node of a tail beyond `last`.

    It goes on to where the nodes beyond together exceed what each has to hold by the most, and as long as all that follow hold clearly more
    than their noise.
    """
    counts, stds = counts[last + 1 :], stds[last + 1 :]
    if not len(counts):
        return last
    above = np.cumsum(counts - _CONTINUED * stds)
    reached = int(above.argmax()) + 1 if above.max() > 0 else 0
    following = np.cumsum(counts[::-1])[::-1] > _LIKELY * np.sqrt(np.cumsum(stds[::-1] ** 2)[::-1])
    return last + max(reached, int(np.flatnonzero(following)[-1]) + 1 if following.any() else 0)
