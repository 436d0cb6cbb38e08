"""Marginals without a model: exact counts, the size of a junction tree, and the nearest counts to noisy ones."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from models.graphical.choosing import tree_cells

Clique = tuple[int, ...]
Codes = npt.NDArray[np.int64]
Counts = npt.NDArray[np.float64]


def counts_of(codes: Codes, cardinalities: Sequence[int], clique: Clique) -> Counts:
    """Exact counts of a marginal; one axis for each column of the clique."""
    shape = [cardinalities[column] for column in clique]
    flat = np.ravel_multi_index(tuple(codes[:, column] for column in clique), shape)
    return np.bincount(flat, minlength=math.prod(shape)).reshape(shape).astype(np.float64)


def megabytes(cliques: Sequence[Clique], cardinalities: Sequence[int]) -> float:
    """Size of a junction tree that holds the cliques, in MiB of float64."""
    return tree_cells(cliques, cardinalities) * 8 / 2**20


def nearest(noisy: Counts, total: float) -> Counts:
    """The counts nearest to noisy ones (least squares) that are not negative and sum to `total` > 0."""
    descending = np.sort(noisy)[::-1]
    over = (np.cumsum(descending) - total) / np.arange(1, len(noisy) + 1)
    found: Counts = np.maximum(noisy - over[np.flatnonzero(descending > over)[-1]], 0)
    return found
