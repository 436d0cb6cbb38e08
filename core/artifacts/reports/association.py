"""Strength of association between columns, on one scale for numbers and categories."""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from core.artifacts.reports.shares import MOST_CELLS, Matrix, Shares, joint_counts, occurring_counts
from core.plan.domain.codec import Codes


def associations(codes: Codes, cells: tuple[int, ...]) -> Matrix:
    """Cramér's V of every two columns of (rows, columns) codes, corrected for the number of rows.

    Returns:
        (columns, columns), symmetric, from 0 (independent) to 1 (one determines the other); 1 on the diagonal.
    """
    found = np.eye(len(cells))
    for i, j in combinations(range(len(cells)), 2):
        if cells[i] * cells[j] > MOST_CELLS:
            found[i, j] = found[j, i] = cramers_v_of_cells(*occurring_counts(codes, i, j, cells))
        else:
            found[i, j] = found[j, i] = cramers_v(joint_counts(codes, i, j, cells))
    return found


def cramers_v_of_cells(rows: NDArray[np.int64], columns: NDArray[np.int64], counts: Shares) -> float:
    """`cramers_v` of a sparse contingency table, given by its nonzero cells.

    ``chi2 = n (sum of count^2 / (row sum times column sum) - 1)``.

    Args:
        rows: (cells,) row of each cell.
        columns: (cells,) column of each cell.
        counts: (cells,) positive.
    """
    of_rows, of_columns = np.bincount(rows, counts), np.bincount(columns, counts)
    total = counts.sum()
    chi2 = float(total * ((counts**2 / (of_rows[rows] * of_columns[columns])).sum() - 1))
    return _corrected(chi2, int(np.count_nonzero(of_rows)), int(np.count_nonzero(of_columns)), float(total))


def cramers_v(counts: Matrix) -> float:
    """Cramér's V of a contingency table with Bergsma's correction (Journal of the Korean Statistical Society 42, 2013).

    ``phi2 = max(0, chi2 / n - (r - 1)(c - 1) / (n - 1))``, ``V = sqrt(phi2 / (min(r', c') - 1))`` with
    ``r' = r - (r - 1)^2 / (n - 1)`` and likewise ``c'``. Without the correction V of independent columns is
    above zero and depends on the number of rows. Empty rows and columns are ignored.

    Returns:
        V from 0 to 1; 0 if a column has a single value.
    """
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    rows, columns = counts.shape
    total = float(counts.sum())
    if min(rows, columns) < 2 or total < 2:  # noqa: PLR2004 - one value goes with everything
        return 0.0
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0, keepdims=True) / total
    return _corrected(float(((counts - expected) ** 2 / expected).sum()), rows, columns, total)


def _corrected(chi2: float, rows: int, columns: int, total: float) -> float:
    """Corrected V of a table with this many nonempty rows and columns."""
    if min(rows, columns) < 2 or total < 2:  # noqa: PLR2004 - one value goes with everything
        return 0.0
    phi2 = max(0.0, chi2 / total - (rows - 1) * (columns - 1) / (total - 1))
    least = min(rows - (rows - 1) ** 2 / (total - 1), columns - (columns - 1) ** 2 / (total - 1))
    return float(min(1.0, np.sqrt(phi2 / (least - 1)))) if least > 1 else 0.0
