import math

import dp_accounting
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from core.dp.gaussian import epsilon_of, largest_mu, log_delta
from core.dp.guarantee import PrivacyGuarantee


@pytest.mark.parametrize("mu", [1e-3, 0.05, 0.2367, 1.0, 4.0, 30.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-2])
def test_epsilon_agrees_with_the_library_and_is_not_below_it(mu: float, delta: float):
    theirs = dp_accounting.get_epsilon_gaussian(1 / mu, delta)

    ours = epsilon_of(mu, delta)

    assert ours == pytest.approx(theirs, rel=1e-8, abs=1e-10)
    assert ours >= theirs - 1e-11


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 10.0, 1000.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-6, 1e-3])
def test_largest_mu_is_the_librarys_smallest_noise(epsilon: float, delta: float):
    mu = largest_mu(PrivacyGuarantee(epsilon=epsilon, delta=delta))

    assert 1 / mu == pytest.approx(dp_accounting.get_sigma_gaussian(epsilon, delta), rel=1e-6)
    assert log_delta(mu, epsilon) <= math.log(delta)


@given(st.floats(0.01, 20), st.floats(0.001, 20))
def test_log_delta_is_the_formula_where_the_formula_keeps_its_digits(mu: float, epsilon: float):
    formula = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)

    if formula > 1e-4:
        assert math.exp(log_delta(mu, epsilon)) == pytest.approx(formula, rel=1e-9)


def test_a_loss_that_delta_covers_has_epsilon_zero():
    assert epsilon_of(1e-9, 1e-3) == 0.0


def test_a_tiny_mu_still_has_a_finite_positive_delta():
    assert -math.inf < log_delta(1e-20, 0.0) < 0
