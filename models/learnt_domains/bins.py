"""Bins, heavy values and decimals of a column from a tree of noisy counts. Post-processing.

The tree has a fine public grid between the column's bounds as its leaves. A node is opened if it certainly holds more than a
quarter of a bin's rows, so cells are fine where the rows are dense. Neighbouring cells are then merged, the most similar
first: the cost of a merge is the likelihood lost by an even density, and a little for the rows that end in one bin. So a stretch
without rows stays a bin of its own, and so does a single value that many rows have; where the grid is continuous such a value becomes
a special value. Where the noise hides all but a few cells, these are cut evenly: the counts that follow show what the tree does not.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from core.plan.domain.columns.kinds import NumericColumn, TimeColumn
from models.learnt_domains.bounds import SURE, octave_edges

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

SIZES: Final = (512, 64, 8, 1)
"""Leaves in a node of each level; as many levels as `core.plan.learning.LEVELS`."""
LARGE_SIZES: Final = (4096, 512, 32, 1)
"""The same for grids of which the first level would have too many nodes for those of a small table to stand out of the noise."""
_MOST_TOPS: Final = 64
_SUMMED: Final = 8
"""Nodes of the first level, and of sums above it, that are summed."""
MOST_TICKS: Final = 2**18
"""Values of a column up to which each is a leaf."""
_FEWEST_TOPS: Final = 32
_MOST_HEAVY: Final = 16
_OPENED: Final = 4.0
"""Standard deviations of noise above which a node is opened."""
_HEAVY: Final = 5.5
"""Standard deviations above which a count opens every node that it lies in: none of 2^18 empty leaves in 200 tables has one."""
_MERGED: Final = 4.0
"""A cell below this many standard deviations counts as empty at first; empty neighbours become one cell."""
_GROWTH: Final = 4.0
"""Ratio of the width of each cell of a sparse region to the one before, and of the first to a part of its dense neighbour."""
_DENSER: Final = 8.0
"""A sparse cell is cut next to a neighbour that is this many times as dense."""
_KEPT_BACK: Final = 4
"""One code in so many is reserved for such cells."""
_LONGER_DECIMALS: Final = 0.1
"""Largest share of the numbers, up to one deviation of noise, that may have more decimals than synthetic ones."""
_LARGEST: Final = 2.0**53


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FineGrid:
    """Leaves of the tree, a multiple of those in a node of the first level.

    Args:
        starts: where each leaf begins, increasing; infinite beyond the last.
        widths: of each leaf, in numbers of values or as a length.
        continuous: whether a leaf is an interval rather than one value.
        sizes: leaves in a node of each level.
    """

    starts: Floats
    widths: Floats
    continuous: bool
    sizes: tuple[int, ...]

    @property
    def leaves(self) -> int:
        """Their number."""
        return len(self.starts)

    def leaf_of(self, numbers: Floats) -> Integers:
        """The leaf of each number between the bounds."""
        found: Integers = np.maximum(np.searchsorted(self.starts, numbers, side="right") - 1, 0)
        return found


def fine_grid(column: NumericColumn | TimeColumn, *, finest: float = 0.0) -> FineGrid:
    """Return the grid between a column's bounds: every value, every few of a time's, or parts of octaves.

    Args:
        finest: parts of octaves that lie nearer to zero are one.
    """
    grid = column.grid
    if grid is not None and (grid.ticks <= MOST_TICKS or isinstance(column, TimeColumn)):
        each = -(-grid.ticks // MOST_TICKS)
        ticks = np.arange(0, grid.ticks, each)
        sizes = _sizes(len(ticks))
        starts = _padded(grid.points(ticks), sizes[0])
        widths = np.zeros(len(starts))
        widths[: len(ticks)] = np.minimum(each, grid.ticks - ticks)
        return FineGrid(starts=starts, widths=widths, continuous=False, sizes=sizes)
    edges = octave_edges()
    edges = edges[(np.abs(edges) >= finest) | (edges == 0)]
    edges = np.concatenate(
        [[column.lower], edges[(edges > column.lower) & (edges < column.upper)], [column.upper]]
    )
    while len(edges) - 1 < _FEWEST_TOPS:
        edges = _halved(edges)
    for _ in range(SIZES[0].bit_length() - 1):
        edges = _halved(edges)
    sizes = _sizes(len(edges) - 1)
    if missing := -(len(edges) - 1) % sizes[0]:
        # The last leaves are cut, so that the last node is a whole one.
        edges = np.concatenate([edges[: -1 - missing], _halved(edges[-1 - missing :])])
    return FineGrid(starts=edges[:-1], widths=np.diff(edges), continuous=True, sizes=sizes)


def _sizes(leaves: int) -> tuple[int, ...]:
    return LARGE_SIZES if leaves > _MOST_TOPS * SIZES[0] else SIZES


def _halved(edges: Floats) -> Floats:
    made = np.empty(2 * len(edges) - 1)
    made[::2] = edges
    made[1::2] = edges[:-1] + (edges[1:] - edges[:-1]) / 2
    return made


def _padded(starts: Floats, size: int) -> Floats:
    return np.concatenate([starts, np.full(-len(starts) % size, np.inf)])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisyTree:
    """Noisy counts of all levels.

    Args:
        grid: the leaves.
        counts: (leaves / size,) of each level.
        std: of the noise on every count.
    """

    grid: FineGrid
    counts: tuple[Floats, ...]
    std: float

    @property
    def total(self) -> float:
        """All rows, at least 1."""
        return max(float(self.counts[0].sum()), 1.0)


@dataclass(slots=True)
class Cell:
    """Neighbouring leaves.

    Args:
        first: the first leaf.
        last: the one after the last.
        count: noisy.
        width: of all leaves.
        std: of the count's noise.
        is_cut: whether it was cut off a sparse cell.
        is_heavy: whether a heavy value was taken out of it.
    """

    first: int
    last: int
    count: float
    width: float
    std: float = 0.0
    is_cut: bool = False
    is_heavy: bool = False


def with_bins(
    column: NumericColumn | TimeColumn,
    tree: NoisyTree,
    *,
    decimals: Floats | None,
    decimals_std: float,
) -> NumericColumn | TimeColumn:
    """Return the column with edges, special values and decimals from its noisy counts.

    Args:
        column: with its bounds; `bin_count` is how many codes bins and heavy values may have.
        tree: noisy counts.
        decimals: noisy counts of numbers with 0 to 9 decimals and with more, or None where they are not learnt.
        decimals_std: of their noise.
    """
    most = column.bin_count or 1
    cells = certain_cells(tree, most)
    heavy: list[float] = []
    if isinstance(column, NumericColumn) and tree.grid.continuous:
        cells, heavy = without_heavy(cells, tree, column, most)
    if isinstance(column, NumericColumn) and decimals is not None:
        found = _decimals(column, decimals, decimals_std)
        column = column if found is None else replace(column, decimals=found)
    return with_cells(column, tree, cells, heavy)


def with_cells(
    column: NumericColumn | TimeColumn,
    tree: NoisyTree,
    cells: list[Cell],
    heavy: Sequence[float],
    *tails: list[Cell],
) -> NumericColumn | TimeColumn:
    """Return the column with edges from the cells between its bounds, and with its heavy values as special ones.

    Args:
        column: with its bounds; `bin_count` is how many codes bins and heavy values may have.
        tree: that the cells are of.
        cells: in order, without the heavy values.
        heavy: values that many rows have.
        *tails: cells to either side, each of which is a bin or several.
    """
    most, heavy = column.bin_count or 1, list(heavy)
    own = most - len(heavy) - sum(map(len, tails))
    merged = _halves(_spread(_merged(cells, own - own // _KEPT_BACK, tree.total), own, tree), own, tree)
    merged = sorted(itertools.chain(merged, *tails), key=lambda cell: cell.first)
    merged = _halves(merged, most - len(heavy), tree)
    starts = np.asarray([tree.grid.starts[cell.first] for cell in merged])
    if isinstance(column, TimeColumn):
        inner = starts[(starts > column.lower) & (starts < column.upper)]
        edges = _edges(column, inner)
        return replace(column, learn=(), bin_count=None, edges=tuple(int(edge) for edge in edges))
    if not tree.grid.continuous and starts[-1] == column.upper > column.lower:
        # A bin of the last value alone cannot be written with edges, a special value can.
        heavy.append(float(column.upper))
    learnt = replace(
        column, learn=(), bin_count=None, spacing="linear",
        specials=(*column.specials, *sorted(set(heavy) - set(column.specials))),
    )  # fmt: skip
    return _with_edges(learnt, starts)


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    """Counts of one level, each node over several of the next: noisy ones with their deviation, and whether one below stands out."""

    size: int
    counts: Floats
    std: float
    stands_out: npt.NDArray[np.bool_]


def tree_levels(tree: NoisyTree) -> list[_Level]:
    """The released levels, and above them sums of eight, down to a handful of nodes."""
    sizes = tree.grid.sizes
    nothing = np.zeros(len(tree.counts[-1]), dtype=np.bool_)
    found = [_Level(sizes[-1], tree.counts[-1], tree.std, nothing)]
    for size, counts in zip(sizes[-2::-1], tree.counts[-2::-1], strict=True):
        found.insert(0, _Level(size, counts, tree.std, _inside(found[0], size // found[0].size)))
    while len(found[0].counts) > _SUMMED:
        below = found[0]
        padding = -len(below.counts) % _SUMMED
        sums = np.append(below.counts, np.zeros(padding)).reshape(-1, _SUMMED).sum(axis=1)
        std = below.std * math.sqrt(_SUMMED)
        found.insert(0, _Level(below.size * _SUMMED, sums, std, _inside(below, _SUMMED)))
    return found


def _inside(level: _Level, children: int) -> npt.NDArray[np.bool_]:
    """Whether a node among all children of each node above stands out of the noise by itself."""
    flags = np.zeros(len(level.counts) + -len(level.counts) % children, dtype=np.bool_)
    flags[: len(level.counts)] = level.stands_out | (level.counts > _HEAVY * level.std)
    return np.asarray(flags.reshape(-1, children).any(axis=1), dtype=np.bool_)


def certain_cells(tree: NoisyTree, most: int) -> list[Cell]:
    """The nodes that are not opened, in order, with neighbours that seem empty merged."""
    reach = np.append(0.0, np.cumsum(tree.grid.widths))
    levels = tree_levels(tree)

    def below(depth: int, node: int) -> list[Cell]:
        level = levels[depth]
        if node >= len(level.counts):
            return []
        count, first = float(level.counts[node]), node * level.size
        last = min(first + level.size, tree.grid.leaves)
        whole = Cell(first, last, count, float(reach[last] - reach[first]), level.std)
        opens = count > max(_OPENED * level.std, tree.total / (4 * most)) or bool(level.stands_out[node])
        if depth + 1 == len(levels) or not opens:
            return [whole] if whole.width else []
        many = level.size // levels[depth + 1].size
        children = (below(depth + 1, child) for child in range(node * many, (node + 1) * many))
        found = _without_empty([cell for cells in children for cell in cells])
        # Where nothing stands out inside, the node's own count is more precise.
        return [whole] if len(found) == 1 else found

    tops = (below(0, node) for node in range(len(levels[0].counts)))
    return _without_empty([cell for cells in tops for cell in cells])


def inside_of(cells: list[Cell], tree: NoisyTree, first: int, last: int) -> list[Cell]:
    """The parts of the cells among some leaves, each with all of its cell's count."""
    reach = np.append(0.0, np.cumsum(tree.grid.widths))
    kept: list[Cell] = []
    for cell in cells:
        begin, end = max(cell.first, first), min(cell.last, last)
        if begin < end and (width := float(reach[end] - reach[begin])):
            kept.append(replace(cell, first=begin, last=end, width=width))
    return kept


