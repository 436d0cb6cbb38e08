"""Distances between the marginal and pairwise distributions of two coded tables."""

from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.plan.domain.codec import Codes

Shares = NDArray[np.float64]
Matrix = NDArray[np.float64]

_NORMAL_MEAN: Final = np.sqrt(2 / np.pi)
"""Mean absolute value of a standard normal variable."""
MOST_CELLS: Final = 2**20
"""Up to this many cells a contingency table is dense; beyond it only occurring cells are counted."""


def shares(codes: NDArray[np.integer], cells: int) -> Shares:
    """The share of every code.

    Args:
        codes: (rows,) integers below `cells`.

    Returns:
        (cells,) numbers that sum to 1; zeros for an empty table.
    """
    counts = np.bincount(codes, minlength=cells).astype(np.float64)
    return counts / max(1, len(codes))


def variation(first: Shares, second: Shares) -> float:
    """Total variation: half the sum of absolute differences; 0 for equal distributions, 1 for disjoint ones."""
    return float(np.abs(first - second).sum() / 2)


def sampling_variation(distribution: Shares, *, first_rows: int, second_rows: int) -> float:
    """Expected total variation between two samples from one distribution, by the normal approximation.

    ``sum_k sqrt(2 / pi) sqrt(p_k (1 - p_k) (1 / n + 1 / m)) / 2``: what a perfect generator would show.

    Args:
        distribution: (cells,) the distribution.
        first_rows: size n of the first sample.
        second_rows: size m of the second.
    """
    spread = np.sqrt(distribution * (1 - distribution) * (1 / max(1, first_rows) + 1 / max(1, second_rows)))
    return float(min(1.0, _NORMAL_MEAN * spread.sum() / 2))


def pair_variations(first: Codes, second: Codes, cells: tuple[int, ...]) -> Matrix:
    """Total variation of the joint shares of every two columns in two tables of (rows, columns) codes.

    Returns:
        (columns, columns), symmetric; on the diagonal the variation of the single columns.
    """
    found = np.zeros((len(cells), len(cells)))
    for i, width in enumerate(cells):
        found[i, i] = variation(shares(first[:, i], width), shares(second[:, i], width))
    for i, j in combinations(range(len(cells)), 2):
        one, other = (_joint(codes, i, j, cells) for codes in (first, second))
        width = cells[i] * cells[j]
        if width > MOST_CELLS:
            occurring, places = np.unique(np.concatenate([one, other]), return_inverse=True)
            one, other, width = places[: len(one)], places[len(one) :], len(occurring)
        found[i, j] = found[j, i] = variation(shares(one, width), shares(other, width))
    return found


def joint_counts(codes: Codes, i: int, j: int, cells: tuple[int, ...]) -> Matrix:
    """The contingency table of two columns, shape (codes of i, codes of j)."""
    counts = np.bincount(_joint(codes, i, j, cells), minlength=cells[i] * cells[j])
    return counts.reshape(cells[i], cells[j]).astype(np.float64)


def occurring_counts(
    codes: Codes, i: int, j: int, cells: tuple[int, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64], Shares]:
    """The nonempty cells of the contingency table of two columns: their codes of i, of j, and their counts."""
    places, counts = np.unique(_joint(codes, i, j, cells), return_counts=True)
    return places // cells[j], places % cells[j], counts.astype(np.float64)


def _joint(codes: Codes, i: int, j: int, cells: tuple[int, ...]) -> NDArray[np.int64]:
    return codes[:, i].astype(np.int64) * cells[j] + codes[:, j]
