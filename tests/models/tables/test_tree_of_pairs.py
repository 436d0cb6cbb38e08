"""How much of the distances from independence a spanning tree explains."""

import numpy as np
import pytest

from models.tables.measurement.tree_of_pairs import TreeOfPairs, spanning_tree
from models.tables.screening import pairs_of_columns

PAIRS = pairs_of_columns(6)
SPREADS = np.full(6, 0.5)
CHAIN = np.array([0.5 * 0.8 ** (j - i) for i, j in PAIRS])
ALL = np.ones(len(PAIRS), dtype=np.bool_)


def chain_tree() -> TreeOfPairs:
    return spanning_tree(CHAIN, CHAIN, PAIRS, SPREADS, ALL)


def test_a_chain_of_columns_of_two_codes_is_explained_exactly():
    tree = chain_tree()
    assert [pair for pair, inside in zip(PAIRS, tree.inside, strict=True) if inside] == [
        (i, i + 1) for i in range(5)
    ]
    np.testing.assert_allclose(tree.implied, CHAIN)
    assert tree.unexplained(CHAIN, share_std=0.0) == pytest.approx(0.0, abs=1e-12)


def test_distances_that_no_path_implies_are_unexplained():
    apart = np.array([0.2 if (i, j) in ((0, 1), (2, 3)) else 0.1 for i, j in PAIRS])
    tree = spanning_tree(apart, apart, PAIRS, SPREADS, apart > 0.15)
    assert not tree.joined.any()
    assert tree.unexplained(apart, share_std=0.0) == pytest.approx(1.0)


def test_more_is_unexplained_the_further_distances_are_from_the_implied_ones():
    tree = chain_tree()
    found = []
    for more in (0.0, 0.05, 0.1, 0.2):
        changed = CHAIN + more * ~tree.inside
        found.append(tree.unexplained(changed, share_std=0.0))
    assert found == sorted(found)
    assert found[0] < 0.01
    assert found[-1] > 0.1


@pytest.mark.parametrize("std", [0.02, 0.05])
def test_the_noise_of_the_distances_is_taken_off(std):
    rng, tree = np.random.default_rng(0), chain_tree()
    raw, left = [], []
    for _ in range(400):
        noisy = CHAIN + std * rng.normal(size=len(CHAIN))
        raw.append(tree.unexplained(noisy, share_std=0.0))
        left.append(tree.unexplained(noisy, share_std=std))
    assert np.mean(left) < np.mean(raw) / 2


def test_what_noise_explains_of_all_differences_is_no_excess():
    tree = chain_tree()
    changed = CHAIN + 0.1 * np.array([pair == (0, 3) for pair in PAIRS])
    place = PAIRS.index((0, 3))
    found = [tree.excess(changed, share_std=std)[place] for std in (0.0, 0.01, 0.02, 0.05)]
    assert found[0] == pytest.approx(0.1)
    assert found == sorted(found, reverse=True)
    assert found[-1] == 0.0
    assert tree.excess(changed, share_std=0.0)[PAIRS.index((0, 2))] == pytest.approx(0.0)


def test_nothing_is_explained_where_noise_hides_the_distances():
    tree = chain_tree()
    assert tree.unexplained(CHAIN, share_std=1.0) == 1.0
    nothing = np.zeros(len(PAIRS))
    assert spanning_tree(nothing, nothing, PAIRS, SPREADS, ALL).unexplained(nothing, share_std=0.0) == 1.0


def test_an_order_prefers_pairs_of_nearly_the_same_distance():
    shares = np.array([0.3 if 0 in pair else 0.31 for pair in PAIRS])
    with_first = np.array([0 in pair for pair in PAIRS])
    tree = spanning_tree(shares + 0.02 * with_first, shares, PAIRS, SPREADS, ALL)
    np.testing.assert_array_equal(tree.inside, with_first)
