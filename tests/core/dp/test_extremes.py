"""The ends of every range: either on the safe side, checked against bounds that share no code, or refused with a stable code.

Never NaN, negative, zero for something that ran, or infinite without anybody saying so. Warnings are errors in tests, so no
overflow passes unseen either.
"""

import itertools
import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.dp.accountant import epsilons, rdp_at
from core.dp.calibration import smallest_scale
from core.dp.charge import ORDERS, charge_of
from core.dp.errors import InvalidGuarantee, InvalidMechanism, TargetOutOfReach
from core.dp.gaussian import epsilon_of
from core.dp.guarantee import SMALLEST_EPSILON, PrivacyGuarantee
from core.dp.mechanism import DiscreteGaussian, Laplace, Mechanism, Repeated
from tests.core.dp import brute
from tests.core.dp.builders import gaussian, sampled, training

CORNERS = [
    *itertools.product((1e-6, 0.01, 0.5, 1.0), (0.3, 1000.0), (1, 1_000_000), (1e-12,)),
    *itertools.product((1e-6, 1e-4), (0.3, 1.0), (1, 1_000_000), (1e-6,)),
    (0.01, 10.0, 1_000_000, 1e-12), (1e-4, 10.0, 1000, 1e-6), (1e-3, 0.3, 1000, 1e-6), (0.1, 1.0, 10, 0.1), (0.5, 1.0, 1000, 1e-6),
]  # fmt: skip


@pytest.mark.parametrize(("rate", "sigma", "steps", "delta"), CORNERS)
def test_no_corner_is_below_what_its_outputs_prove_or_above_the_unsampled_gaussian(
    rate: float, sigma: float, steps: int, delta: float
):
    both = epsilons(training(rate, sigma, steps), delta=delta)

    for epsilon in (both.pld, both.rdp):
        assert SMALLEST_EPSILON <= epsilon < math.inf
        assert brute.lower_bound(rate, sigma, steps, delta) * (1 - 1e-9) <= epsilon
    # Sampling never costs more; 0.1 % for the grid, whose step is public.
    assert both.reported <= max(epsilon_of(math.sqrt(steps) / sigma, delta) * 1.001, SMALLEST_EPSILON)


any_leaf = st.one_of(
    st.builds(sampled, st.floats(5e-324, 1.0), st.floats(1e-9, 1e12)),
    st.builds(lambda m: DiscreteGaussian(noise_multiplier=m), st.floats(1e-9, 1e12)),
    st.builds(lambda m: Laplace(noise_multiplier=m), st.floats(1e-9, 1e12)),
    st.builds(gaussian, st.floats(1e-9, 1e12)),
)


@settings(max_examples=5, deadline=None, derandomize=True)
@given(any_leaf, st.integers(0, 12), st.floats(1e-12, 0.999))
def test_whatever_is_well_formed_gets_a_finite_positive_answer(leaf: Mechanism, power: int, delta: float):
    mechanism = Repeated(mechanism=leaf, count=10**power)

    both = epsilons(mechanism, delta=delta)
    charge = charge_of(mechanism, delta=delta)

    assert SMALLEST_EPSILON <= both.pld < math.inf
    assert SMALLEST_EPSILON <= both.rdp < math.inf
    assert all(0 < amount < math.inf for amount in rdp_at(mechanism, ORDERS))
    assert charge.epsilon_micros >= 1
    assert min(charge.rdp_micros) >= 1


@pytest.mark.parametrize("rate", [0.0, -1e-9, 1 + 1e-9, math.nan, math.inf])
def test_a_rate_that_is_no_probability_is_refused_with_its_code(rate: float):
    with pytest.raises(InvalidMechanism) as refusal:
        sampled(rate, 1.0)
    assert refusal.value.code == "invalid-mechanism"


