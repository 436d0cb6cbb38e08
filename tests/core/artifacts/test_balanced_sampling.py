"""Balanced samples: counts near their expectation, every code from its own distribution, and no code favoured."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from core.artifacts.sampling.balanced_sampling import (
    CHUNK_CELLS,
    CHUNK_ROWS,
    FEWEST_EXPECTED,
    MOST_CELLS,
    MOST_ROWS,
    ROWS_OF_COMBINATION,
    balance,
    is_balanced,
    normalise,
    rows_together,
    stratified_uniforms,
)
from core.artifacts.sampling.sampler import Sampler
from tests.core.artifacts.stand_in import LABEL_DISTRIBUTION, WARD_DISTRIBUTION, bundle

Codes = NDArray[np.int64]
Distributions = NDArray[np.float32]
SHAPES = [(3, 2), (7,), (2, 5, 30, 4, 2), (12,) * 8]


def distributions_with(cardinalities: tuple[int, ...], rows: int, seed: int) -> Distributions:
    """Distributions that depend on a latent vector, so that columns do on one another; some codes are rare."""
    rng = np.random.default_rng(seed)
    latent = rng.standard_normal((rows, 4))
    logits = latent @ rng.standard_normal((4, sum(cardinalities))) + 2 * rng.standard_normal(
        sum(cardinalities)
    )
    weights = np.exp(logits.T, dtype=np.float32)
    normalise(weights, cardinalities)
    return weights.T.copy()


def draw(distributions: Distributions, cardinalities: tuple[int, ...], rng: np.random.Generator) -> Codes:
    stops = np.cumsum(cardinalities)[:-1]
    sums = [np.cumsum(block, axis=1) for block in np.split(distributions, stops, axis=1)]
    return np.stack(
        [(own[:, :-1] <= rng.random((len(distributions), 1)) * own[:, -1:]).sum(axis=1) for own in sums],
        axis=1,
    )


def balanced(
    distributions: Distributions, cardinalities: tuple[int, ...], seed: int
) -> tuple[Codes, Codes, Codes]:
    """Codes before, codes after, and what they were drawn as the second time."""
    rng = np.random.default_rng(seed)
    first, second = draw(distributions, cardinalities, rng), draw(distributions, cardinalities, rng)
    codes = first.copy()
    balance(codes, second, distributions, cardinalities, rng)
    return first, codes, second


def one_hot(codes: Codes, cardinalities: tuple[int, ...]) -> Distributions:
    return np.concatenate(
        [np.eye(cells, dtype=np.float32)[codes[:, column]] for column, cells in enumerate(cardinalities)],
        axis=1,
    )


def distance(codes: Codes, distributions: Distributions, cardinalities: tuple[int, ...]) -> float:
    """What balancing lowers."""
    hot, starts = one_hot(codes, cardinalities), np.cumsum((0, *cardinalities))
    surplus = hot.T @ hot - distributions.T @ distributions
    for start, stop in itertools.pairwise(starts):
        surplus[start:stop, start:stop] = 0
    alone = (hot - distributions).sum(axis=0)
    return float((surplus**2).sum() / 4 + (alone**2).sum() / 2)


@pytest.mark.parametrize("cardinalities", SHAPES)
@pytest.mark.parametrize("rows", [300, 3000])
def test_counts_are_nearer_to_their_expectation(cardinalities: tuple[int, ...], rows: int) -> None:
    distributions = distributions_with(cardinalities, rows, seed=1)
    first, codes, _ = balanced(distributions, cardinalities, seed=2)
    assert distance(codes, distributions, cardinalities) < 0.5 * distance(first, distributions, cardinalities)


@pytest.mark.parametrize("cardinalities", [(4, 4, 4), (2, 5, 30, 4, 2), (12,) * 8])
def test_of_many_combinations_every_code_is_one_of_the_two_draws(cardinalities: tuple[int, ...]) -> None:
    first, codes, second = balanced(distributions_with(cardinalities, 500, seed=3), cardinalities, seed=4)
    assert ((codes == first) | (codes == second)).all()
    assert (codes != first).any()


def test_rare_codes_stay_as_they_were_drawn() -> None:
    cardinalities = (40, 40, 3)
    distributions = distributions_with(cardinalities, 400, seed=5)
    rare = distributions.sum(axis=0) < FEWEST_EXPECTED
    assert 0 < rare.sum() < len(rare)
    first, codes, _ = balanced(distributions, cardinalities, seed=6)
    before, after = one_hot(first, cardinalities), one_hot(codes, cardinalities)
    assert np.array_equal(before[:, rare], after[:, rare])


def test_no_code_is_favoured() -> None:
    """Mean counts of many samples have their expectation."""
    cardinalities, samples, rows = (2, 9, 20, 4), 60, 600
    total = expected = variance = np.zeros(sum(cardinalities))
    distributions = distributions_with(cardinalities, rows, seed=7)
    for seed in range(samples):
        _, codes, _ = balanced(distributions, cardinalities, seed=100 + seed)
        total = total + one_hot(codes, cardinalities).sum(axis=0)
        expected = expected + distributions.sum(axis=0)
        variance = variance + (distributions * (1 - distributions)).sum(axis=0)
    assert (np.abs(total - expected) < 5 * np.sqrt(variance) + 1e-3).all()
    common = expected / samples > 30
    assert (np.abs(total / expected - 1)[common] < 0.01).all()


def counts_of(codes: Codes, cardinalities: tuple[int, ...]) -> Distributions:
    flat = np.ravel_multi_index(tuple(codes.T), cardinalities)
    return np.bincount(flat, minlength=int(np.prod(cardinalities))).astype(np.float32)


def expected_of(distributions: Distributions, cardinalities: tuple[int, ...]) -> Distributions:
    """Expected number of rows with each combination of codes."""
    joint = np.ones((len(distributions), 1), dtype=np.float32)
    for block in np.split(distributions, np.cumsum(cardinalities)[:-1], axis=1):
        joint = (joint[:, :, None] * block[:, None, :]).reshape(len(distributions), -1)
    return joint.sum(axis=0)


FEW = (3, 2, 4)
ENOUGH = ROWS_OF_COMBINATION * 24


@pytest.mark.parametrize("rows", [ENOUGH, 3001])
def test_of_few_combinations_each_count_is_within_one_of_its_expectation(rows: int) -> None:
    distributions = distributions_with(FEW, rows, seed=13)
    first, codes, _ = balanced(distributions, FEW, seed=14)
    expected = expected_of(distributions, FEW)
    assert np.abs(counts_of(codes, FEW) - expected).max() < 1 + 1e-3
    assert np.abs(counts_of(first, FEW) - expected).max() > 3
    assert codes.shape == first.shape
    assert (np.diff(codes[:, 0]) < 0).sum() > rows / 10, "in random order"


def test_of_few_combinations_none_is_favoured() -> None:
    """Rare ones come as often as their distribution says, and what no distribution holds never comes."""
    samples, distributions = 400, distributions_with(FEW, ENOUGH, seed=15)
    distributions[:, 3] = 0  # a code of the second column
    distributions[:, 4] = 1
    expected = expected_of(distributions, FEW)
    rare = (expected > 0) & (expected < 1)
    assert rare.any()
    total = sum(counts_of(balanced(distributions, FEW, seed=16 + seed)[1], FEW) for seed in range(samples))
    assert not total[expected == 0].any()
    # A count deviates by less than one in each sample.
    assert (np.abs(total / samples - expected) < 5 * 0.5 / np.sqrt(samples)).all()
    assert (total[rare & (expected > 0.1)] > 0).all()


def test_the_same_stream_gives_the_same_codes() -> None:
    assert np.array_equal(
        *(balanced(distributions_with(FEW, ENOUGH, seed=8), FEW, seed=9)[1] for _ in range(2))
    )
    distributions = distributions_with((4, 4), 200, seed=8)
    assert np.array_equal(
        balanced(distributions, (4, 4), seed=9)[1], balanced(distributions, (4, 4), seed=9)[1]
    )


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_few_rows_are_balanced_too(rows: int) -> None:
    distributions = distributions_with((3, 3), rows, seed=10)
    codes, second = np.zeros((rows, 2), dtype=np.int64), np.ones((rows, 2), dtype=np.int64)
    balance(codes, second, distributions, (3, 3), np.random.default_rng(0))
    assert codes.shape == (rows, 2)


def test_uniforms_lie_one_in_each_interval() -> None:
    uniforms = stratified_uniforms(1000, np.random.default_rng(11))
    assert np.array_equal(np.sort((uniforms * 1000).astype(int)), np.arange(1000))
    assert not np.array_equal(np.argsort(uniforms), np.arange(1000))
    assert stratified_uniforms(0, np.random.default_rng(0)).shape == (0,)


def test_large_samples_and_wide_tables_are_not_balanced() -> None:
    assert is_balanced(MOST_ROWS, (MOST_CELLS,))
    assert not is_balanced(MOST_ROWS + 1, (2, 2))
    assert not is_balanced(10, (MOST_CELLS, 1))


@pytest.mark.parametrize(
    ("cardinalities", "rows"),
    [((2, 2), MOST_ROWS), ((16,) * 16, 32_768), ((2,) * 400, CHUNK_ROWS), ((MOST_CELLS,), CHUNK_ROWS)],
)
def test_as_many_rows_are_balanced_together_as_memory_has_room_for(
    cardinalities: tuple[int, ...], rows: int
) -> None:
    together = rows_together(cardinalities)
    assert min(together, MOST_ROWS) == rows
    assert rows * sum(cardinalities) <= CHUNK_CELLS


def test_a_samplers_small_samples_are_balanced() -> None:
    rows, rng = 4000, np.random.default_rng(12)
    codes = Sampler(bundle()).codes(rows, rng)
    labels, wards = codes[:, 2], codes[:, 0]
    for label, share in enumerate(LABEL_DISTRIBUTION):
        count = np.sum(labels == label)
        assert abs(count - rows * share) <= 1
        for ward, distribution in enumerate(WARD_DISTRIBUTION[label]):
            # A draw would deviate by more than ten rows in two of three samples.
            assert abs(np.sum(wards[labels == label] == ward) - count * distribution) < 10