def without_heavy(
    cells: list[Cell], tree: NoisyTree, column: NumericColumn, most: int
) -> tuple[list[Cell], list[float]]:
    """Take the values that many rows have out of their leaves; each is the value or the roundest number of its leaf."""
    enough = max(_HEAVY * tree.std, tree.total / most)
    one_value = [
        cell.last - cell.first == 1 or (not tree.grid.continuous and cell.width == 1) for cell in cells
    ]
    single = [cell for cell, alone in zip(cells, one_value, strict=True) if alone and cell.count > enough]
    heaviest = sorted(single, key=lambda cell: -cell.count)[: min(_MOST_HEAVY, most // 2)]
    values: list[float] = []
    for cell in heaviest:
        start = float(tree.grid.starts[cell.first])
        if not tree.grid.continuous:
            values.append(start)
            continue
        end = (
            tree.grid.starts[cell.last]
            if cell.last < tree.grid.leaves
            else np.nextafter(column.upper, np.inf)
        )
        values.append(roundest(start, float(end)))
    taken = {cell.first for cell in heaviest}
    kept = [replace(cell, count=0.0, is_heavy=True) if cell.first in taken else cell for cell in cells]
    return kept, values


def roundest(low: float, end: float) -> float:
    """The number in [low, end) with the fewest digits; in the middle of several."""
    bottom, top = Fraction(low), Fraction(end)
    if bottom <= 0 < top:
        return 0.0
    for digits in range(-17, 330):
        step = Fraction(10) ** -digits
        first, last = -(-bottom // step), -(-top // step) - 1
        if first <= last:
            return float((first + last) // 2 * step)
    return low


def _without_empty(cells: list[Cell]) -> list[Cell]:
    """Merge neighbours that seem empty, so that their small counts add up."""
    kept: list[Cell] = []
    was_empty = False
    for cell in cells:
        is_empty = cell.count < _MERGED * cell.std
        if is_empty and was_empty:
            last = kept[-1]
            std = math.hypot(last.std, cell.std)
            kept[-1] = Cell(last.first, cell.last, last.count + cell.count, last.width + cell.width, std)
        else:
            kept.append(cell)
        was_empty = is_empty
    return kept


def _merged(cells: list[Cell], most: int, total: float) -> list[Cell]:
    """Merge the most similar neighbours until at most so many are left."""
    left = [replace(cell, count=max(cell.count, 0.0)) for cell in cells]
    costs = [_cost(one, other, total) for one, other in itertools.pairwise(left)]
    while len(left) > max(most, 1):
        i = int(np.argmin(costs))
        one, other = left[i], left[i + 1]
        left[i : i + 2] = [
            Cell(
                one.first,
                other.last,
                one.count + other.count,
                one.width + other.width,
                is_heavy=one.is_heavy or other.is_heavy,
            )
        ]
        del costs[i]
        for j in (i - 1, i):
            if 0 <= j < len(costs):
                costs[j] = _cost(left[j], left[j + 1], total)
    return left


def _spread(cells: list[Cell], most: int, tree: NoisyTree) -> list[Cell]:
    """Cut sparse cells next to dense ones, at growing distances from them, until there are `most` cells.

    A few rows in a wide cell would be spread all over it. The job's later counts locate them among the new cells.
    """
    reach = np.append(0.0, np.cumsum(tree.grid.widths))
    while len(cells) < most:
        best, place, after = _GROWTH, -1, False
        for here, cell in enumerate(cells):
            for other, is_after in ((here - 1, True), (here + 1, False)):
                ratio = cell.width / _scale(cells, here, other)
                if ratio > best and cell.last - cell.first > 1:
                    best, place, after = ratio, here, is_after
        if place < 0:
            break
        cell = cells[place]
        start, stop, wanted = float(reach[cell.first]), float(reach[cell.last]), _GROWTH * cell.width / best
        cut = int(np.searchsorted(reach, start + wanted if after else stop - wanted))
        cut = min(max(cut, cell.first + 1), cell.last - 1)
        near, far = (cell.first, cut), (cut, cell.last)
        near, far = (near, far) if after else (far, near)
        made = Cell(*near, 0.0, float(reach[near[1]] - reach[near[0]]), is_cut=True)
        rest = Cell(*far, cell.count, float(reach[far[1]] - reach[far[0]]))
        cells[place : place + 1] = [made, rest] if after else [rest, made]
    return cells


def _halves(cells: list[Cell], most: int, tree: NoisyTree) -> list[Cell]:
    """Cut cells of more rows than a bin's share in half, the fullest first, until there are `most` cells."""
    reach = np.append(0.0, np.cumsum(tree.grid.widths))
    if not any(cell.count > 0 for cell in cells):
        # The noise hides all rows, so they may be anywhere.
        cells = [replace(cell, count=tree.total * cell.width / float(reach[-1])) for cell in cells]
    while len(cells) < most:
        divisible = [place for place, cell in enumerate(cells) if cell.last - cell.first > 1]
        place = max(divisible, key=lambda here: cells[here].count, default=-1)
        if place < 0 or cells[place].count * most <= tree.total:
            break
        cell = cells[place]
        middle = float(reach[cell.first] + reach[cell.last]) / 2
        cut = min(max(int(np.searchsorted(reach, middle)), cell.first + 1), cell.last - 1)
        cells[place : place + 1] = [
            Cell(first, last, cell.count / 2, float(reach[last] - reach[first]))
            for first, last in ((cell.first, cut), (cut, cell.last))
        ]
    return cells


def _scale(cells: list[Cell], here: int, other: int) -> float:
    """The width that a sparse cell is cut by from the side of another: of that, or a part of all dense ones in a row there.

    Infinite where that is no denser, or there is none.
    """
    if not 0 <= other < len(cells) or cells[here].is_cut:
        return math.inf
    if cells[other].is_cut:
        return cells[other].width
    step = 1 if other > here else -1
    enough = _DENSER * max(cells[here].count, 0.0) / cells[here].width
    width = 0.0
    while 0 <= other < len(cells) and _is_dense(cells[other], enough):
        width += cells[other].width
        other += step
    return max(width / _GROWTH, cells[here + step].width) if width else math.inf


def _is_dense(cell: Cell, enough: float) -> bool:
    return not cell.is_cut and (cell.is_heavy or cell.count / cell.width > enough)


def _cost(one: Cell, other: Cell, total: float) -> float:
    """Loss from merging two cells: log-likelihood under even densities, plus the value of keeping two large cells apart."""
    apart = _likelihood(one.count, one.width) + _likelihood(other.count, other.width)
    together = _likelihood(one.count + other.count, one.width + other.width)
    return apart - together + one.count * other.count / total


def _likelihood(rows: float, width: float) -> float:
    return rows * math.log(rows / width) if rows > 0 else 0.0


def _decimals(column: NumericColumn, counts: Floats, std: float) -> int | None:
    """The fewest decimals beyond which few numbers are seen; None where there is no such number, or rows are too few."""
    total = float(counts.sum())
    largest = max(abs(column.lower), abs(column.upper))
    for digits in range(len(counts) - 1):
        longer, shorter = counts[digits + 1 :], counts[: digits + 1]
        few = float(longer.sum()) <= _LONGER_DECIMALS * total + std * math.sqrt(len(longer))
        # Without numbers that surely have so few, the noise may hide all: then none are rounded.
        sure = float(shorter.sum()) > SURE * std * math.sqrt(len(shorter))
        if few and sure and largest * 10**digits <= _LARGEST:
            return digits
    return None


def _edges(column: NumericColumn | TimeColumn, inner: Floats) -> Floats:
    if not len(inner) and column.lower == column.upper:
        return inner
    return np.unique(np.concatenate([[column.lower], inner, [column.upper]]))


def _with_edges(column: NumericColumn, starts: Floats) -> NumericColumn:
    """Put edges on values of the grid, none below its second: nothing starts there. Leave out those between which are only special values."""
    grid = column.grid
    if grid is not None and grid.ticks < 1:
        return _with_edges(replace(column, decimals=None, multiple_of=None), starts)
    if grid is not None:
        ticks = grid.first_at_or_above(starts[starts >= grid.points(np.array([1]))[0]])
        starts = grid.points(ticks[ticks < grid.ticks])
    edges = _edges(column, starts[(starts > column.lower) & (starts < column.upper)])
    while True:
        made = replace(column, edges=tuple(float(edge) for edge in edges))
        if made.bins.count == 0:
            # Nothing but special values lies between the bounds: a domain needs a bin, so the last of them is none.
            column = replace(column, specials=column.specials[:-1])
            continue
        lost = np.flatnonzero(made.bins.code_of_interval < 0)
        if column.integer or not len(lost) or len(edges) < 3:  # noqa: PLR2004 - lower and upper stay
            return made
        inside = lost[lost > 0]
        edges = np.delete(edges, int(inside[0]) if len(inside) else 1)
