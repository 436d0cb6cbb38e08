"""The loss of a group against tight losses by the accounting library, and against the exact one of Gaussians."""

import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as library
from scipy.stats import binom, norm

from core.dp.accountant import epsilons
from core.dp.group_privacy import epsilon_of_group
from core.dp.mechanism import (
    Composed,
    Gaussian,
    Laplace,
    Parallel,
    PermuteAndFlip,
    PoissonSampled,
    Repeated,
    Threshold,
)
from tests.cases import daily

DELTA = 1e-6


def steps(rate: float, noise: float, count: int) -> Repeated:
    sampled = PoissonSampled(sampling_rate=rate, mechanism=Gaussian(noise_multiplier=noise))
    return Repeated(count=count, mechanism=sampled)


@pytest.mark.parametrize("units", [2, 5])
def test_gaussians_are_exact(units):
    mechanism = Composed(parts=(Gaussian(noise_multiplier=8.0), Gaussian(noise_multiplier=6.0)))
    epsilon = epsilon_of_group(mechanism, units, delta=DELTA)
    mu = units * math.hypot(1 / 8, 1 / 6)
    delta = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    assert delta == pytest.approx(DELTA, rel=1e-6)


@pytest.mark.parametrize(
    ("rate", "noise", "count", "units"),
    daily(
        [(*kind, units) for kind in ((0.01, 1.0, 200), (0.5, 8.0, 20)) for units in (2, 5)],
        # Of these the library takes seconds for each.
        some=[(0.5, 8.0, 20, 5)],
    ),
)
def test_sampled_steps_are_bounded_above_their_tight_loss(rate, noise, count, units):
    tight = library.from_mixture_gaussian_mechanism(
        noise, np.arange(units + 1), binom.pmf(np.arange(units + 1), units, rate), value_discretization_interval=1e-3
    ).self_compose(count)  # fmt: skip
    exact = tight.get_epsilon_for_delta(DELTA)
    bound = epsilon_of_group(steps(rate, noise, count), units, delta=DELTA)
    assert exact * (1 - 1e-3) <= bound <= 1.5 * exact, (exact, bound)


def test_pure_releases_of_a_group_are_pure():
    for units in (2, 5):
        laplace = library.from_laplace_mechanism(10.0, sensitivity=units).get_epsilon_for_delta(DELTA)
        assert (
            laplace - 1e-3
            <= epsilon_of_group(Laplace(noise_multiplier=10.0), units, delta=DELTA)
            <= units / 10 * (1 + 1e-2)  # the grid of the accountant rounds up
        )
        choice = PermuteAndFlip(epsilon=0.1, candidates=3)
        assert epsilon_of_group(choice, units, delta=DELTA) <= units / 10 * (1 + 1e-2)


def test_one_unit_costs_what_the_accountant_says_and_more_units_cost_more():
    plain = Gaussian(noise_multiplier=5.0)
    mixed = Composed(parts=(plain, steps(0.02, 1.2, 300)))
    apart = Composed(parts=(Parallel(parts=(plain, steps(0.1, 3.0, 10))), plain))
    for mechanism in (plain, mixed, apart):
        one = epsilons(mechanism, delta=DELTA)
        costs = [epsilon_of_group(mechanism, units, delta=DELTA) for units in (1, 2, 3, 5, 10)]
        assert one.reported * (1 - 1e-9) <= costs[0] <= one.rdp * (1 + 1e-9)
        assert all(2 * one.reported * 0.99 <= cost for cost in costs[1:])
        assert costs == sorted(costs)
    assert epsilon_of_group(Composed(parts=()), 5, delta=DELTA) == 0
    assert epsilon_of_group(Composed(parts=(plain, Threshold(delta=1e-8))), 2, delta=DELTA) is None
