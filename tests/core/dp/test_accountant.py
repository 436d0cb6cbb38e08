import math
import random
import time
import warnings

import dp_accounting
import pytest
from dp_accounting.pld import PLDAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from core.dp.accountant import Epsilons, epsilons, rdp_at
from core.dp.errors import InvalidGuarantee
from core.dp.gaussian import epsilon_of
from core.dp.guarantee import SMALLEST_EPSILON
from core.dp.mechanism import Composed, DiscreteGaussian, Laplace, Mechanism, Repeated
from tests.core.dp.builders import gaussian, sampled, training
from tests.core.dp.dp_events import to_event


def library_pld(mechanism: Mechanism, delta: float, spacing: float) -> float:
    accountant = PLDAccountant(value_discretization_interval=spacing)
    accountant.compose(to_event(mechanism))
    return float(accountant.get_epsilon(delta))


def prv_epsilon(rate: float, multiplier: float, steps: int) -> float:
    # Every process of the tests collects all of them, and this import alone takes a second and more.
    from opacus.accountants import PRVAccountant

    accountant = PRVAccountant()
    accountant.history = [(multiplier, rate, steps)]
    return float(accountant.get_epsilon(1e-5, eps_error=0.01))


@pytest.mark.parametrize(
    ("mechanism", "spacing"),
    [
        (training(0.02, 8.0, 300), 5e-5),
        (training(0.3, 3.0, 20), 1e-4),
        (Composed(parts=(gaussian(4.5), training(0.02, 8.0, 200), training(0.05, 4.0, 50))), 1e-4),
        (Composed(parts=(Laplace(noise_multiplier=4.0), training(0.02, 8.0, 200))), 1e-4),
    ],
)
@pytest.mark.parametrize("delta", [1e-9, 1e-5])
def test_the_loss_distribution_agrees_with_the_library(mechanism: Mechanism, spacing: float, delta: float):
    assert epsilons(mechanism, delta=delta).pld == pytest.approx(
        library_pld(mechanism, delta, spacing), rel=3e-4
    )


@pytest.mark.parametrize(
    ("rate", "multiplier", "steps"), [(0.01, 1.0, 500), (0.05, 5.0, 1000), (0.1, 10.0, 50)]
)
def test_an_independent_accountant_agrees(rate: float, multiplier: float, steps: int):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its search for a safe domain warns about its own orders
        above = prv_epsilon(rate, multiplier, steps)

    ours = epsilons(training(rate, multiplier, steps), delta=1e-5).pld

    assert above - 0.021 <= ours <= above + 0.001


@pytest.mark.parametrize("mu", [0.01, 0.25, 2.0, 15.0])
@pytest.mark.parametrize("count", [1, 7, 5000, 100_000])
@pytest.mark.parametrize("delta", [1e-12, 1e-9, 1e-5])
def test_composition_of_gaussians_by_fourier_transform_never_understates(mu: float, count: int, delta: float):
    # A rate this close to one is not merged with the plain Gaussians but costs as much as they do. An untilted transform
    # understated mu 0.25, 100,000 runs, delta 1e-12 by a quarter of a percent.
    mechanism = training(1 - 1e-12, math.sqrt(count) / mu, count)

    ours = epsilons(mechanism, delta=delta).pld

    exact = epsilon_of(mu, delta)
    assert exact * (1 - 1e-11) <= ours <= exact * 1.0005


def test_plain_gaussians_are_composed_exactly():
    mechanism = Composed(parts=(gaussian(3.0), Repeated(mechanism=gaussian(8.0), count=4), sampled(1.0, 5.0)))

    assert epsilons(mechanism, delta=1e-6).pld == epsilon_of(math.sqrt(1 / 9 + 4 / 64 + 1 / 25), 1e-6)


def test_many_small_steps_are_not_badly_pessimistic():
    mechanism = training(0.001, 3.0, 50_000)

    both = epsilons(mechanism, delta=1e-6)

    assert both.pld < 0.95 * both.rdp
    assert library_pld(mechanism, 1e-6, 1e-3) > 1.2 * both.pld  # the trap: a coarse grid with many steps


@settings(max_examples=8, deadline=None, derandomize=True)
@given(st.floats(0.005, 0.3), st.floats(1.0, 20.0), st.integers(1, 300), st.sampled_from([1e-9, 1e-6, 1e-4]))
def test_the_loss_distribution_is_not_above_renyi(rate: float, multiplier: float, steps: int, delta: float):
    both = epsilons(training(rate, multiplier, steps), delta=delta)

    assert both.pld <= both.rdp * 1.001
    assert both.reported == min(both.pld, both.rdp)
    assert both.reported >= SMALLEST_EPSILON


