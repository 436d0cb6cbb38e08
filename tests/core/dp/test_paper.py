"""What the paper does wrong in its accounting, as must-fail examples: both of its rules are shown to break their promise.

The rules are written here as the paper states them (idpgan page, section 2, rows 6 and 7), not in the product.
"""

import math

import numpy as np
import pytest

from core.dp.accountant import epsilons
from core.dp.calibration import smallest_scale
from core.dp.gaussian import joint_noise_multiplier
from core.dp.guarantee import PrivacyGuarantee
from core.dp.mechanism import Composed
from core.dp.renyi import INTEGERS, sampled_gaussian_log_moments
from tests.core.dp import brute
from tests.core.dp.builders import sampled, training


def log_moment(rate: float, sigma: float, moment: int) -> float:
    """The moments accountant's alpha(lambda) = K(lambda + 1), of one sampled Gaussian."""
    return float(sampled_gaussian_log_moments(rate, sigma)[INTEGERS.index(moment + 1)])


def paper_log_moment(rate: float, sigma: float, histogram: float, moment: int) -> float:
    """Hoelder with p = q = 2, *both* moments amplified, as if the histogram were on a sample of its own."""
    return log_moment(rate, sigma, 2 * moment) / 2 + log_moment(rate, histogram, 2 * moment) / 2


def true_log_moment(rate: float, sigma: float, histogram: float, moment: int) -> float:
    """log E[(mixture / plain)^(moment + 1)] by the rectangle rule over the plane of both outputs, each in its own noise.

    The integrand is smooth and falls like a Gaussian, so the rule's error is far below a millionth.
    """
    x = np.linspace(-10, 10 + (moment + 2) / sigma, 1501)
    y = np.linspace(-10, 10 + (moment + 2) / histogram, 1501)
    plain = np.multiply.outer(brute.normal(x, 0, 1) * (x[1] - x[0]), brute.normal(y, 0, 1) * (y[1] - y[0]))
    ratio = np.exp(np.add.outer(x / sigma - 0.5 / sigma**2, y / histogram - 0.5 / histogram**2))
    growth = np.expm1((moment + 1) * np.log1p(rate * (ratio - 1)))
    return math.log1p(float((plain * growth).sum()))


@pytest.mark.parametrize(
    ("rate", "sigma", "histogram"), [(1e-4, 0.5, 0.5), (0.01, 1.0, 1.0), (0.1, 2.0, 3.0)]
)
@pytest.mark.parametrize("moment", [1, 2])
def test_the_joint_rule_is_the_integral_over_both_releases(
    rate: float, sigma: float, histogram: float, moment: int
):
    joint = joint_noise_multiplier(sigma, histograms=1, histogram_noise_multiplier=histogram)

    truth = true_log_moment(rate, sigma, histogram, moment)

    assert log_moment(rate, joint, moment) == pytest.approx(truth, rel=1e-6)


def test_hoelders_rule_with_both_moments_amplified_counts_a_seventeenth():
    rate, sigma = 1e-4, 0.5

    worst = max(
        true_log_moment(rate, sigma, sigma, moment) / paper_log_moment(rate, sigma, sigma, moment)
        for moment in (1, 2)
    )
    joint = joint_noise_multiplier(sigma, histograms=1, histogram_noise_multiplier=sigma)
    ours = [
        log_moment(rate, joint, moment) / true_log_moment(rate, sigma, sigma, moment) for moment in (1, 2)
    ]

    assert worst == pytest.approx(16.83, abs=0.005)  # the design page rounds to 17
    assert ours == pytest.approx([1.0, 1.0], rel=1e-6)


def test_a_planted_joint_rule_that_adds_multipliers_linearly_is_caught():
    rate, sigma, histogram = 0.1, 2.0, 3.0
    truth = true_log_moment(rate, sigma, histogram, 2)

    for planted in (sigma, (sigma + histogram) / 2, math.hypot(sigma, histogram)):
        assert log_moment(rate, planted, 2) < truth * 0.75


def papers_training(rate: float, sigma: float, *, target: float, delta: float, check_every: int) -> int:
    """Algorithm 4's loop: it updates, then looks at what has been spent, and breaks when it is already too much."""
    steps = 0
    while True:
        steps += check_every
        if epsilons(training(rate, sigma, steps), delta=delta).reported > target:
            return steps


def test_stopping_after_epsilon_is_exceeded_exceeds_it_and_a_plan_does_not():
    rate, sigma, target, delta = 0.1, 2.0, 1.0, 1e-5

    executed = papers_training(rate, sigma, target=target, delta=delta, check_every=5)

    assert epsilons(training(rate, sigma, executed), delta=delta).reported > target
    scale = smallest_scale(
        lambda scale: training(rate, scale, executed),
        guarantee=PrivacyGuarantee(epsilon=target, delta=delta),
        guess=sigma,
        slope=1.0,
    )
    assert scale > sigma
    assert epsilons(training(rate, scale, executed), delta=delta).reported <= target


def test_a_refresh_step_among_ordinary_ones_is_the_integral_over_three_outputs():
    # One ordinary step, and one that releases a gradient and a histogram on one sample: three outputs, two coins.
    rate, sigma, histogram, delta, points = 0.2, 1.3, 2.0, 1e-4, 121
    ordinary = brute.sampled_axis(rate, sigma, points)
    x, y = np.linspace(-9, 9 + 1 / sigma, points), np.linspace(-9, 9 + 1 / histogram, points)
    cell = (x[1] - x[0]) * (y[1] - y[0])
    plain = np.multiply.outer(brute.normal(x, 0, 1), brute.normal(y, 0, 1)) * cell
    both = np.multiply.outer(brute.normal(x, 1 / sigma, 1), brute.normal(y, 1 / histogram, 1)) * cell
    refresh = ((1 - rate) * plain + rate * both, plain)
    exact = brute.epsilon_of(*brute.product([ordinary, refresh]), delta)

    joint = joint_noise_multiplier(sigma, histograms=1, histogram_noise_multiplier=histogram)
    ours = epsilons(Composed(parts=(sampled(rate, sigma), sampled(rate, joint))), delta=delta).pld

    assert ours == pytest.approx(exact, rel=3e-4)  # 121 points an axis leave 2e-5
    separate = Composed(parts=(sampled(rate, sigma), sampled(rate, sigma), sampled(rate, histogram)))
    assert (
        epsilons(separate, delta=delta).pld < exact * 0.99
    )  # the planted error: a sample of its own for the histogram


def test_a_histogram_that_steers_the_gradient_tells_no_more():
    # The second query's direction is chosen by the first output: whitened, it moves by a public constant either way.
    rate, sigma, histogram, delta, points = 0.3, 1.1, 1.6, 1e-3, 601
    x, y = np.linspace(-9, 10, points), np.linspace(-10, 10, points)
    cell = (x[1] - x[0]) * (y[1] - y[0])
    plain = np.multiply.outer(brute.normal(x, 0, 1), brute.normal(y, 0, 1)) * cell
    sign = np.where(x > 0.4, 1.0, -1.0)[:, None]
    second = brute.normal(y[None, :] - sign / sigma, 0, 1)
    steered = brute.normal(x, 1 / histogram, 1)[:, None] * second * cell
    exact = brute.epsilon_of((1 - rate) * plain + rate * steered, plain, delta)

    joint = joint_noise_multiplier(sigma, histograms=1, histogram_noise_multiplier=histogram)

    assert epsilons(sampled(rate, joint), delta=delta).pld == pytest.approx(exact, rel=1e-4)
