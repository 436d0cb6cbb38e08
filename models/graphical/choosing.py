"""The choice of marginals to measure, from noisy scores: post-processing.

Measuring a marginal adds noise to every cell. The expected sum of the positive parts of that noise is
`cells * std / sqrt(2 pi)`. A candidate's gain is its noisy score less this.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

import networkx as nx
import numpy as np
import numpy.typing as npt

from core.plan.graphical import LARGEST_MARGINAL, Clique

Floats = npt.NDArray[np.float64]


def gains(
    scores: Floats, candidates: Sequence[Clique], cardinalities: Sequence[int], *, noise_std: float
) -> dict[Clique, float]:
    """Noisy scores less the expected noise of a measurement, by candidate.

    Args:
        scores: (candidates,) noisy, in records.
        candidates: in the order of the scores.
        noise_std: of a measurement's noise on every cell.
    """
    cells = [math.prod(cardinalities[column] for column in clique) for clique in candidates]
    costs = np.array(cells) * noise_std / math.sqrt(2 * math.pi)
    return dict(zip(candidates, (scores - costs).tolist(), strict=True))


def spanning_forest(gained: Mapping[Clique, float]) -> list[Clique]:
    """The pairs of a spanning forest with the largest gains in sum, sorted (MST, arXiv 2108.04978)."""
    joined = nx.Graph()
    for clique, gain in gained.items():
        joined.add_edge(*clique, weight=gain)
    edges = nx.maximum_spanning_edges(joined, data=False)
    return sorted((min(edge), max(edge)) for edge in edges)


def best_affordable(
    gained: Mapping[Clique, float],
    before: Sequence[Clique],
    cardinalities: Sequence[int],
    *,
    most: int,
    largest_model: int,
) -> list[Clique]:
    """The candidates with the largest positive gains that a junction tree of bounded size holds, sorted.

    Args:
        gained: gain by candidate.
        before: marginals that were measured already.
        most: the most candidates to choose.
        largest_model: cells of the junction tree at most.
    """
    chosen: list[Clique] = []
    for clique in sorted(gained, key=lambda one: (-gained[one], one)):
        if len(chosen) == most or gained[clique] <= 0:
            break
        if tree_cells([*before, *chosen, clique], cardinalities) <= largest_model:
            chosen.append(clique)
    return sorted(chosen)


def affordable_pairs(
    pairs: Iterable[Clique], before: Sequence[Clique], cardinalities: Sequence[int], *, largest_model: int
) -> list[Clique]:
    """The pairs with structural zeros that a junction tree of bounded size holds beside the measured marginals.

    The smallest tables come first. A pair of more cells than a candidate may have is left out.

    Args:
        before: marginals that were measured already.
        largest_model: cells of the junction tree at most.
    """
    kept: list[Clique] = []
    for pair in sorted(pairs, key=lambda one: (math.prod(cardinalities[column] for column in one), one)):
        small = math.prod(cardinalities[column] for column in pair) <= LARGEST_MARGINAL
        if small and tree_cells([*before, *kept, pair], cardinalities) <= largest_model:
            kept.append(pair)
    return kept


def tree_cells(cliques: Sequence[Clique], cardinalities: Sequence[int]) -> int:
    """Cells of a junction tree that holds the cliques; elimination by the smallest table first.

    Args:
        cliques: columns of every marginal.
    """
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
    return sum(_cells(table, cardinalities) for table in tables)


def _members(mask: int) -> list[int]:
    return [column for column in range(mask.bit_length()) if mask >> column & 1]


def _cells(mask: int, cardinalities: Sequence[int]) -> int:
    return math.prod(cardinalities[column] for column in _members(mask))
