import math
from fractions import Fraction

import dp_accounting
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.dp.accountant import epsilons
from core.dp.calibration import (
    SMALLEST_SCALE,
    gaussian_noise_multiplier,
    round_up,
    sampled_gaussian_guess,
    smallest_scale,
)
from core.dp.errors import TargetOutOfReach
from core.dp.guarantee import PrivacyGuarantee
from core.dp.mechanism import Composed, Mechanism
from tests.core.dp.builders import gaussian, training


@given(st.floats(1e-6, 1e9))
def test_rounding_up_never_rounds_down_and_is_idempotent(value: float):
    rounded = round_up(value)

    assert Fraction(rounded) >= Fraction(value)
    assert rounded <= value * (1 + 1.1e-5)
    assert round_up(rounded) == rounded


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0, 200.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6])
def test_one_gaussian_gets_the_smallest_noise_by_the_exact_formula(epsilon: float, delta: float):
    guarantee = PrivacyGuarantee(epsilon=epsilon, delta=delta)

    multiplier = gaussian_noise_multiplier(guarantee)

    exact = dp_accounting.get_sigma_gaussian(epsilon, delta)
    assert exact * (1 - 1e-9) <= multiplier <= exact * (1 + 2e-5)
    assert epsilons(gaussian(multiplier), delta=delta).reported <= epsilon


def test_a_share_of_the_budget_is_a_share_of_squared_mu():
    guarantee = PrivacyGuarantee(epsilon=1.0, delta=1e-6)

    whole, quarter = gaussian_noise_multiplier(guarantee), gaussian_noise_multiplier(guarantee, share=0.25)

    assert quarter == pytest.approx(2 * whole, rel=1e-5)


@settings(max_examples=5, deadline=None)
@given(
    st.floats(0.2, 8.0), st.sampled_from([1e-8, 1e-6, 1e-5]), st.floats(0.005, 0.2), st.integers(1, 800),
    st.sampled_from([0.0, 0.5, 0.9, 0.98]),
)  # fmt: skip
def test_the_whole_composition_stays_within_the_target_and_barely(
    epsilon: float, delta: float, rate: float, steps: int, share: float
):
    guarantee = PrivacyGuarantee(epsilon=epsilon, delta=delta)
    anchor = [gaussian(gaussian_noise_multiplier(guarantee, share=share))] if share else []

    def build(scale: float) -> Mechanism:
        return Composed(parts=(*anchor, training(rate, scale, steps)))

    scale = smallest_scale(build, guarantee=guarantee, guess=3.0, slope=1 - share)

    assert epsilons(build(scale), delta=delta).reported <= epsilon
    assert scale == SMALLEST_SCALE or epsilons(build(scale * 0.995), delta=delta).reported > epsilon * (
        1 - 1e-4
    )
    again = smallest_scale(build, guarantee=guarantee, guess=3.0, slope=1 - share)
    assert again == scale


def test_a_scale_that_is_rounded_up_to_one_that_was_tried_ends_no_search():
    """The chord of this composition meets just below 1.06422, which rounds up to it."""
    guarantee, tried = PrivacyGuarantee(epsilon=1.0488397500763058, delta=1e-8), []

    def build(scale: float) -> Mechanism:
        tried.append(scale)
        assert len(tried) <= 20, "the search goes on for ever"
        return training(0.005, scale, 702)

    scale = smallest_scale(build, guarantee=guarantee, guess=3.0, slope=1.0)
    assert len(set(tried)) == len(tried)
    assert epsilons(training(0.005, scale, 702), delta=1e-8).reported <= guarantee.epsilon
    assert epsilons(training(0.005, scale * 0.9995, 702), delta=1e-8).reported > guarantee.epsilon


@pytest.mark.parametrize("guess", [0.01, 0.5, 6.0, 500.0, 1e9])
def test_the_answer_hardly_depends_on_the_guess(guess: float):
    guarantee = PrivacyGuarantee(epsilon=1.0, delta=1e-6)

    scale = smallest_scale(lambda s: training(0.02, s, 500), guarantee=guarantee, guess=guess, slope=1.0)

    assert scale == pytest.approx(2.0973, rel=5e-4)


def test_the_smallest_scale_is_enough_for_a_loose_target():
    guarantee = PrivacyGuarantee(epsilon=1e6, delta=1e-6)

    scale = smallest_scale(lambda s: training(0.02, s, 2), guarantee=guarantee, guess=1.0, slope=1.0)

    assert scale == SMALLEST_SCALE


def test_a_target_that_a_fixed_part_exceeds_is_out_of_reach():
    def build(scale: float) -> Mechanism:
        return Composed(parts=(gaussian(1.0), training(0.02, scale, 10)))

    with pytest.raises(TargetOutOfReach):
        smallest_scale(build, guarantee=PrivacyGuarantee(epsilon=1.0, delta=1e-6), guess=3.0, slope=1.0)


def test_the_guess_is_where_the_central_limit_says():
    guess = sampled_gaussian_guess(
        sampling_rate=0.02, squares=lambda scale: 500 * math.expm1(min(scale**-2, 700)), mu=0.2367
    )

    assert 0.02**2 * 500 * math.expm1(guess**-2) == pytest.approx(0.2367**2, rel=1e-5)
