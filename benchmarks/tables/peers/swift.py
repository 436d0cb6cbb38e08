"""SWIFT's rule: the marginals that the largest affordable junction tree holds, measured at once.

After google/dpsynth (`discrete_mechanisms/swift.py`, 2026), with its shares and its workload. A tenth of the budget measures all one-way
marginals, a tenth of the rest how far every candidate is from independent columns. Pairs of columns join a junction tree
in the order of that distance while its size allows; of the candidates that the tree holds, those whose distance is worth
their noise share the rest, each the power 2/3 of its weight times its cells. The workload is AIM's.

Here a pair may join wherever the tree stays small enough; dpsynth joins it along one edge of the tree.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from functools import partial, reduce
from typing import Any

import mbi
import numpy as np
from mbi import junction_tree

from benchmarks.tables.peers.marginals import Candidate, Clique, Codes, candidates_of, counts_of, megabytes

ONE_WAY, SELECTION = 0.1, 0.1
"""Shares of the budget: of one-way marginals, and of what they leave for the distances (dpsynth's)."""
MOST_MEGABYTES = 2.0
"""Largest model. dpsynth allows cliques of 10^7 cells, which are 80 MB each."""
_PENALTIES = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
_ABSOLUTE = math.sqrt(2 / math.pi)
_STEPS, _TOLERANCE = 10_000, 1e-6


def synthesize(
    codes: Codes, cardinalities: Sequence[int], *, rho: float, seed: int, most_megabytes: float
) -> tuple[Codes, dict[str, Any]]:
    """Make as many synthetic rows as there are rows; see `aim.synthesize`. The model has `MOST_MEGABYTES` at most."""
    # Here, because it asks JAX for float64, which the rule below does not need.
    from benchmarks.tables.peers.graphical import draw, fit

    rng = np.random.default_rng(seed)
    most = min(most_megabytes, MOST_MEGABYTES)
    candidates = candidates_of(codes, cardinalities)
    deviation = math.sqrt(len(cardinalities) / (2 * ONE_WAY * rho))
    measurements = []
    for column in range(len(cardinalities)):
        exact = counts_of(codes, cardinalities, (column,))
        noisy = exact + rng.normal(0, deviation, exact.shape)
        measurements.append(mbi.LinearMeasurement(noisy, (column,), stddev=deviation))
    total = max(mbi.estimation.minimum_variance_unbiased_total(measurements), 1.0)
    model = partial(fit, total=total, forbidden={}, steps=_STEPS, tolerance=_TOLERANCE)
    alone = model(measurements, cardinalities, before=None)
    shares = [alone.counts((column,)) / total for column in range(len(cardinalities))]

    left = (1 - ONE_WAY) * rho
    deviation = math.sqrt(len(candidates) / (2 * SELECTION * left))
    distances = {
        one.clique: float(
            np.abs(
                one.exact - total * reduce(np.multiply.outer, [shares[column] for column in one.clique])
            ).sum()
            + rng.normal(0, deviation)
        )
        for one in candidates
    }
    tree = best_tree(distances, cardinalities, most)
    held = {one.clique: one for one in candidates if _holds(tree, one.clique)}
    budgets = allocate(list(held.values()), distances, 2 * (1 - SELECTION) * left)
    for clique, squared in budgets.items():
        deviation = 1 / math.sqrt(squared)
        exact = held[clique].exact
        noisy = exact + rng.normal(0, deviation, exact.shape)
        measurements.append(mbi.LinearMeasurement(noisy.ravel(), clique, stddev=deviation))
    fitted = model(measurements, cardinalities, before=alone)
    facts = {"measured": len(budgets), "candidates": len(candidates), "megabytes": fitted.megabytes}
    return draw(fitted, len(codes), seed), facts


def best_tree(
    distances: Mapping[Clique, float], cardinalities: Sequence[int], most_megabytes: float
) -> list[frozenset[int]]:
    """Cliques of the junction tree whose pairs have the largest distances in sum, over several penalties of cells."""
    pairs = [clique for clique in distances if len(clique) == 2]
    cells = {pair: math.prod(cardinalities[column] for column in pair) for pair in pairs}
    trees = []
    for penalty in _PENALTIES:
        ranked = sorted(pairs, key=lambda pair: penalty * cells[pair] - distances[pair])
        trees.append(_tree(ranked, cardinalities, most_megabytes))
    return max(trees, key=lambda tree: sum(distances[pair] for pair in pairs if _holds(tree, pair)))


def _tree(
    pairs: Sequence[Clique], cardinalities: Sequence[int], most_megabytes: float
) -> list[frozenset[int]]:
    columns = tuple(range(len(cardinalities)))
    domain = mbi.Domain(columns, tuple(cardinalities))
    kept: list[Clique] = [(column,) for column in columns]
    tree = [frozenset(clique) for clique in kept]
    for pair in pairs:
        if not _holds(tree, pair) and megabytes([*kept, pair], cardinalities) <= most_megabytes:
            kept.append(pair)
            nodes = junction_tree.make_junction_tree(domain, kept)[0]
            tree = [frozenset(node) for node in junction_tree.maximal_cliques(nodes)]
    return tree


def _holds(tree: Sequence[frozenset[int]], clique: Clique) -> bool:
    return any(node.issuperset(clique) for node in tree)


def allocate(
    candidates: Sequence[Candidate], distances: Mapping[Clique, float], budget: float
) -> dict[Clique, float]:
    """The candidates to measure, each with its share of `budget`, a squared mu.

    They maximise the sum of weight times (distance less the expected absolute noise of all cells). For given
    candidates the best shares are proportional to `(weight * cells)^(2/3)`; candidates join by what a unit of that is worth.
    """
    costs = {one.clique: (one.weight * one.exact.size * _ABSOLUTE) ** (2 / 3) for one in candidates}
    worth = {one.clique: one.weight * distances[one.clique] for one in candidates}
    ranked = sorted(costs, key=lambda clique: -worth[clique] / costs[clique])
    sums = list(itertools.accumulate(ranked, lambda spent, clique: spent + costs[clique], initial=0.0))[1:]
    gains = itertools.accumulate(worth[clique] for clique in ranked)
    scores = [gain - spent**1.5 / math.sqrt(budget) for gain, spent in zip(gains, sums, strict=True)]
    last = next((at for at in range(1, len(scores)) if scores[at] <= scores[at - 1]), len(scores))
    chosen = ranked[:last]
    return {clique: budget * costs[clique] / sums[last - 1] for clique in chosen}
