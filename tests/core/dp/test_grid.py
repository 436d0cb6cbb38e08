"""What the grid costs at most: one more Gaussian of `grid_mu`. The proof is in docs/mechanisms/accounting.md."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

from core.dp import loss
from core.dp.composition import Outline, composed_epsilon
from core.dp.connected_dots import connect_dots, grid_mu, spacing_of
from core.dp.hockey_stick import Direction
from core.dp.loss import GRID_SHARE, epsilon_of_leaves
from core.dp.mechanism import DiscreteGaussian, Laplace, Leaf
from tests.core.dp.builders import gaussian, sampled

SWEEP: list[tuple[dict[Leaf, int], float]] = [
    ({sampled(rate, sigma): count}, delta)
    for rate, sigma, count, delta in [
        (1e-4, 0.5, 10_000, 1e-6), (1e-3, 3.0, 50_000, 1e-6), (0.01, 0.7, 1000, 1e-6), (0.02, 8.0, 1000, 1e-12),
        (0.02, 20.0, 4000, 1e-6), (0.1, 10.0, 50, 1e-5), (0.1, 2.0, 1, 1e-6), (0.5, 5.0, 20, 1e-9),
        (0.999, 1000.0, 20_000, 1e-12), (0.01, 100.0, 1_000_000, 1e-6),
    ]
] + [
    ({DiscreteGaussian(noise_multiplier=20.0): 1, sampled(0.02, 8.0): 300, sampled(0.02, 6.0): 100, gaussian(5.0): 1}, 1e-6),
    ({Laplace(noise_multiplier=4.0): 1, sampled(0.05, 6.0): 100}, 1e-6),
    ({Laplace(noise_multiplier=2.0): 3}, 1e-6),
    ({DiscreteGaussian(noise_multiplier=1e7): 100}, 1e-9),
]  # fmt: skip


def on_grid(runs: dict[Leaf, int], delta: float, spacing: float) -> float:
    answers = []
    for direction in Direction:
        singles = [
            (connect_dots(leaf, direction, spacing, reach=30.0), count) for leaf, count in runs.items()
        ]
        answers.append(composed_epsilon(singles, Outline.of(singles, delta, spacing), delta, spacing))
    return max(answers)


def test_a_disc_in_a_square_bounds_the_normal_isoperimetric_function():
    # phi(ndtri(y)) >= 4 y (1 - y) / sqrt(2 pi): the proof's one inequality.
    y = np.linspace(1e-9, 1 - 1e-9, 100_001)
    isoperimetric = np.exp(-(ndtri(y) ** 2) / 2) / math.sqrt(2 * math.pi)

    assert np.all(isoperimetric >= 4 * y * (1 - y) / math.sqrt(2 * math.pi) * (1 - 1e-9))


@pytest.mark.parametrize("spacing", [1e-3, 0.1, 1.0])
def test_one_split_between_two_points_is_dominated_by_the_gaussian_of_the_grid(spacing: float):
    # A loss t above a point goes up by spacing - t with this probability; whoever bets on it then errs no less than under the Gaussian.
    mu = grid_mu(spacing=spacing, runs=1)
    for t in np.linspace(0.0, spacing, 1001)[1:-1]:
        up = -math.expm1(-t) / -math.expm1(-spacing)
        up_other = up * math.exp(t - spacing)
        assert ndtr(ndtri(up) - mu) <= up_other + 1e-15
        mean_of_inverse = up * math.exp(t - spacing) + (1 - up) * math.exp(t)
        assert mean_of_inverse == pytest.approx(1.0, rel=1e-12)
    nearest = max(
        ndtri(up) - ndtri(up * math.exp(t - spacing))
        for t in np.linspace(0.0, spacing, 1001)[1:-1]
        for up in [-math.expm1(-t) / -math.expm1(-spacing)]
    )
    assert nearest == pytest.approx(mu, rel=0.03)  # nothing much smaller would do


@pytest.mark.parametrize(("runs", "delta"), SWEEP[3:-2:2])
@pytest.mark.parametrize("factor", [8, 64])
def test_a_coarse_grid_costs_no_more_than_the_gaussian_it_stands_for(
    runs: dict[Leaf, int], delta: float, factor: int
):
    count = sum(runs.values())
    spacing = spacing_of(mu=math.sqrt(GRID_SHARE) * epsilon_of_leaves(runs, delta) / 5, runs=count)
    coarse = on_grid(runs, delta, spacing * factor)

    # The finer grid is an upper bound itself, of the composition with one more Gaussian.
    bound = on_grid(runs | {gaussian(1 / grid_mu(spacing=spacing * factor, runs=count)): 1}, delta, spacing)

    assert on_grid(runs, delta, spacing) <= coarse * (1 + 1e-9)
    assert coarse <= bound * (1 + 1e-9)


@pytest.mark.parametrize(("runs", "delta"), SWEEP)
def test_the_chosen_grid_is_within_two_percent_of_a_fine_one(
    runs: dict[Leaf, int], delta: float, monkeypatch: pytest.MonkeyPatch
):
    chosen = epsilon_of_leaves(runs, delta)

    monkeypatch.setattr(loss, "GRID_SHARE", GRID_SHARE / 64)
    monkeypatch.setattr(loss, "MOST_POINTS", 2**20)
    fine = epsilon_of_leaves(runs, delta)

    # Another window rounds differently, by what _RELATIVE and the rounding bound charge.
    assert fine * (1 - 1e-6) <= chosen <= fine * 1.02


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.floats(1e-12, 1e3), st.integers(1, 10**12))
def test_the_spacing_and_its_mu_are_each_others_inverse(mu: float, runs: int):
    assert grid_mu(spacing=spacing_of(mu=mu, runs=runs), runs=runs) == pytest.approx(mu, rel=1e-12)
    assert grid_mu(spacing=1.0, runs=runs) ** 2 == pytest.approx(math.pi * runs / 8, rel=1e-12)
