"""Balanced sampling: codes whose one-way and two-way counts are near their expectation.

Needs numpy alone: stands in the script of a bundle as it is.

A generator gives a law for every row and column. Codes drawn from the laws on their own have counts with sampling error.
`balance` takes codes and a second draw of each from the same law, and replaces the first by the second where that lowers

    1/2 sum over the cells of all pairs of columns of (count - expected count)^2, and the same of single columns

with the expectation over the laws of these rows. No code leaves the support of its law. Rare codes stay as they were drawn: a count
with an expectation of a fraction is nearest to it at zero, so balancing would lose them. Surveys call a sample balanced whose
totals are those of the population (Deville and Tille 2004, "Efficient balanced sampling: the cube method").
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MOST_ROWS = 2**17
"""Rows of a sample up to which it is balanced: larger ones have little sampling error, and balancing takes time."""
MOST_CELLS = 1024
"""Codes of all columns up to which a sample is balanced: memory grows with their square."""
CHUNK_ROWS = 8192
"""Rows that are balanced together."""
FEWEST_EXPECTED = 3.0
"""Expected number of rows of a chunk with a code below which it is rare."""
AT_ONCE, FEWEST_PARTS = 128, 16
"""Rows that change by the same counts, at most, and into how many parts of that kind a chunk falls at least. More rows
at once overshoot; fewer take longer."""


def is_balanced(rows: int, cardinalities: Sequence[int]) -> bool:
    """Whether a sample is balanced.

    Args:
        rows: Of the whole sample.
        cardinalities: Codes of every column.
    """
    return rows <= MOST_ROWS and sum(cardinalities) <= MOST_CELLS


def laws_of(logits: NDArray[np.float32], cardinalities: Sequence[int]) -> NDArray[np.float32]:
    """The softmax of every column's block.

    Args:
        logits: (rows, cells).
        cardinalities: Codes of every column.

    Returns:
        (rows, cells) probabilities.
    """
    laws = np.empty_like(logits)
    for start, stop in _blocks(cardinalities):
        block = logits[:, start:stop]
        weights = np.exp(block - block.max(axis=1, keepdims=True))
        laws[:, start:stop] = weights / weights.sum(axis=1, keepdims=True)
    return laws


def stratified_uniforms(rows: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Uniforms in [0, 1), one in each of ``rows`` intervals of equal length, in random order."""
    uniforms: NDArray[np.float64] = (rng.permutation(rows) + rng.random()) / max(rows, 1)
    return np.minimum(uniforms, np.nextafter(1.0, 0.0))


def balance(
    codes: NDArray[np.integer],
    redrawn: NDArray[np.integer],
    laws: NDArray[np.float32],
    cardinalities: Sequence[int],
    rng: np.random.Generator,
) -> None:
    """Replace codes by redrawn ones where that brings counts nearer to their expectation.

    Args:
        codes: (rows, columns) drawn from the laws; changed in place.
        redrawn: (rows, columns) drawn from the laws again; the same codes where a column is given.
        laws: (rows, cells) probabilities.
        cardinalities: Codes of every column.
        rng: Where the order of the changes comes from.
    """
    (rows, columns), width = codes.shape, laws.shape[1]
    starts = np.array([start for start, _ in _blocks(cardinalities)], dtype=np.intp)
    cells, others = codes + starts, redrawn + starts
    surplus, rare = _surplus(cells, laws, cardinalities).ravel(), laws.sum(axis=0) < FEWEST_EXPECTED
    order = rng.permuted(np.tile(np.arange(columns), (rows, 1)), axis=1)
    at_once = min(AT_ONCE, -(-rows // FEWEST_PARTS))
    for turn in range(columns):
        shuffled = rng.permutation(rows)
        for start in range(0, rows, max(at_once, 1)):
            some = shuffled[start : start + at_once]
            column = order[some, turn]
            old, new = cells[some, column], others[some, column]
            beside = cells[some] * width
            # Within its own column's block `surplus` is diagonal: the sum for `old` holds its one-way count, that for `new` lacks it.
            fall = surplus[beside + old[:, None]].sum(axis=1) - surplus[beside + new[:, None]].sum(axis=1)
            fall -= surplus[new * (width + 1)]
            moved = np.flatnonzero((fall > columns) & (new != old) & ~rare[old] & ~rare[new])
            if len(moved):
                at, column, old, new = some[moved], column[moved], old[moved], new[moved]
                kept = cells[at][np.arange(columns) != column[:, None]].reshape(len(at), columns - 1)
                _recount(surplus, kept, old, -1.0, width)
                _recount(surplus, kept, new, 1.0, width)
                cells[at, column] = new
    codes[:] = cells - starts


def _blocks(cardinalities: Sequence[int]) -> list[tuple[int, int]]:
    """First cell of every column, and the cell after its last."""
    stops = np.cumsum(cardinalities).tolist()
    return list(zip([0, *stops[:-1]], stops, strict=True))


def _surplus(
    cells: NDArray[np.intp], laws: NDArray[np.float32], cardinalities: Sequence[int]
) -> NDArray[np.float64]:
    """(cells, cells) counts less their expectation: of pairs of columns, and of single columns on the diagonal."""
    drawn = np.zeros_like(laws)
    drawn[np.arange(len(cells))[:, None], cells] = 1
    surplus = (drawn.T @ drawn - laws.T @ laws).astype(np.float64)
    for start, stop in _blocks(cardinalities):
        alone = (drawn[:, start:stop] - laws[:, start:stop]).sum(axis=0, dtype=np.float64)
        surplus[start:stop, start:stop] = np.diag(alone)
    return surplus


def _recount(
    surplus: NDArray[np.float64],
    kept: NDArray[np.intp],
    changed: NDArray[np.intp],
    change: float,
    width: int,
) -> None:
    """Count rows that leave or take a cell.

    Args:
        surplus: As `_surplus` gives it, flat; changed in place.
        kept: (rows, columns - 1) their cells of the other columns.
        changed: (rows,) the cell.
        change: Minus one for rows that leave it, one for those that take it.
        width: Cells of all columns.
    """
    np.add.at(surplus, (kept * width + changed[:, None]).ravel(), change)
    np.add.at(surplus, (changed[:, None] * width + kept).ravel(), change)
    np.add.at(surplus, changed * (width + 1), change)
