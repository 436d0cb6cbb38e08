"""The pairs that are counted: those far from independence, or fewer where a tree of them tells the rest."""

import itertools

import numpy as np
import numpy.typing as npt
import pytest

from models.anchor import Pair
from models.pair_choice import LEAST_LEFT, beyond_a_tree, pairs_to_count, worth_counting
from models.screening import pairs_of_columns

Floats = npt.NDArray[np.float64]


def distances_of_chain(columns: int, correlation: float, *, share: float = 0.5) -> tuple[Floats, Floats]:
    """Total variation distances from independence, and spreads, of a Markov chain of columns of two codes.

    Two columns of two codes differ from independence by their covariance in each of four cells.
    """
    variance = share * (1.0 - share)
    shares = [2.0 * variance * correlation ** (j - i) for i, j in pairs_of_columns(columns)]
    return np.array(shares), np.full(columns, 2.0 * variance)


@pytest.mark.parametrize("share", [0.5, 0.1])
@pytest.mark.parametrize("correlation", [0.9, 0.6])
def test_nothing_but_the_floor_is_left_of_the_pairs_that_a_chain_implies(correlation, share):
    shares, spreads = distances_of_chain(7, correlation, share=share)
    pairs = pairs_of_columns(7)
    left = beyond_a_tree(shares, pairs, spreads, pairs)
    for (i, j), before, after in zip(pairs, shares, left, strict=True):
        assert after == pytest.approx(before if j == i + 1 else min(before, LEAST_LEFT), abs=1e-7)


def test_a_pair_that_no_path_of_strong_pairs_joins_keeps_its_distance():
    shares, spreads = distances_of_chain(6, 0.9)
    pairs = pairs_of_columns(6)
    strong = {(0, 1), (1, 2), (3, 4), (4, 5)}
    left = beyond_a_tree(shares, pairs, spreads, strong)
    across = [(i < 3) != (j < 3) for i, j in pairs]
    np.testing.assert_array_equal(left[across], shares[across])
    assert (left[~np.array(across)] < shares[~np.array(across)]).sum() == 2


def test_what_is_left_of_a_pair_grows_with_what_its_path_does_not_tell():
    shares, spreads = distances_of_chain(3, 0.7)
    pairs = pairs_of_columns(3)
    place = pairs.index((0, 2))
    rest = []
    for more in (0.0, 0.02, 0.05, 0.1):
        changed = shares.copy()
        changed[place] += more
        rest.append(beyond_a_tree(changed, pairs, spreads, {(0, 1), (1, 2)})[place])
    assert rest[0] == pytest.approx(LEAST_LEFT)
    assert rest == sorted(rest)
    assert rest[-1] > 0.2


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
    """One pair of fifteen follows from two others; the rest do not."""
    pairs = pairs_of_columns(6)
    shares, spreads = np.full(len(pairs), 0.15), np.full(6, 0.5)
    for pair, share in (((0, 1), 0.4), ((1, 2), 0.4), ((0, 2), 0.32)):
        shares[pairs.index(pair)] = share
    explained = beyond_a_tree(shares, pairs, spreads, pairs)
    assert explained[pairs.index((0, 2))] == pytest.approx(LEAST_LEFT)
    assert len(worth_counting(explained, pairs, declared_size=2000, cell_std=2.0, always=0)) == 14
    assert chosen_of(shares, spreads, target=None, cell_std=2.0) == tuple(pairs)


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


def chosen_of(shares: Floats, spreads: Floats, *, target: int | None, cell_std: float) -> tuple[Pair, ...]:
    return pairs_to_count(
        shares,
        pairs_of_columns(len(spreads)),
        spreads,
        target_index=target,
        declared_size=2000,
        cell_std=cell_std,
    )


def far_of(shares: Floats, spreads: Floats, *, target: int | None, cell_std: float) -> tuple[Pair, ...]:
    """The choice without a tree."""
    pairs = pairs_of_columns(len(spreads))
    free = [place for place, pair in enumerate(pairs) if target not in pair]
    return worth_counting(
        shares[free],
        [pairs[place] for place in free],
        declared_size=2000,
        cell_std=cell_std,
        always=len(pairs) - len(free),
    )


def test_more_pairs_are_chosen_where_noise_is_less_and_always_one_table_is_counted():
    pairs = pairs_of_columns(6)
    shares = np.linspace(0.0, 0.6, len(pairs))

    def chosen(cell_std: float, *, always: int = 5) -> int:
        return len(worth_counting(shares, pairs, declared_size=2000, cell_std=cell_std, always=always))

    counts = [chosen(cell_std) for cell_std in (0.001, 1.0, 5.0, 20.0, 100.0, 1e5)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] >= len(pairs) - 1
    assert counts[-1] == 0
    assert chosen(1e5, always=0) == 1
    strongest = worth_counting(shares, pairs, declared_size=2000, cell_std=20.0, always=5)
    assert set(strongest) == set(pairs[-len(strongest) :])
