"""The bounds cover, and they have power: checked on scores and guesses whose truth is known."""

import math

import numpy as np
import pytest
from scipy import stats

from core.dp.mechanism import Gaussian
from tests.audits.bounds import (
    Errors,
    binomial_lower,
    binomial_upper,
    epsilon_by_threshold,
    mu_by_location,
    mu_by_threshold,
)
from tests.audits.claims import largest_power, profile
from tests.cases import daily


def test_binomial_bounds_are_exactly_as_unlikely_as_they_say():
    upper, lower = binomial_upper(7, 50, confidence=0.99), binomial_lower(7, 50, confidence=0.99)
    assert stats.binom.cdf(7, 50, upper) == pytest.approx(0.01)
    assert stats.binom.sf(6, 50, lower) == pytest.approx(0.01)
    assert binomial_upper(50, 50, confidence=0.99) == 1.0
    assert binomial_lower(0, 50, confidence=0.99) == 0.0


@pytest.mark.parametrize("mu", daily([0.0, 1.0, 4.0], some=[1.0]))
def test_the_location_bounds_cover_the_truth_as_often_as_they_say(mu):
    """The bar is six standard deviations away from the stated 5 %: false alarms below 1e-7."""
    rng = np.random.default_rng(1)
    experiments, below, above = 150, 0, 0
    for _ in range(experiments):
        found = mu_by_location(rng.normal(mu, 1, 30), rng.normal(0, 1, 40), confidence=0.95)
        below += found.upper < mu
        above += found.lower > mu
        assert found.lower < found.estimate < found.upper
    slack = 6 * math.sqrt(0.05 * 0.95 / experiments)
    assert 0.05 - slack <= below / experiments <= 0.05 + slack
    assert 0.05 - slack <= above / experiments <= 0.05 + slack


def test_the_threshold_bounds_find_most_of_a_gaussian_and_never_more():
    """Of 4,000 scores a world at mu 4: the bound lies within 15 % below; the chance that it lies above is 1e-6."""
    rng = np.random.default_rng(2)
    errors = Errors.of(rng.normal(2, 1, 4000), rng.normal(-2, 1, 4000), threshold=0.0)
    assert 3.4 < mu_by_threshold(errors, confidence=1 - 1e-6) < 4.0


def test_a_test_that_errs_in_one_world_alone_proves_nothing():
    always = Errors(false_alarms=50, absent=50, misses=0, present=50)
    assert mu_by_threshold(always, confidence=0.9) == 0.0
    assert epsilon_by_threshold(always, delta=0.0, confidence=0.9) < 0.2


def test_the_epsilon_of_randomised_response_is_found():
    rng = np.random.default_rng(3)
    truth = math.exp(1.0) / (1 + math.exp(1.0))
    present, absent = rng.random(20000) < truth, rng.random(20000) > truth
    errors = Errors.of(present.astype(float), absent.astype(float), threshold=0.5)
    assert 0.9 < epsilon_by_threshold(errors, delta=0.0, confidence=1 - 1e-6) < 1.0


def test_the_curve_of_the_claim_touches_the_exact_curve_of_a_gaussian():
    alarms = np.array([0.01, 0.05, 0.2, 0.5])
    exact = stats.norm.cdf(stats.norm.ppf(alarms) + 1.5)
    allowed = largest_power(profile(Gaussian(noise_multiplier=1 / 1.5)), alarms)
    assert (allowed >= exact).all()
    np.testing.assert_allclose(allowed, exact, atol=0.02)
