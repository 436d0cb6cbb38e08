import math

import numpy as np
import pytest
from dp_accounting.pld.privacy_loss_distribution import (
    from_discrete_gaussian_mechanism,
    from_laplace_mechanism,
)
from dp_accounting.pld.privacy_loss_mechanism import AdjacencyType, GaussianPrivacyLoss
from scipy.integrate import quad
from scipy.special import log_ndtr, ndtr
from scipy.stats import norm

from core.dp.connected_dots import connect_dots
from core.dp.hockey_stick import Direction, hockey_stick
from core.dp.mechanism import DiscreteGaussian, Laplace
from tests.core.dp.builders import gaussian, sampled

GRID = np.linspace(-3, 3, 241)
THEIRS = {Direction.REMOVED: AdjacencyType.REMOVE, Direction.ADDED: AdjacencyType.ADD}


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize(("rate", "sigma"), [(1.0, 0.7), (1.0, 4.0), (0.3, 1.0), (0.02, 6.0), (0.001, 0.5)])
def test_the_sampled_gaussian_is_the_librarys(rate: float, sigma: float, direction: Direction):
    theirs = GaussianPrivacyLoss(sigma, sampling_prob=rate, adjacency_type=THEIRS[direction])

    curve = hockey_stick(sampled(rate, sigma), direction)

    assert curve.deltas(GRID) == pytest.approx(theirs.get_delta_for_epsilon(GRID), abs=1e-11)
    bounds = theirs.connect_dots_bounds()
    assert curve.lowest <= bounds.epsilon_lower + 1e-3
    assert curve.highest >= bounds.epsilon_upper - 1e-3


@pytest.mark.parametrize("direction", Direction)
def test_the_sampled_gaussian_is_the_brute_force_integral(direction: Direction):
    rate, sigma, epsilon = 0.2, 1.3, 0.15

    def mixture(x: float) -> float:
        return float((1 - rate) * norm.pdf(x, scale=sigma) + rate * norm.pdf(x, loc=1, scale=sigma))

    def plain(x: float) -> float:
        return float(norm.pdf(x, scale=sigma))

    first, second = (mixture, plain) if direction is Direction.REMOVED else (plain, mixture)
    exact, _ = quad(lambda x: max(first(x) - math.exp(epsilon) * second(x), 0.0), -12, 14, limit=400)

    assert hockey_stick(sampled(rate, sigma), direction).deltas(np.asarray([epsilon]))[0] == pytest.approx(
        exact, abs=1e-8
    )


def test_both_directions_of_an_unsampled_gaussian_are_one_curve():
    one, other = (hockey_stick(gaussian(1.5), direction).deltas(GRID) for direction in Direction)

    assert one == pytest.approx(other, abs=1e-13)


@pytest.mark.parametrize("sigma", [0.4, 1.0, 7.3])
def test_the_discrete_gaussian_is_the_sum_over_integers(sigma: float):
    integers = np.arange(-400, 401)
    weights = np.exp(-(integers**2) / (2 * sigma**2))
    weights /= weights.sum()
    shifted = np.roll(weights, 1)
    exact = [np.maximum(shifted - math.exp(epsilon) * weights, 0).sum() for epsilon in GRID]

    curve = hockey_stick(DiscreteGaussian(noise_multiplier=sigma), Direction.REMOVED)

    assert curve.deltas(GRID) == pytest.approx(exact, abs=1e-11)
    assert curve.deltas(np.asarray([-200.0]))[0] == pytest.approx(1.0)


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_laplace_is_the_closed_form(scale: float):
    exact = [
        quad(lambda x, e=epsilon: max(math.exp(-abs(x - 1) / scale) - math.exp(e - abs(x) / scale), 0) / (2 * scale), -60, 60,
             points=[0, 0.5, 1], limit=500)[0]
        for epsilon in (-2.5, -0.3, 0.0, 0.2, 1.9)
    ]  # fmt: skip

    ours = hockey_stick(Laplace(noise_multiplier=scale), Direction.ADDED).deltas(
        np.asarray([-2.5, -0.3, 0.0, 0.2, 1.9])
    )

    assert ours == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize(
    ("leaf", "theirs"),
    [
        (
            DiscreteGaussian(noise_multiplier=3.0),
            from_discrete_gaussian_mechanism(3.0, value_discretization_interval=1e-3),
        ),
        (Laplace(noise_multiplier=2.0), from_laplace_mechanism(2.0, value_discretization_interval=1e-3)),
    ],
)
def test_connected_dots_bound_delta_no_worse_than_the_library(leaf, theirs):
    losses = connect_dots(leaf, Direction.REMOVED, 1e-3, reach=300.0)
    values = (losses.lowest + np.arange(len(losses.probabilities))) * 1e-3

    for epsilon in (0.0, 0.1234, 0.4):
        above = values > epsilon
        ours = losses.infinite + losses.probabilities[above] @ -np.expm1(epsilon - values[above])
        exact = hockey_stick(leaf, Direction.REMOVED).deltas(np.asarray([epsilon]))[0]
        assert exact - 1e-12 <= ours <= theirs.get_delta_for_epsilon(epsilon) + 1e-6
    assert losses.probabilities.sum() + losses.infinite == pytest.approx(1.0, abs=1e-9)


def test_almost_no_noise_keeps_its_range_finite():
    for direction in Direction:
        curve = hockey_stick(sampled(0.5, 0.01), direction)
        assert math.isfinite(curve.lowest)
        assert math.isfinite(curve.highest)


@pytest.mark.parametrize("rate", [1.0, 0.5, 1e-3])
@pytest.mark.parametrize("epsilon", [590.0, 610.0, 705.0, 720.0, 1200.0, 1300.0])
def test_losses_that_overflow_an_exponential_still_count(rate: float, epsilon: float):
    # With so little noise delta is rate (1 - Phi((c - 1) / sigma)) up to exp(-epsilon) Phi(c / sigma) terms that the exact
    # difference of logarithms below keeps.
    sigma = 0.02
    cut = sigma**2 * (epsilon - math.log(rate)) + 0.5
    below = math.exp(min(epsilon + float(log_ndtr(-cut / sigma)), 0.0))
    exact = rate * (float(ndtr(cut / sigma)) - float(ndtr((cut - 1) / sigma))) - below
    curve = hockey_stick(sampled(rate, sigma), Direction.REMOVED)
    assert float(curve.deltas(np.asarray([epsilon]))[0]) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(
    "leaf", [gaussian(1e-3), DiscreteGaussian(noise_multiplier=0.02), Laplace(noise_multiplier=1e-3)]
)
def test_no_curve_is_without_an_answer_anywhere(leaf):
    epsilons = np.linspace(-5000.0, 5000.0, 2001)
    for direction in Direction:
        deltas = hockey_stick(leaf, direction).deltas(epsilons)
        assert np.all((deltas >= 0.0) & (deltas <= 1.0))
