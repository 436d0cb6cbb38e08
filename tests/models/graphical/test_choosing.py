"""Which marginals are measured, from noisy scores alone."""

import itertools
import math

import numpy as np
import pytest

from models.graphical.choosing import affordable_pairs, best_affordable, gains, spanning_forest, tree_cells

SIZES = (3, 4, 2, 5)
PAIRS = list(itertools.combinations(range(4), 2))


def test_a_gain_is_the_score_less_the_noise_of_a_measurement():
    found = gains(np.array([10.0, 10.0]), [(0, 1), (0, 1, 3)], SIZES, noise_std=0.5)
    noise = np.abs(np.random.default_rng(0).normal(0, 0.5, 200_000)).mean() / 2
    assert found[0, 1] == pytest.approx(10 - 12 * noise, rel=0.01)
    assert found[0, 1, 3] == pytest.approx(10 - 60 * noise, rel=0.01)


@pytest.mark.parametrize("seed", range(5))
def test_the_spanning_tree_is_the_best_of_all(seed):
    scores = dict(zip(PAIRS, np.random.default_rng(seed).normal(size=6).tolist(), strict=True))
    found = spanning_forest(scores)

    def joins(edges: tuple[tuple[int, int], ...]) -> bool:
        reached = {0}
        for _ in range(3):
            reached |= {column for edge in edges if set(edge) & reached for column in edge}
        return reached == {0, 1, 2, 3}

    trees = [edges for edges in itertools.combinations(PAIRS, 3) if joins(edges)]
    best = max(trees, key=lambda edges: sum(scores[edge] for edge in edges))
    assert found == sorted(best)
    assert math.isclose(sum(scores[edge] for edge in found), sum(scores[edge] for edge in best))


def test_columns_without_a_pair_stay_alone():
    assert spanning_forest({(0, 1): -1.0, (2, 3): 2.0}) == [(0, 1), (2, 3)]


def test_the_best_candidates_that_fit_are_chosen_and_none_without_a_gain():
    gained = {(0, 1): 5.0, (0, 1, 3): 9.0, (1, 2): 3.0, (2, 3): -1.0, (0, 2): 1.0}
    free = best_affordable(gained, [], SIZES, most=9, largest_model=10**6)
    assert free == [(0, 1), (0, 1, 3), (0, 2), (1, 2)]
    assert best_affordable(gained, [], SIZES, most=2, largest_model=10**6) == [(0, 1), (0, 1, 3)]
    small = best_affordable(gained, [], SIZES, most=9, largest_model=40)
    assert (0, 1, 3) not in small, "60 cells"
    assert tree_cells(small, SIZES) <= 40
    assert small


def test_the_size_is_that_of_the_whole_tree():
    assert tree_cells([(0, 1), (1, 2)], SIZES) == 12 + 8
    assert tree_cells([(0, 1), (1, 2), (0, 2)], SIZES) == 24, "a triangle becomes one table"
    held = [(0, 1), (1, 2)]
    assert best_affordable({(0, 2): 1.0}, held, SIZES, most=1, largest_model=23) == []
    assert best_affordable({(0, 2): 1.0}, held, SIZES, most=1, largest_model=24) == [(0, 2)]


def test_pairs_of_rules_are_kept_while_the_junction_tree_has_room():
    cardinalities = (4, 3, 5, 200, 100)
    pairs = [(3, 4), (0, 2), (0, 1)]
    assert affordable_pairs(pairs, [], cardinalities, largest_model=10**6) == [(0, 1), (0, 2)], (
        "a pair of 20,000 cells is larger than a candidate"
    )
    assert affordable_pairs(pairs, [(1, 2)], cardinalities, largest_model=59) == [(0, 1)], (
        "the triangle has 60 cells"
    )
