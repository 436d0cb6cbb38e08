"""Marginals without a model: exact counts, the size of a junction tree, and the nearest counts to noisy ones."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.graphical.choosing import tree_cells

Clique = tuple[int, ...]
Codes = npt.NDArray[np.int64]
Counts = npt.NDArray[np.float64]


MOST_CELLS = 10_000
"""Largest number of cells of a marginal in the workload."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A marginal that may be measured.

    Args:
        clique: its columns.
        weight: columns that it shares with the marginals of the workload, in sum.
        exact: its counts; private.
    """

    clique: Clique
    weight: float
    exact: Counts


def candidates_of(codes: Codes, cardinalities: Sequence[int]) -> list[Candidate]:
    """The workload and everything below it, weighted as the paper weights them."""
    columns = range(len(cardinalities))
    workload = [
        clique
        for ways in (2, 3)
        for clique in itertools.combinations(columns, ways)
        if math.prod(cardinalities[column] for column in clique) <= MOST_CELLS
    ]
    closed = sorted(
        {part for clique in workload for part in _parts(clique)} | {(column,) for column in columns}
    )
    asked, held = _incidence(workload, len(cardinalities)), _incidence(closed, len(cardinalities))
    weights = (held @ asked.T).sum(axis=1)
    return [
        Candidate(clique, float(weight), counts_of(codes, cardinalities, clique))
        for clique, weight in zip(closed, weights, strict=True)
    ]


def _parts(clique: Clique) -> list[Clique]:
    return [part for ways in range(1, len(clique) + 1) for part in itertools.combinations(clique, ways)]


def _incidence(cliques: Sequence[Clique], columns: int) -> Counts:
    found = np.zeros((len(cliques), columns))
    for row, clique in enumerate(cliques):
        found[row, list(clique)] = 1
    return found


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
