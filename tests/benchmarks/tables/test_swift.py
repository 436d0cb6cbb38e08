import itertools
import math
import sys
from pathlib import Path

import numpy as np
import pytest

mbi = pytest.importorskip("mbi")

from benchmarks.tables import methods  # noqa: E402
from benchmarks.tables.peers import swift  # noqa: E402 - where mbi is installed
from benchmarks.tables.peers.marginals import Candidate, candidates_of, counts_of, megabytes  # noqa: E402
from tests.benchmarks.tables.test_methods import task  # noqa: E402


def worth(candidates, distances, chosen, budget):
    """The sum that the rule maximises, with the best shares of `budget` among the chosen."""
    costs = [(one.weight * one.exact.size * math.sqrt(2 / math.pi)) ** (2 / 3) for one in candidates]
    return sum(candidates[at].weight * distances[candidates[at].clique] for at in chosen) - sum(
        costs[at] for at in chosen
    ) ** 1.5 / math.sqrt(budget)


def test_the_budget_goes_to_the_candidates_that_are_worth_their_noise():
    rng = np.random.default_rng(1)
    candidates = [
        Candidate((0, at + 1), float(rng.integers(1, 9)), np.zeros(int(rng.integers(2, 60))))
        for at in range(9)
    ]
    distances = {one.clique: float(rng.uniform(0, 900)) for one in candidates}
    budgets = swift.allocate(candidates, distances, 0.01)
    assert sum(budgets.values()) == pytest.approx(0.01)
    every = [chosen for count in range(1, 10) for chosen in itertools.combinations(range(9), count)]
    best = max(worth(candidates, distances, chosen, 0.01) for chosen in every)
    found = [at for at, one in enumerate(candidates) if one.clique in budgets]
    assert worth(candidates, distances, found, 0.01) == pytest.approx(best, rel=0.02)


def test_the_tree_holds_the_farthest_pairs_that_it_can_afford():
    sizes = (10, 10, 10, 10)
    distances = dict.fromkeys(itertools.combinations(range(4), 2), 1.0) | {(0, 1): 9.0, (2, 3): 8.0}
    small = swift.best_tree(distances, sizes, megabytes([(0, 1), (2, 3)], sizes))
    assert sorted(map(sorted, small)) == [[0, 1], [2, 3]]
    (whole,) = swift.best_tree(distances, sizes, 1.0)
    assert whole == {0, 1, 2, 3}


@pytest.mark.long
def test_dependent_columns_come_back_dependent(monkeypatch):
    monkeypatch.setattr(methods, "PEERS", Path(sys.prefix))
    asked = task(epsilon=10.0)
    made = methods.make("swift", asked)
    assert (
        made.facts["measured"]
        <= made.facts["candidates"]
        == len(candidates_of(asked.codes.astype(np.int64), asked.cardinalities))
    )
    kept = [
        counts_of(codes.astype(np.int64), asked.cardinalities, (0, 1)) for codes in (made.codes, asked.codes)
    ]
    # Noise of a few rows a cell and drawing; independent columns are 150 rows from some cell.
    assert np.abs(kept[0] - kept[1]).max() < 100
