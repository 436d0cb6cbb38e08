"""Counts of columns of few codes without an order, under a prior that all columns share."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from models.simplex import project_to_simplex
from models.tables.estimation.column_prior import (
    EVEN,
    FEWEST_CODES,
    MOST_CODES,
    SKEWED,
    ColumnPrior,
    posterior,
)

Floats = npt.NDArray[np.float64]
ROWS = 1000.0


def only(concentration: float) -> ColumnPrior:
    return ColumnPrior(weights=(np.concatenate([SKEWED, EVEN]) == concentration).astype(np.float64))


def drawn(codes: int, concentration: float, rng: np.random.Generator, *, columns: int) -> list[Floats]:
    return [ROWS * rng.dirichlet(np.full(codes, concentration)) for _ in range(columns)]


def noisy(counts: Sequence[Floats], std: float, rng: np.random.Generator) -> list[Floats]:
    return [each + rng.normal(0.0, std, len(each)) for each in counts]


def posterior_by_sampling(counts: Floats, std: float, concentration: float) -> tuple[Floats, float]:
    """Mean counts and the logarithm of the evidence, by draws from the prior."""
    shares = np.random.default_rng(1).dirichlet(np.full(len(counts), concentration), 400_000)
    logs = -0.5 * (((counts - ROWS * shares) / std) ** 2).sum(axis=1)
    weights = np.exp(logs - logs.max())
    return ROWS * (weights @ shares) / weights.sum(), float(np.log(weights.mean()) + logs.max())


@pytest.mark.parametrize("concentration", [0.1, 1.0, 3.0, 10.0, 100.0])
@pytest.mark.parametrize("counts", [(640.0, 250.0, 80.0, 60.0), (420.0, 180.0, 230.0, 200.0)])
def test_evidence_and_estimate_are_near_those_of_draws_from_the_prior(
    concentration: float, counts: tuple[float, ...]
) -> None:
    std, found = 90.0, np.array(counts)
    means, evidence = posterior_by_sampling(found, std, concentration)
    estimate = only(concentration).estimate(found, std, total=ROWS)
    assert np.abs(estimate - means).max() < 0.4 * std, "quantiles and means differ by less than the noise"
    _, reference = posterior_by_sampling(found, std, 1.0)
    assert evidence_of(found, std, concentration) - evidence_of(found, std, 1.0) == pytest.approx(
        evidence - reference, abs=1.2
    )


def evidence_of(counts: Floats, std: float, concentration: float) -> float:
    of_each = zip(np.concatenate([SKEWED, EVEN]), posterior(counts, std, ROWS).evidence, strict=True)
    return float(dict(of_each)[concentration])


@pytest.mark.parametrize("codes", [FEWEST_CODES, 7, MOST_CODES])
@pytest.mark.parametrize("std", [0.5, 40.0, 3000.0])
@pytest.mark.parametrize("concentration", [0.05, 50.0])
def test_estimates_are_counts_with_the_total(codes: int, std: float, concentration: float) -> None:
    rng = np.random.default_rng(codes)
    columns = noisy(drawn(codes, concentration, rng, columns=5), std, rng)
    prior = ColumnPrior.learnt(columns, [std] * 5, total=ROWS)
    assert np.isclose(prior.weights.sum(), 1.0)
    for counts in columns:
        estimate = prior.estimate(counts, std, total=ROWS)
        assert (estimate >= 0.0).all()
        assert np.isclose(estimate.sum(), ROWS, rtol=1e-3)


@pytest.mark.parametrize("counts", [(-50.0, -60.0, -10.0), (0.0, 0.0, 0.0), (5000.0, 5000.0, 5000.0)])
def test_counts_that_no_table_has_are_estimated_all_the_same(counts: tuple[float, ...]) -> None:
    prior = ColumnPrior.learnt([np.array(counts)], [20.0], total=ROWS)
    estimate = prior.estimate(np.array(counts), 20.0, total=ROWS)
    assert np.isfinite(estimate).all()
    assert np.isclose(estimate.sum(), ROWS, rtol=1e-3)


@pytest.mark.parametrize(("concentration", "most"), [(300.0, 0.35), (0.03, 0.9), (1.0, 1.0)])
def test_ten_columns_tell_whether_columns_are_even_or_skewed(concentration: float, most: float) -> None:
    rng, std, errors = np.random.default_rng(3), 150.0, np.zeros(2)
    for _ in range(20):
        truth = drawn(5, concentration, rng, columns=10)
        columns = noisy(truth, std, rng)
        prior = ColumnPrior.learnt(columns, [std] * 10, total=ROWS)
        for counts, real in zip(columns, truth, strict=True):
            estimate = prior.estimate(counts, std, total=ROWS)
            projected = project_to_simplex(counts, total=ROWS)
            errors += [np.abs(estimate - real).sum(), np.abs(projected - real).sum()]
    assert errors[0] < most * errors[1], errors[0] / errors[1]


def test_columns_of_many_codes_teach_nothing() -> None:
    many = np.random.default_rng(4).normal(10.0, 5.0, MOST_CODES + 1)
    weights = ColumnPrior.learnt([many], [5.0], total=ROWS).weights
    assert np.allclose(weights, 1.0 / len(weights))


def test_where_noise_is_small_counts_stay() -> None:
    counts = np.array([801.0, 152.0, 40.0, 7.0])
    estimate = ColumnPrior.learnt([counts], [1.0], total=ROWS).estimate(counts, 1.0, total=ROWS)
    assert np.abs(estimate - counts).max() < 1.0


@pytest.mark.parametrize("values", [[1e20, 3.0, -1e20], [-1e18, -1e18], [1e17, 1e17]])
def test_a_projection_of_values_that_hide_the_sum_has_the_sum(values: list[float]) -> None:
    projected = project_to_simplex(np.array(values), total=1.0)
    assert projected.sum() == 1.0
    assert projected.argmax() == np.argmax(values)
