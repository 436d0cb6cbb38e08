"""Balanced sampling: codes whose one-way and two-way counts are near their expectation.

Needs numpy alone: the script of a bundle holds a copy.

A generator gives a distribution for every row and column. Codes drawn from the distributions on their own have counts with sampling error.
`balance` takes codes and a second draw of each from the same distribution, and replaces the first by the second where that lowers

    1/2 sum over the cells of all pairs of columns of (count - expected count)^2, and the same of single columns

with the expectation over the distributions of these rows. No code leaves the support of its distribution. Rare codes stay as they were drawn: a count
with an expectation of a fraction is nearest to it at zero, so balancing would lose them. Surveys call a sample balanced whose
totals are those of the population (Deville and Tille 2004, "Efficient balanced sampling: the cube method").

Codes of a table with few combinations are not exchanged: all are drawn anew, as a systematic sample (Madow 1949, "On the theory of systematic
sampling, II") of the combinations by their expected counts. Each count is within one of its expectation, and its mean is the expectation.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MOST_ROWS = 2**17
"""Rows of a sample up to which it is balanced: larger ones have little sampling error, and balancing takes time."""
MOST_CELLS = 1024
"""Codes of all columns up to which a sample is balanced: memory grows with their square."""
CHUNK_ROWS = 8192
"""Rows that are balanced together at least."""
CHUNK_CELLS, CHUNK_CODES = 2**23, 2**20
"""Cells of their distributions and codes of more rows at most: both are held in memory."""
FEWEST_EXPECTED = 3.0
"""Expected number of rows of a chunk with a code below which it is rare."""
MOST_AT_ONCE, LEAST_AT_ONCE, FEWEST_PARTS = 512, 64, 48
"""Rows that change by the same counts in the first turn and in the last, and into how many parts of that kind the rows of
a turn fall at least. More rows at once overshoot, which later turns mend; fewer take longer."""
ROWS_OF_COMBINATION = 32
"""Minimum rows for each combination of codes for balancing the counts of combinations instead of pairs (docs/rules-study.md)."""
DISTRIBUTIONS_AT_ONCE = 2**20
"""Probabilities of combinations in memory at once."""


def is_balanced(rows: int, cardinalities: Sequence[int]) -> bool:
    """Whether a sample is balanced.

    Args:
        rows: Of the whole sample.
        cardinalities: Codes of every column.
    """
    return rows <= MOST_ROWS and sum(cardinalities) <= MOST_CELLS


def rows_together(cardinalities: Sequence[int]) -> int:
    """How many rows of a sample are balanced together. The more, the nearer the counts of the sample are to their expectation.

    Args:
        cardinalities: Codes of every column.
    """
    return max(CHUNK_ROWS, min(CHUNK_CELLS // sum(cardinalities), CHUNK_CODES // len(cardinalities)))


def normalise(weights: NDArray[np.float32], cardinalities: Sequence[int]) -> None:
    """Make the weights (cells, rows) of every column's block sum to one."""
    for start, stop in _blocks(cardinalities):
        block = weights[start:stop]
        block *= np.float32(1.0) / block.sum(axis=0)


