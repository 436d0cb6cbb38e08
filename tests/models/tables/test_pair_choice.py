"""The pairs that are counted: those far from independence, or fewer where a tree of them tells the rest."""

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from models.tables.anchor import Pair
from models.tables.measurement import pair_choice
from models.tables.measurement.pair_choice import (
    LEAST_LEFT,
    WITNESSES,
    beyond,
    pairs_to_count,
    worth_counting,
)
from models.tables.measurement.tree_of_pairs import TreeOfPairs, spanning_tree
from models.tables.screening import pairs_of_columns

Floats = npt.NDArray[np.float64]


def distances_of_chain(columns: int, correlation: float, *, share: float = 0.5) -> tuple[Floats, Floats]:
    """Total variation distances from independence, and spreads, of a Markov chain of columns of two codes.

    Two columns of two codes differ from independence by their covariance in each of four cells.
    """
    variance = share * (1.0 - share)
    shares = [2.0 * variance * correlation ** (j - i) for i, j in pairs_of_columns(columns)]
    return np.array(shares), np.full(columns, 2.0 * variance)


@pytest.mark.parametrize("target", [None, 0, 5])
def test_a_chain_is_counted_by_its_neighbours_where_noise_is_large(target):
    shares, spreads = distances_of_chain(10, 0.85)
    chosen = chosen_of(shares, spreads, target=target, cell_std=5.0)
    neighbours = {(i, i + 1) for i in range(9) if target not in (i, i + 1)}
    assert neighbours <= set(chosen)
    assert len(chosen) < len(far_of(shares, spreads, target=target, cell_std=5.0)) / 2


def test_every_far_pair_of_a_chain_is_counted_where_noise_is_small():
    shares, spreads = distances_of_chain(10, 0.85)
    assert chosen_of(shares, spreads, target=None, cell_std=0.01) == tuple(pairs_of_columns(10))


def test_every_far_pair_is_counted_where_no_path_explains_it():
    """Columns all alike at a small distance: a path of two such pairs implies a small part of it."""
    pairs = pairs_of_columns(8)
    shares, spreads = np.full(len(pairs), 0.15), np.full(8, 0.5)
    assert chosen_of(shares, spreads, target=None, cell_std=5.0) == tuple(pairs)


def test_a_tree_that_saves_few_tables_is_not_believed():
    """One pair of twenty-one follows from two others; the rest do not."""
    pairs = pairs_of_columns(7)
    shares, spreads = np.full(len(pairs), 0.15), np.full(7, 0.5)
    for pair, share in (((0, 1), 0.4), ((1, 2), 0.4), ((0, 2), 0.32)):
        shares[pairs.index(pair)] = share
    explained = beyond_a_tree(shares, pairs, spreads, pairs)
    assert explained[pairs.index((0, 2))] == pytest.approx(LEAST_LEFT)
    assert len(worth_counting(explained, pairs, size=2000, cell_std=2.0, always=0)) == 20
    assert chosen_of(shares, spreads, target=None, cell_std=2.0) == tuple(pairs)


def distances_of_clusters(columns: int, *, seed: int = 0) -> tuple[Floats, Floats]:
    """Exact distances and spreads of columns of many codes that are independent given five clusters, the last column."""
    rng = np.random.default_rng(seed)
    clusters = np.array([0.35, 0.25, 0.2, 0.15, 0.05])
    codes = rng.choice([3, 4, 5, 8, 10], columns - 1)
    given = [*(rng.dirichlet(np.full(count, 0.2), 5) for count in codes), np.eye(5)]
    distributions = [clusters @ of for of in given]
    shares = [
        np.abs(
            (given[i] * clusters[:, None]).T @ given[j] - np.outer(distributions[i], distributions[j])
        ).sum()
        / 2
        for i, j in pairs_of_columns(columns)
    ]
    return np.array(shares), np.array([1.0 - np.square(distribution).sum() for distribution in distributions])


def noisy_clusters(seed: int, *, std: float) -> tuple[Floats, Floats]:
    shares, spreads = distances_of_clusters(20, seed=seed)
    noise = std * np.random.default_rng(seed).normal(size=len(shares))
    return np.maximum(shares + noise, 0.0), spreads


@pytest.mark.parametrize("seed", range(4))
def test_clusters_of_columns_of_many_codes_are_counted_by_their_common_cause(seed):
    """No path of distances says what one pair of such columns has; all pairs together do."""
    shares, spreads = noisy_clusters(seed, std=0.02)
    chosen = chosen_of(shares, spreads, target=19, cell_std=5.0, share_std=0.02)
    assert len(chosen) <= WITNESSES
    assert len(far_of(shares, spreads, target=19, cell_std=5.0)) > 130


def test_a_pair_that_a_believed_tree_does_not_explain_is_counted():
    shares, spreads = distances_of_clusters(20)
    pairs = pairs_of_columns(20)
    before = chosen_of(shares, spreads, target=19, cell_std=5.0)
    place = next(at for at in np.argsort(shares) if 0.1 < shares[at] < 0.2 and pairs[at] not in before)
    shares[place] += 0.25
    assert pairs[place] in chosen_of(shares, spreads, target=19, cell_std=5.0)


