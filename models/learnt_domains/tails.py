"""Tails of a column: what lies beyond the outermost cells with certain values. Post-processing of a tree of noisy counts.

A tail holds few rows beside the noise of a check, which may still be a tenth of all. Most of them lie near what is certain, so a tail is cut at
growing distances from there; the counts that follow, with far less noise, show how many rows each part has. Parts are expected to hold half of
what is left each, outwards, of as many rows as one deviation of the noise allows: bins that the certain values leave over cut them further.
"""

import itertools
from typing import Final

import numpy as np

from models.learnt_domains.bins import Cell, NoisyTree

CERTAIN: Final = 3.0
"""Standard deviations from which a cell holds values."""
_PARTS: Final = 4
"""Bins that each tail is cut into."""
_SPARSER: Final = 4.0
"""An outermost cell is a tail too where the others are this many times as dense."""
_NEAREST: Final = 0.25
"""Largest width of the nearest part, relative to all that is not a tail, if growth allows."""
_GROWTHS: Final = tuple(2.0 * 1.25**step for step in range(20))
"""Ratios that are tried of the width of each part to the one before."""


def with_cut_tails(cells: list[Cell], tree: NoisyTree) -> tuple[list[Cell], list[Cell], list[Cell]]:
    """Return the cells without tails, the parts of the tail below them and of the one above.

    Args:
        cells: in order; where a heavy value was taken out nothing is left.
        tree: that they are of.
    """
    above = _tail(cells[::-1])
    left = cells[: len(cells) - len(above)]
    below = _tail(left)
    left = left[len(below) :]
    core = sum(cell.width for cell in left if not cell.is_heavy)
    return left, _parts(below, tree, core, is_above=False), _parts(above, tree, core, is_above=True)


def _tail(outwards: list[Cell]) -> list[Cell]:
    """The outermost cell if it is a tail and not the only one, and the heavy ones before it."""
    place = next((here for here, cell in enumerate(outwards) if not cell.is_heavy), len(outwards))
    inner = [cell for cell in outwards[place + 1 :] if not cell.is_heavy]
    if not inner:
        return []
    outermost = outwards[place]
    density = sum(cell.count for cell in inner) / sum(cell.width for cell in inner)
    is_sparse = _SPARSER * outermost.count < density * outermost.width
    return outwards[: place + 1] if is_sparse or outermost.count <= CERTAIN * outermost.std else []


def _parts(tail: list[Cell], tree: NoisyTree, core: float, *, is_above: bool) -> list[Cell]:
    """Cut a tail at growing distances from its last cell's inner end; heavy cells before that one stay with the outermost part."""
    if not tail:
        return []
    reach = np.append(0.0, np.cumsum(tree.grid.widths))
    powers = np.arange(_PARTS)
    growth = next(
        (one for one in _GROWTHS if tail[-1].width <= _NEAREST * core * (one**powers).sum()), _GROWTHS[-1]
    )
    distances = np.cumsum(growth**powers)[:-1] * (tail[-1].width / (growth**powers).sum())
    start, stop = tail[-1].first, tail[-1].last
    cuts = np.unique(
        np.searchsorted(reach, reach[start] + distances if is_above else reach[stop] - distances)
    )
    first, last = min(cell.first for cell in tail), max(cell.last for cell in tail)
    edges = [first, *(int(cut) for cut in cuts if start < cut < stop), last]
    parts = [
        Cell(one, other, 0.0, float(reach[other] - reach[one])) for one, other in itertools.pairwise(edges)
    ]
    rows = max(tail[-1].count, 0.0) + tail[-1].std
    for part in parts if is_above else parts[::-1]:
        rows /= 2
        part.count = rows
    return parts