def stratified_uniforms(rows: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Uniforms in [0, 1), one in each of ``rows`` intervals of equal length, in random order."""
    uniforms: NDArray[np.float64] = (rng.permutation(rows) + rng.random()) / max(rows, 1)
    return np.minimum(uniforms, np.nextafter(1.0, 0.0))


def balance(
    codes: NDArray[np.integer],
    redrawn: NDArray[np.integer],
    distributions: NDArray[np.float32],
    cardinalities: Sequence[int],
    rng: np.random.Generator,
) -> None:
    """Replace codes by redrawn ones where that brings counts nearer to their expectation; of few combinations, draw all anew.

    Args:
        codes: (rows, columns) drawn from the distributions; changed in place.
        redrawn: (rows, columns) drawn from the distributions again; the same codes where a column is given.
        distributions: (rows, cells) probabilities.
        cardinalities: Codes of every column.
        rng: Where the order of the changes comes from.
    """
    (rows, columns), width = codes.shape, distributions.shape[1]
    if rows >= ROWS_OF_COMBINATION * np.prod(cardinalities, dtype=np.float64):
        codes[:] = _of_combinations(distributions, cardinalities, rng)
        return
    starts = np.array([start for start, _ in _blocks(cardinalities)], dtype=np.intp)
    cells, others = codes + starts, redrawn + starts
    expected = np.ones(rows, dtype=np.float32) @ distributions
    surplus, rare = (
        _surplus(cells, distributions, expected, cardinalities).ravel(),
        expected < FEWEST_EXPECTED,
    )
    # Places in `surplus` are line plus cell. From here on a column is a line of memory.
    lines, free = (cells * width).T.copy(), ((cells != others) & ~rare[cells] & ~rare[others]).T.ravel()
    flat, others = lines.ravel(), others.T.ravel()
    turns = rng.permuted(np.tile(np.arange(columns), (rows, 1)), axis=1).T
    for turn, at_once in zip(turns, _at_once(columns), strict=True):
        shuffled = rng.permutation(rows)
        places = turn[shuffled] * rows + shuffled
        shuffled, places = shuffled[free[places]], places[free[places]]
        at_once = max(1, min(at_once, -(-len(places) // FEWEST_PARTS)))  # noqa: PLW2901 (of few rows fewer)
        for start in range(0, len(places), at_once):
            some, place = shuffled[start : start + at_once], places[start : start + at_once]
            beside, old, new = lines.take(some, axis=1), flat.take(place), others.take(place)
            fall = surplus.take(beside + old // width).sum(axis=0) - surplus.take(beside + new).sum(axis=0)
            # Twice the one-way surplus is on the diagonal; `old` has it among the sum's terms, `new` has a zero there.
            fall -= (surplus.take(old + old // width) + surplus.take(new * width + new)) / 2
            moved = np.flatnonzero(fall > columns)
            if len(moved):
                some, old, new = some[moved], old[moved], new[moved]
                _recount(surplus, lines.take(some, axis=1), old, -1.0, width)
                flat[place[moved]] = new * width
                _recount(surplus, lines.take(some, axis=1), new * width, 1.0, width)
    codes[:] = (lines // width).T - starts


def _of_combinations(
    distributions: NDArray[np.float32], cardinalities: Sequence[int], rng: np.random.Generator
) -> NDArray[np.intp]:
    """A systematic sample of all combinations of codes, in random order; (rows, columns)."""
    rows, columns, blocks = len(distributions), len(cardinalities), _blocks(cardinalities)
    # Two sets of columns, near in combinations: the expected counts are one matrix product.
    ahead = np.cumprod(cardinalities)
    middle = int(np.argmin(np.abs(np.log(ahead) - np.log(ahead[-1]) / 2))) + 1
    expected = np.zeros((int(ahead[middle - 1]), int(ahead[-1] // ahead[middle - 1])))
    at_once = max(1, DISTRIBUTIONS_AT_ONCE // sum(expected.shape))
    for first in range(0, rows, at_once):
        some = distributions[first : first + at_once].astype(np.float64)
        left, right = (_joint(some, blocks[one:end]) for one, end in ((0, middle), (middle, columns)))
        expected += left.T @ right
    sums = np.cumsum(expected)
    chosen = np.searchsorted(sums, stratified_uniforms(rows, rng) * sums[-1], side="right")
    # Rounding might lead past the last combination that there is.
    chosen = np.minimum(chosen, np.flatnonzero(expected.ravel())[-1])
    return np.stack(np.unravel_index(chosen, cardinalities), axis=1)


def _joint(distributions: NDArray[np.float64], blocks: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    """The joint distribution of some columns in every row; (rows, combinations), without columns (rows, 1)."""
    joint = np.ones((len(distributions), 1))
    for start, stop in blocks:
        joint = (joint[:, :, None] * distributions[:, None, start:stop]).reshape(len(distributions), -1)
    return joint


def _at_once(columns: int) -> list[int]:
    """How many rows change by the same counts in each turn: fewer and fewer, as there is less and less to mend."""
    return [int(rows) for rows in np.geomspace(MOST_AT_ONCE, LEAST_AT_ONCE, columns)]


def _blocks(cardinalities: Sequence[int]) -> list[tuple[int, int]]:
    """First cell of every column, and the cell after its last."""
    stops = np.cumsum(cardinalities).tolist()
    return list(zip([0, *stops[:-1]], stops, strict=True))


def _surplus(
    cells: NDArray[np.intp],
    distributions: NDArray[np.float32],
    expected: NDArray[np.float32],
    cardinalities: Sequence[int],
) -> NDArray[np.float32]:
    """(cells, cells) counts less their expectation: of pairs of columns, and twice of single columns on the diagonal."""
    drawn = np.zeros_like(distributions)
    drawn[np.arange(len(cells))[:, None], cells] = 1
    counts = drawn.T @ drawn
    surplus = counts - distributions.T @ distributions
    alone = 2 * (counts.diagonal() - expected)
    for start, stop in _blocks(cardinalities):
        surplus[start:stop, start:stop] = np.diag(alone[start:stop])
    return surplus


def _recount(
    surplus: NDArray[np.float32],
    beside: NDArray[np.intp],
    changed: NDArray[np.intp],
    change: float,
    width: int,
) -> None:
    """Count rows that leave or take a cell.

    Args:
        surplus: As `_surplus` gives it, flat; changed in place.
        beside: (columns, rows) lines of their cells, with that of the cell itself.
        changed: (rows,) lines of the cell.
        change: Minus one for rows that leave it, one for those that take it.
        width: Cells of all columns.
    """
    np.add.at(surplus, (beside + changed // width).ravel(), np.float32(change))
    np.add.at(surplus, (beside // width + changed).ravel(), np.float32(change))
