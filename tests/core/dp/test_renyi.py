import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting import rdp as library
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from core.dp.mechanism import DiscreteGaussian, Laplace, PoissonSampled
from core.dp.renyi import (
    FINE_ORDERS,
    INTEGERS,
    epsilon_of_rdp,
    rdp_of_leaf,
    rdp_of_leaves,
    sampled_gaussian_log_moments,
)
from tests.core.dp.builders import gaussian, sampled
from tests.core.dp.dp_events import to_event

ORDERS = np.asarray([2.0, 4.0, 6.0, 8.0, 12.0, 16.0, 32.0, 64.0, 256.0])


def library_rdp(mechanism, orders) -> np.ndarray:
    accountant = library.RdpAccountant(list(orders))
    accountant.compose(to_event(mechanism))
    # private: the library shows an epsilon, and no divergence by order
    return np.asarray(accountant._rdp)


@pytest.mark.parametrize(
    ("rate", "multiplier"), [(0.02, 6.0), (0.5, 1.0), (0.001, 0.6), (0.05, 20.0), (0.999, 2.0)]
)
def test_integer_orders_agree_with_both_libraries(rate: float, multiplier: float):
    from opacus.accountants.analysis import rdp as opacus_rdp

    ours = rdp_of_leaf(sampled(rate, multiplier), ORDERS)

    assert ours == pytest.approx(library_rdp(sampled(rate, multiplier), ORDERS), rel=1e-9)
    opacus = opacus_rdp.compute_rdp(q=rate, noise_multiplier=multiplier, steps=1, orders=list(ORDERS))
    assert ours == pytest.approx(opacus, rel=1e-9)


@pytest.mark.parametrize(("rate", "multiplier"), [(0.02, 6.0), (0.5, 1.0), (0.01, 0.8)])
def test_fractional_orders_are_bounded_from_above_and_closely(rate: float, multiplier: float):
    orders = np.asarray([1.5, 2.25, 3.5, 5.75, 10.5, 20.25])
    exact = library_rdp(sampled(rate, multiplier), orders)

    ours = rdp_of_leaf(sampled(rate, multiplier), orders)

    known = np.isfinite(exact)  # the library gives up on some
    assert known.sum() >= 5
    assert np.all(ours[known] >= exact[known] * (1 - 1e-9))
    assert np.all(ours[known] <= exact[known] * 1.6)


@pytest.mark.parametrize("order", [2, 5])
def test_integer_orders_agree_with_numeric_integration(order: int):
    rate, sigma = 0.1, 1.5

    def integrand(x: float) -> float:
        base = norm.pdf(x, scale=sigma)
        mixture = (1 - rate) * base + rate * norm.pdf(x, loc=1, scale=sigma)
        return float((mixture / base) ** order * base)

    exact = math.log(quad(integrand, -30, 40, limit=200)[0]) / (order - 1)

    assert rdp_of_leaf(sampled(rate, sigma), np.asarray([float(order)]))[0] == pytest.approx(exact, rel=1e-8)


@given(st.floats(1e-9, 1.0), st.floats(0.1, 1e6))
def test_no_divergence_is_ever_zero_negative_or_above_the_unsampled_one(rate: float, multiplier: float):
    orders = np.asarray([1.1, *ORDERS, 600.0])

    ours = rdp_of_leaf(sampled(rate, multiplier), orders)

    assert np.all(ours > 0)
    assert np.all(ours <= rdp_of_leaf(gaussian(multiplier), orders) * (1 + 1e-12))


def test_where_the_library_loses_all_digits_ours_follow_the_expansion():
    rate, multiplier = 1e-8, 1e4

    ours = rdp_of_leaf(sampled(rate, multiplier), np.asarray([4.0]))[0]

    # RDP(a) = a rate^2 (exp(1 / sigma^2) - 1) / 2 to first order
    assert ours == pytest.approx(4 * rate**2 * math.expm1(multiplier**-2) / 2, rel=1e-6)


def test_sampling_everything_is_the_gaussian():
    assert rdp_of_leaf(sampled(1.0, 2.0), ORDERS) == pytest.approx(rdp_of_leaf(gaussian(2.0), ORDERS))
    assert sampled_gaussian_log_moments(1.0, 2.0)[0] == 0


def test_the_discrete_gaussian_is_bounded_by_the_gaussian_bound():
    sigma = 2.0
    integers = np.arange(-60, 61)
    logs = -(integers**2) / (2 * sigma**2)
    logs -= np.log(np.exp(logs).sum())
    for order in (2.0, 4.0, 8.0):
        exact = math.log(np.exp(order * logs[1:] + (1 - order) * logs[:-1]).sum()) / (order - 1)
        bound = rdp_of_leaf(DiscreteGaussian(noise_multiplier=sigma), np.asarray([order]))[0]
        assert 0.9 * bound <= exact <= bound * (1 + 1e-9)


@pytest.mark.parametrize("multiplier", [0.1, 1.0, 5.0, 90.0])
def test_laplace_agrees_with_the_library(multiplier: float):
    orders = np.asarray([1.5, 2.0, 4.0, 16.0])

    ours = rdp_of_leaf(Laplace(noise_multiplier=multiplier), orders)

    assert ours == pytest.approx(library_rdp(Laplace(noise_multiplier=multiplier), orders), rel=1e-6)


def test_laplace_with_very_much_noise_is_bounded_without_cancellation():
    ours = rdp_of_leaf(Laplace(noise_multiplier=1e9), np.asarray([2.0]))

    assert 0 < ours[0] <= 2 * 1e-18 / 2 * (1 + 1e-12)


def test_the_sum_does_not_depend_on_the_order_of_the_leaves():
    counts = {sampled(0.01 * i, 1.0 + i / 7): 3 * i + 1 for i in range(1, 9)}
    turned = dict(reversed(counts.items()))

    assert np.array_equal(rdp_of_leaves(counts, FINE_ORDERS), rdp_of_leaves(turned, FINE_ORDERS))
    assert np.array_equal(rdp_of_leaves({}, (2.0, 3.0)), [0.0, 0.0])


def test_conversion_agrees_with_the_library():
    rdp = rdp_of_leaves({sampled(0.02, 6.0): 1000}, FINE_ORDERS)

    theirs, _ = library.compute_epsilon(FINE_ORDERS, rdp, 1e-6)

    assert epsilon_of_rdp(rdp, FINE_ORDERS, 1e-6) == pytest.approx(theirs, rel=1e-9)


def test_the_fine_orders_hold_the_ledgers_and_rise():
    assert {4.0, 6.0, 8.0, 12.0, 16.0, 32.0} <= set(FINE_ORDERS)
    assert list(FINE_ORDERS) == sorted(set(FINE_ORDERS))
    assert INTEGERS[-1] == 512
    assert isinstance(
        to_event(PoissonSampled(sampling_rate=0.1, mechanism=gaussian(1.0))),
        dp_accounting.PoissonSampledDpEvent,
    )
