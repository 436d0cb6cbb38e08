import math

import numpy as np
import pytest

from benchmarks.tables.budget import log_delta, mu_of, rho_of
from core.dp.gaussian import epsilon_of


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-6), (1.0, 1e-9), (10.0, 1e-5)])
def test_rho_is_the_largest_within_epsilon_and_delta(epsilon, delta):
    rho = rho_of(epsilon, delta)
    orders = 1 + np.exp(np.linspace(-8, 12, 200_001))

    def smallest_log_delta(rho):
        return (
            (orders - 1) * (orders * rho - epsilon) - np.log(orders - 1) + orders * np.log1p(-1 / orders)
        ).min()

    assert smallest_log_delta(rho) <= math.log(delta) + 1e-6
    assert smallest_log_delta(rho * 1.001) > math.log(delta)
    assert log_delta(rho, epsilon) <= math.log(delta)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-6), (10.0, 1e-5)])
def test_rho_lies_between_the_loose_conversion_and_the_exact_gaussian(epsilon, delta):
    loose = (math.sqrt(epsilon - math.log(delta)) - math.sqrt(-math.log(delta))) ** 2
    assert 1.1 * loose < rho_of(epsilon, delta) < mu_of(epsilon, delta) ** 2 / 2


def test_mu_spends_the_whole_epsilon():
    assert epsilon_of(mu_of(1.0, 1e-6), 1e-6) == pytest.approx(1.0, rel=1e-9)