@pytest.mark.parametrize("sigma", [0.0, 1e-10, 1e13, math.nan, math.inf])
def test_noise_outside_its_range_is_refused_with_its_code(sigma: float):
    with pytest.raises(InvalidMechanism) as refusal:
        sampled(0.1, sigma)
    assert refusal.value.code == "invalid-mechanism"


@pytest.mark.parametrize("delta", [0.0, 9.9e-13, 1.0, math.nan])
def test_a_delta_beyond_reach_is_refused_with_its_code(delta: float):
    with pytest.raises(InvalidGuarantee) as refusal:
        epsilons(sampled(0.1, 1.0), delta=delta)
    assert refusal.value.code == "invalid-guarantee"


@pytest.mark.parametrize("sigma", [5e3, 1e6, 1e12])
def test_a_histogram_of_very_much_noise_costs_a_gaussian_and_fits_into_memory(sigma: float):
    many = Repeated(mechanism=DiscreteGaussian(noise_multiplier=sigma), count=10_000)

    ours = epsilons(many, delta=1e-6).pld

    exact = max(epsilon_of(100 / sigma, 1e-6), SMALLEST_EPSILON)
    # The discrete Gaussian's own divergence differs from the Gaussian's by far less than the grid's share here.
    assert exact * (1 - 1e-5) <= ours <= exact * 1.002


@pytest.mark.parametrize(
    ("rate", "epsilon", "delta", "steps"),
    [
        (1e-6, 1e-6, 1e-12, 1000),
        pytest.param(1e-6, 0.1, 1e-12, 100_000, marks=pytest.mark.long),
        (1.0, 50.0, 1e-12, 10),
        (0.5, 1e4, 1e-6, 10),
        (0.01, 1e-6, 1e-12, 10),
    ],
)
def test_calibration_at_the_ends_stays_within_its_target_or_says_that_it_cannot(
    rate: float, epsilon: float, delta: float, steps: int
):
    guarantee = PrivacyGuarantee(epsilon=epsilon, delta=delta)
    build = lambda scale: training(rate, scale, steps)  # noqa: E731

    scale = smallest_scale(build, guarantee=guarantee, guess=5.0, slope=1.0)

    assert epsilons(build(scale), delta=delta).reported <= epsilon


def test_a_target_beyond_the_largest_noise_is_refused_with_its_code():
    guarantee = PrivacyGuarantee(epsilon=1e-6, delta=1e-12)

    with pytest.raises(TargetOutOfReach) as refusal:
        smallest_scale(lambda scale: training(1.0, scale, 10_000), guarantee=guarantee, guess=5.0, slope=1.0)

    assert refusal.value.code == "target-out-of-reach"
    assert epsilons(training(1.0, 1e6, 10_000), delta=1e-12).reported > 1e-6


def test_a_million_steps_of_one_kind_answer_in_bounded_time():
    started = time.process_time()

    epsilons(training(0.0123, 7.89, 1_000_000), delta=1e-12)

    assert time.process_time() - started < 20  # measured below 1 on a shared core


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.5])
@pytest.mark.parametrize("mu", [1e-9, 1e-4, 0.3, 9.0, 1e4, 1e9])
def test_the_exact_gaussian_is_never_below_thirty_digits(mu: float, delta: float):
    mpmath = pytest.importorskip("mpmath")  # comes with torch
    with mpmath.workdps(40):
        ours = epsilon_of(mu, delta)
        m, e = mpmath.mpf(mu), mpmath.mpf(ours)

        def delta_at(epsilon):
            return mpmath.ncdf(m / 2 - epsilon / m) - mpmath.exp(epsilon) * mpmath.ncdf(-m / 2 - epsilon / m)

        # Rounding of the answer itself: one unit in the last place, of which delta sees mu times as much.
        assert delta_at(e * (1 + mpmath.mpf(2) ** -51)) <= delta
        if ours > 0:
            assert delta_at(e * (1 - mpmath.mpf("1e-6")) - mpmath.mpf("1e-11") * m) > delta or mu < 1e-8
