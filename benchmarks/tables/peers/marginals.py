"""Marginals without a model: exact counts, the size of a junction tree, and the nearest counts to noisy ones."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Clique = tuple[int, ...]
Codes = npt.NDArray[np.int64]
Counts = npt.NDArray[np.float64]


def counts_of(codes: Codes, cardinalities: Sequence[int], clique: Clique) -> Counts:
    """Exact counts of a marginal; one axis for each column of the clique."""
    shape = [cardinalities[column] for column in clique]
    flat = np.ravel_multi_index(tuple(codes[:, column] for column in clique), shape)
    return np.bincount(flat, minlength=math.prod(shape)).reshape(shape).astype(np.float64)


def megabytes(cliques: Sequence[Clique], cardinalities: Sequence[int]) -> float:
    """Size of a junction tree that holds the cliques, in MiB of float64; elimination by the smallest table first."""
    neighbours = [0] * len(cardinalities)
    for clique in cliques:
        mask = sum(1 << column for column in clique)
        for column in clique:
            neighbours[column] |= mask
    left = {column for column in range(len(cardinalities)) if neighbours[column]}
    sizes = {column: _cells(neighbours[column], cardinalities) for column in left}
    tables: list[int] = []
    while left:
        column = min(left, key=sizes.__getitem__)
        table = neighbours[column]
        if not any(table & other == table for other in tables):
            tables.append(table)
        left.remove(column)
        for other in _members(table & ~(1 << column)):
            neighbours[other] = (neighbours[other] | table) & ~(1 << column)
            sizes[other] = _cells(neighbours[other], cardinalities)
    return sum(_cells(table, cardinalities) for table in tables) * 8 / 2**20


def _members(mask: int) -> list[int]:
    return [column for column in range(mask.bit_length()) if mask >> column & 1]


def _cells(mask: int, cardinalities: Sequence[int]) -> int:
    return math.prod(cardinalities[column] for column in _members(mask))


def nearest(noisy: Counts, total: float) -> Counts:
    """The counts nearest to noisy ones (least squares) that are not negative and sum to `total` > 0."""
    descending = np.sort(noisy)[::-1]
    over = (np.cumsum(descending) - total) / np.arange(1, len(noisy) + 1)
    found: Counts = np.maximum(noisy - over[np.flatnonzero(descending > over)[-1]], 0)
    return found