def test_the_pairs_of_which_a_believed_tree_implies_most_are_counted():
    """They tell how much of the implied distributions is true; the tree alone would leave nothing to count beside the target's pairs."""
    columns, target = 12, 0
    pairs = pairs_of_columns(columns)
    strength = np.linspace(0.6, 0.9, columns)
    strength[target] = 1.0
    shares, spreads = np.array([0.5 * strength[i] * strength[j] for i, j in pairs]), np.full(columns, 0.5)
    chosen = chosen_of(shares, spreads, target=target, cell_std=2.0)
    assert set(chosen) == {(10, 11), (9, 11), (9, 10)} or set(chosen) == {(10, 11), (9, 11), (8, 11)}
    assert len(chosen) == WITNESSES


def test_one_pair_is_counted_where_a_believed_tree_leaves_none():
    """Targets take nothing from a tree of pairs with the target alone (`models.tables.estimation.implied`)."""
    pairs = pairs_of_columns(8)
    shares = np.array([0.5 * 0.4**0.5 if 0 in pair else 0.2 for pair in pairs])
    shares[[pair in ((1, 2), (1, 3), (1, 4)) for pair in pairs]] = 0.17
    spreads = np.full(8, 0.5)
    assert len(far_of(shares, spreads, target=0, cell_std=21.0)) > 3
    assert chosen_of(shares, spreads, target=0, cell_std=21.0) == ((1, 2),)


def test_paths_are_not_taken_for_the_only_ones_where_they_save_few_tables(monkeypatch):
    """The common cause is no target, so its own pairs are tables too."""
    shares, spreads = noisy_clusters(0, std=0.02)
    chosen = chosen_of(shares, spreads, target=3, cell_std=5.0, share_std=0.02)
    monkeypatch.setattr(pair_choice, "MOST_TABLES_OF_PATHS", 1.0)
    fewest = chosen_of(shares, spreads, target=3, cell_std=5.0, share_std=0.02)
    assert len(fewest) == 18 + WITNESSES
    assert len(fewest) + 19 < pair_choice.MOST_TABLES * (len(chosen) + 19)


def test_the_choice_follows_the_columns_into_another_order():
    rng = np.random.default_rng(0)
    pairs = pairs_of_columns(9)
    shares, spreads = rng.random(len(pairs)) * 0.4, rng.uniform(0.4, 0.8, 9)
    order = rng.permutation(9)
    place = {pair: at for at, pair in enumerate(pairs)}

    def renamed(pair: Pair) -> Pair:
        i, j = sorted(int(order[column]) for column in pair)
        return i, j

    moved = np.empty_like(shares)
    for pair, share in zip(pairs, shares, strict=True):
        moved[place[renamed(pair)]] = share
    moved_spreads = np.empty_like(spreads)
    moved_spreads[order] = spreads
    expected = {renamed(pair) for pair in chosen_of(shares, spreads, target=3, cell_std=5.0)}
    assert set(chosen_of(moved, moved_spreads, target=int(order[3]), cell_std=5.0)) == expected


@pytest.mark.parametrize("columns", [2, 3])
def test_few_columns_and_columns_of_one_code_are_chosen_from(columns):
    pairs = list(itertools.combinations(range(columns), 2))
    nothing = np.zeros(len(pairs))
    assert len(chosen_of(nothing, np.zeros(columns), target=None, cell_std=5.0)) == 1
    assert chosen_of(nothing, np.zeros(columns), target=0, cell_std=5.0) == ()


def beyond_a_tree(shares: Floats, pairs: Sequence[Pair], spreads: Floats, strong: Sequence[Pair]) -> Floats:
    """What a tree of the strong pairs leaves where it is one of several causes."""
    tree = tree_of(shares, pairs, spreads, strong)
    return beyond(tree, shares, np.sqrt(np.maximum(shares**2 - tree.implied**2, 0.0)))


def tree_of(shares: Floats, pairs: Sequence[Pair], spreads: Floats, strong: Sequence[Pair]) -> TreeOfPairs:
    return spanning_tree(shares, shares, pairs, spreads, np.array([pair in strong for pair in pairs]))


def chosen_of(
    shares: Floats,
    spreads: Floats,
    *,
    target: int | None,
    cell_std: float,
    share_std: float = 0.0,
) -> tuple[Pair, ...]:
    return pairs_to_count(
        shares,
        pairs_of_columns(len(spreads)),
        spreads,
        target_index=target,
        size=2000,
        cell_std=cell_std,
        share_std=share_std,
    )


def far_of(shares: Floats, spreads: Floats, *, target: int | None, cell_std: float) -> tuple[Pair, ...]:
    """The choice without a tree."""
    pairs = pairs_of_columns(len(spreads))
    free = [place for place, pair in enumerate(pairs) if target not in pair]
    return worth_counting(
        shares[free],
        [pairs[place] for place in free],
        size=2000,
        cell_std=cell_std,
        always=len(pairs) - len(free),
    )


def test_more_pairs_are_chosen_where_noise_is_less_and_always_one_table_is_counted():
    pairs = pairs_of_columns(6)
    shares = np.linspace(0.0, 0.6, len(pairs))

    def chosen(cell_std: float, *, always: int = 5) -> int:
        return len(worth_counting(shares, pairs, size=2000, cell_std=cell_std, always=always))

    counts = [chosen(cell_std) for cell_std in (0.001, 1.0, 5.0, 20.0, 100.0, 1e5)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] >= len(pairs) - 1
    assert counts[-1] == 0
    assert chosen(1e5, always=0) == 1
    strongest = worth_counting(shares, pairs, size=2000, cell_std=20.0, always=5)
    assert set(strongest) == set(pairs[-len(strongest) :])
