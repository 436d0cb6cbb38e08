import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.dp.gaussian import joint_noise_multiplier
from core.dp.hockey_stick import Direction, hockey_stick
from core.dp.renyi import INTEGERS, sampled_gaussian_log_moments
from tests.core.dp.builders import sampled


@pytest.mark.parametrize("epsilon", [0.05, 0.2, 0.6])
@pytest.mark.parametrize("direction", Direction)
def test_one_histogram_beside_the_gradient_is_the_two_dimensional_integral(
    epsilon: float, direction: Direction
):
    rate, sigma, histogram = 0.2, 1.5, 2.0
    axis = np.linspace(-8, 9, 1701)
    x, y = np.meshgrid(axis, axis, indexing="ij")
    cell = (axis[1] - axis[0]) ** 2
    plain = np.exp(-(x**2 + y**2) / 2) / (2 * math.pi)
    shifted = np.exp(-((x - 1 / sigma) ** 2 + (y - 1 / histogram) ** 2) / 2) / (2 * math.pi)
    mixture = (1 - rate) * plain + rate * shifted
    first, second = (mixture, plain) if direction is Direction.REMOVED else (plain, mixture)
    brute = np.maximum(first - math.exp(epsilon) * second, 0).sum() * cell

    joint = joint_noise_multiplier(sigma, histograms=1, histogram_noise_multiplier=histogram)
    ours = hockey_stick(sampled(rate, joint), direction).deltas(np.asarray([epsilon]))[0]

    assert ours == pytest.approx(brute, rel=2e-4, abs=1e-9)


def test_two_histograms_beside_the_gradient_are_the_three_dimensional_integral():
    rate, sigma, histogram, epsilon = 0.3, 1.2, 1.7, 0.3
    axis = np.linspace(-6, 7, 131)
    x, y, z = np.meshgrid(axis, axis, axis, indexing="ij", sparse=True)
    cell = (axis[1] - axis[0]) ** 3
    plain = np.exp(-(x**2 + y**2 + z**2) / 2) / (2 * math.pi) ** 1.5
    shifted = np.exp(-((x - 1 / sigma) ** 2 + (y - 1 / histogram) ** 2 + (z - 1 / histogram) ** 2) / 2)
    mixture = (1 - rate) * plain + rate * shifted / (2 * math.pi) ** 1.5
    brute = np.maximum(mixture - math.exp(epsilon) * plain, 0).sum() * cell

    joint = joint_noise_multiplier(sigma, histograms=2, histogram_noise_multiplier=histogram)
    ours = hockey_stick(sampled(rate, joint), Direction.REMOVED).deltas(np.asarray([epsilon]))[0]

    assert ours == pytest.approx(brute, rel=2e-3)


def test_the_papers_hoelder_rule_understates_the_joint_release():
    # Both moments amplified by sampling, as if the second release were on a fresh sample: p = 2, lambda = 2.
    rate, sigma, moment = 1e-4, 0.5, 2
    one = dict(zip(INTEGERS, sampled_gaussian_log_moments(rate, sigma), strict=True))
    holder = one[2 * moment + 1] / 2 + one[2 * moment + 1] / 2

    joint = joint_noise_multiplier(sigma, histograms=1, histogram_noise_multiplier=sigma)
    true = dict(zip(INTEGERS, sampled_gaussian_log_moments(rate, joint), strict=True))[moment + 1]

    assert holder < true / 10


@given(st.floats(0.1, 100), st.integers(1, 1000), st.floats(0.1, 1000))
def test_the_joint_multiplier_is_below_both_and_nothing_changes_without_histograms(
    sigma: float, histograms: int, histogram: float
):
    joint = joint_noise_multiplier(sigma, histograms=histograms, histogram_noise_multiplier=histogram)

    assert joint <= min(sigma, histogram / math.sqrt(histograms)) * (1 + 1e-12)
    assert 1 / joint**2 == pytest.approx(1 / sigma**2 + histograms / histogram**2)
    assert joint_noise_multiplier(sigma, histograms=0, histogram_noise_multiplier=0.0) == sigma
