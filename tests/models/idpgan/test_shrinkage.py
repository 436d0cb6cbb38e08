"""Noisy counts shrunk towards a generator's: as much as noise explains, and nearer to the truth than either."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from models.anchor import MomentLayout
from models.idpgan.shrinkage import shrink
from models.idpgan.targets import MomentTargets

CARDINALITIES = (12, 9, 3)
LAYOUT = MomentLayout(cardinalities=CARDINALITIES, target_index=2, by_class=False)
Floats = NDArray[np.float64]


def shares(seed: int) -> Floats:
    """Two-way shares of 40 kinds of rows, some of them common; (1, cells, cells)."""
    rng = np.random.default_rng(seed)
    kinds = np.concatenate([rng.dirichlet(np.full(cells, 0.4), 40) for cells in CARDINALITIES], axis=1)
    weights = rng.dirichlet(np.full(40, 0.5))
    pairs = (kinds.T * weights) @ kinds
    for block in LAYOUT.blocks:
        pairs[block, block] = 0
    return pairs[None]


def targets_of(pairs: Floats, std: float) -> MomentTargets:
    cells = sum(CARDINALITIES)
    return MomentTargets(
        pairs=pairs,
        pair_std=np.full((cells, cells), std),
        ones=np.zeros((1, cells)),
        one_std=np.ones((1, cells)),
        law=np.ones(1),
    )


def noisy(truth: Floats, std: float, seed: int) -> Floats:
    noise = np.triu(np.random.default_rng(seed).normal(0, std, truth.shape[1:]), 1) * (truth[0] != 0)
    return truth + noise + noise.T


def distance(first: Floats, second: Floats) -> float:
    return float(
        np.mean(
            [np.abs((first - second)[:, i, j]).sum() / 2 for i, j in itertools.combinations(LAYOUT.blocks, 2)]
        )
    )


@pytest.mark.parametrize("std", [0.001, 0.003, 0.01])
def test_shrunk_counts_are_nearer_to_the_truth_than_the_noisy_ones_and_than_the_generator(std: float) -> None:
    truth = shares(1)
    made = 0.7 * truth + 0.3 * shares(2)
    for seed in range(5):
        counts = noisy(truth, std, seed)
        shrunk = shrink(targets_of(counts, std), made, LAYOUT).pairs
        assert distance(shrunk, truth) < min(distance(counts, truth), distance(made, truth))


def test_a_generator_that_noise_explains_is_kept() -> None:
    truth = shares(3)
    counts = noisy(truth, 0.01, 4)
    shrunk = shrink(targets_of(counts, 0.011), truth, LAYOUT).pairs
    np.testing.assert_allclose(shrunk, truth, atol=1e-12)


def test_exact_counts_are_kept() -> None:
    truth, made = shares(5), shares(6)
    shrunk = shrink(targets_of(truth, 1e-9), made, LAYOUT).pairs
    np.testing.assert_allclose(shrunk, truth, atol=1e-5)


def test_shrunk_counts_stay_symmetric_and_empty_inside_columns() -> None:
    shrunk = shrink(targets_of(noisy(shares(7), 0.003, 8), 0.003), shares(9), LAYOUT).pairs
    np.testing.assert_array_equal(shrunk, shrunk.transpose(0, 2, 1))
    for block in LAYOUT.blocks:
        assert not shrunk[:, block, block].any()


def test_every_slice_is_shrunk_on_its_own() -> None:
    layout = MomentLayout(cardinalities=(*CARDINALITIES, 2), target_index=3, by_class=True)
    truth, made = np.concatenate([shares(10), shares(11)]), np.concatenate([shares(11), shares(11)])
    targets = targets_of(truth, 0.004)
    both = shrink(targets, made, layout).pairs
    for index in range(2):
        alone = shrink(targets_of(truth[index : index + 1], 0.004), made[index : index + 1], LAYOUT).pairs
        np.testing.assert_array_equal(both[index], alone[0])
    np.testing.assert_allclose(both[1], made[1], rtol=1e-12)