@settings(max_examples=8, deadline=None, derandomize=True)
@given(st.floats(0.01, 0.2), st.floats(1.0, 10.0), st.integers(2, 200))
def test_epsilon_falls_with_noise_and_rises_with_rate_and_steps(rate: float, multiplier: float, steps: int):
    base = epsilons(training(rate, multiplier, steps), delta=1e-6).reported

    assert epsilons(training(rate, multiplier * 1.1, steps), delta=1e-6).reported <= base
    assert epsilons(training(rate * 1.1, multiplier, steps), delta=1e-6).reported >= base
    assert epsilons(training(rate, multiplier, steps * 2), delta=1e-6).reported >= base


def test_the_order_and_the_nesting_of_parts_do_not_matter():
    parts: list[Mechanism] = [
        DiscreteGaussian(noise_multiplier=30.0),
        gaussian(5.0),
        training(0.02, 8.0, 100),
        training(0.02, 6.0, 50),
        training(0.02, 7.0, 25),
    ]
    expected = epsilons(Composed(parts=tuple(parts)), delta=1e-6)
    shuffled = parts[::-1]

    assert epsilons(Composed(parts=tuple(shuffled)), delta=1e-6) == expected
    nested = Composed(parts=(Composed(parts=tuple(parts[3:])), *parts[:3]))
    assert epsilons(nested, delta=1e-6) == expected
    assert rdp_at(nested, (4, 32)) == rdp_at(Composed(parts=tuple(parts)), (4, 32))


def test_steps_in_two_halves_cost_what_they_cost_in_one():
    halves = Composed(parts=(training(0.02, 8.0, 500), training(0.02, 8.0, 500)))

    assert epsilons(halves, delta=1e-6) == epsilons(training(0.02, 8.0, 1000), delta=1e-6)


def test_the_discrete_gaussian_costs_about_a_gaussian():
    many = epsilons(DiscreteGaussian(noise_multiplier=20.0), delta=1e-6)

    assert many.pld == pytest.approx(epsilon_of(1 / 20.0, 1e-6), rel=2e-2)
    assert many.pld <= many.rdp


@pytest.mark.parametrize("delta", [0.0, 1e-13, 1.0, math.nan, -1e-6])
def test_a_delta_out_of_reach_is_refused(delta: float):
    with pytest.raises(InvalidGuarantee):
        epsilons(gaussian(1.0), delta=delta)


def test_nothing_costs_nothing_and_something_costs_something():
    assert epsilons(Composed(parts=()), delta=1e-6) == Epsilons(pld=0.0, rdp=0.0)
    assert rdp_at(Composed(parts=()), (4, 8)) == (0.0, 0.0)
    for mechanism in (gaussian(1e8), sampled(1e-9, 1e5), DiscreteGaussian(noise_multiplier=1e4)):
        assert epsilons(mechanism, delta=0.3).reported == SMALLEST_EPSILON


def test_losses_that_leave_float64s_range_are_answered_by_the_renyi_bound_in_time():
    started = time.process_time()

    both = epsilons(training(0.5, 0.03, 3), delta=1e-6)

    assert both.pld == both.rdp
    assert 1500 < both.reported < math.inf
    assert time.process_time() - started < 5


@pytest.mark.parametrize("order", [1.0, 0.5, -3.0])
def test_an_order_that_is_none_is_refused(order: float):
    with pytest.raises(InvalidGuarantee):
        rdp_at(gaussian(1.0), (order,))


def test_epsilons_survive_json_and_refuse_nonsense():
    both = Epsilons(pld=0.5, rdp=0.75)

    assert Epsilons.from_json(both.to_json()) == both
    assert both.to_json()["reported"] == 0.5
    for document in ({}, {"pld": "x", "rdp": 1.0}, {"pld": math.nan, "rdp": 1.0}, {"pld": -0.1, "rdp": 1.0}):
        with pytest.raises(InvalidGuarantee):
            Epsilons.from_json(document)


def test_a_random_composition_agrees_with_the_library():
    generator = random.Random(5)
    for _ in range(4):
        parts = [
            training(generator.uniform(0.01, 0.1), generator.uniform(3, 9), generator.randint(5, 80))
            for _ in range(3)
        ]
        mechanism = Composed(parts=tuple(parts))
        assert epsilons(mechanism, delta=1e-6).pld == pytest.approx(
            library_pld(mechanism, 1e-6, 1e-4), rel=1e-3
        )


def test_the_library_refuses_what_we_refuse():
    assert PLDAccountant().supports(to_event(training(0.1, 1.0, 2)))
    assert not PLDAccountant().supports(dp_accounting.UnsupportedDpEvent())
