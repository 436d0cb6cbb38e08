"""MST: a spanning tree of two-way marginals (McKenna, Miklau, Sheldon 2021, arXiv 2108.04978).

A third of the budget measures all one-way marginals; codes below three standard deviations are merged; a third picks
the edges of a maximum spanning tree with the exponential mechanism; a third measures the pairs of the tree.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import mbi
import networkx as nx
import numpy as np

from benchmarks.tables.peers.graphical import draw, fit
from benchmarks.tables.peers.marginals import Clique, Codes, Counts, counts_of, nearest
from benchmarks.tables.peers.merging import merged, unmerged

_THIRDS = 3
_SIGNIFICANT = 3.0
_STEPS, _TOLERANCE = 10_000, 1e-6


def synthesize(
    codes: Codes, cardinalities: Sequence[int], *, rho: float, seed: int, most_megabytes: float
) -> tuple[Codes, dict[str, Any]]:
    """Make as many synthetic rows as there are rows; see `aim.synthesize`. A tree needs no limit of its size."""
    del most_megabytes
    rng = np.random.default_rng(seed)
    columns = len(cardinalities)
    deviation = math.sqrt(_THIRDS * columns / (2 * rho))
    ones = []
    for column in range(columns):
        exact = counts_of(codes, cardinalities, (column,))
        ones.append(exact + rng.normal(0, deviation, exact.shape))
    measurements = [
        mbi.LinearMeasurement(noisy, (column,), stddev=deviation) for column, noisy in enumerate(ones)
    ]
    total = mbi.estimation.minimum_variance_unbiased_total(measurements)

    merging = {column: merged(noisy >= _SIGNIFICANT * deviation) for column, noisy in enumerate(ones)}
    domain = mbi.Domain(tuple(range(columns)), tuple(cardinalities))
    measurements = [one.compress(merging, domain) for one in measurements]
    small = np.column_stack([merging[column][codes[:, column]] for column in range(columns)])
    fewer = [int(merging[column].max()) + 1 for column in range(columns)]
    distributions = [
        nearest(np.bincount(merging[column], noisy, fewer[column]).astype(np.float64), total)
        for column, noisy in enumerate(ones)
    ]
    tree = spanning_tree(small, fewer, distributions, rho / _THIRDS, rng)
    deviation = math.sqrt(_THIRDS * len(tree) / (2 * rho))
    for clique in tree:
        exact = counts_of(small, fewer, clique)
        noisy = (exact + rng.normal(0, deviation, exact.shape)).ravel()
        measurements.append(mbi.LinearMeasurement(noisy, clique, stddev=deviation))
    fitted = fit(
        measurements, fewer, total=total, forbidden={}, before=None, steps=_STEPS, tolerance=_TOLERANCE
    )
    made = draw(fitted, len(codes), seed)
    facts = {"merged_codes": sum(cardinalities) - sum(fewer), "megabytes": fitted.megabytes}
    return np.column_stack(
        [unmerged(merging[column], made[:, column], rng) for column in range(columns)]
    ), facts


def spanning_tree(
    codes: Codes,
    cardinalities: Sequence[int],
    distributions: Sequence[Counts],
    rho: float,
    rng: np.random.Generator,
) -> list[Clique]:
    """Edges of a tree, each chosen by the exponential mechanism among those that join two parts.

    The score of an edge is the L1 distance of its counts to those of independent columns; one row changes it by 1.
    """
    columns = len(cardinalities)
    total = distributions[0].sum()
    scores = {
        (i, j): np.abs(
            counts_of(codes, cardinalities, (i, j)) - np.outer(distributions[i], distributions[j]) / total
        ).sum()
        for i, j in itertools.combinations(range(columns), 2)
    }
    epsilon = math.sqrt(8 * rho / (columns - 1))
    tree: Any = nx.Graph()
    tree.add_nodes_from(range(columns))
    for _ in range(columns - 1):
        part = {node: number for number, nodes in enumerate(nx.connected_components(tree)) for node in nodes}
        open_edges = [edge for edge in scores if part[edge[0]] != part[edge[1]]]
        noisy = epsilon / 2 * np.array([scores[edge] for edge in open_edges]) + rng.gumbel(
            size=len(open_edges)
        )
        tree.add_edge(*open_edges[int(np.argmax(noisy))])
    return [(min(edge), max(edge)) for edge in tree.edges]
