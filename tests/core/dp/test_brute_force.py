"""Our loss distribution against brute force: integrals over outputs, exact convolutions, transforms on another grid.

Tolerances: the rectangle rule's kinks and the nearest-point transforms (checked at two spacings when they were chosen) err by
less than 3e-5 here, and our grid adds at most 5e-5, measured; so 1e-4 on either side. Power: losses rounded down, a spacing
that ignores the number of steps, and an unamplified charge miss those marks.
"""

import math

import numpy as np
import pytest

from core.dp.accountant import epsilons
from core.dp.composition import Outline, composed_epsilon
from core.dp.connected_dots import Losses, connect_dots
from core.dp.hockey_stick import Direction
from core.dp.loss import epsilon_of_leaves
from core.dp.mechanism import Composed, DiscreteGaussian, Laplace, Leaf, Repeated
from tests.cases import daily
from tests.core.dp import brute
from tests.core.dp.builders import gaussian, sampled, training

CLOSE = 1e-4
SCHEDULES = [
    # steps (rate, multiplier, count), delta, spacing of the other grid
    ([(0.02, 8.0, 1000)], 1e-6, 4e-5),
    ([(0.01, 0.7, 1000)], 1e-6, 4e-5),
    ([(0.02, 8.0, 300), (0.05, 4.0, 50), (0.02, 6.0, 77)], 1e-6, 4e-5),
    ([(0.001, 1.0, 5000)], 1e-5, 2e-5),
]


@pytest.mark.parametrize(("rate", "sigma", "delta"), [(0.2, 1.3, 1e-4), (0.02, 0.6, 1e-5), (0.9, 0.8, 1e-9)])
def test_one_step_is_the_integral_over_its_output(rate: float, sigma: float, delta: float):
    exact = brute.epsilon_of(*brute.sampled_axis(rate, sigma, 1_000_001), delta)

    assert epsilons(sampled(rate, sigma), delta=delta).pld == pytest.approx(exact, rel=CLOSE)


def test_two_different_steps_are_the_integral_over_both_outputs():
    p, q = brute.product([brute.sampled_axis(0.2, 1.3, 1501), brute.sampled_axis(0.1, 0.9, 1501)])
    mechanism = Composed(parts=(sampled(0.2, 1.3), sampled(0.1, 0.9)))

    assert epsilons(mechanism, delta=1e-4).pld == pytest.approx(brute.epsilon_of(p, q, 1e-4), rel=CLOSE)


def test_three_steps_of_which_two_are_alike_are_the_integral_over_three_outputs():
    often, once = brute.sampled_axis(0.2, 1.3, 111), brute.sampled_axis(0.1, 0.9, 111)
    mechanism = Composed(parts=(training(0.2, 1.3, 2), sampled(0.1, 0.9)))
    p, q = brute.product([often, often, once])

    # 111 points an axis: the rectangle rule is off by 2e-5 of epsilon (compared with 161 points).
    assert epsilons(mechanism, delta=1e-4).pld == pytest.approx(brute.epsilon_of(p, q, 1e-4), rel=3e-4)


@pytest.mark.parametrize(("sigma", "count"), [(3.0, 1), (5.0, 20), (20.0, 60)])
@pytest.mark.parametrize("delta", [1e-12, 1e-6])
def test_histograms_are_the_exact_convolution_of_their_integers(sigma: float, count: int, delta: float):
    exact = brute.epsilon_of_losses(*brute.composed_discrete_gaussian(sigma, count), delta)

    ours = epsilons(
        Repeated(mechanism=DiscreteGaussian(noise_multiplier=sigma), count=count), delta=delta
    ).pld

    assert exact * (1 - 1e-11) <= ours <= exact * (1 + CLOSE)


@pytest.mark.parametrize(("steps", "delta", "spacing"), daily(SCHEDULES, some=[SCHEDULES[0], SCHEDULES[2]]))
def test_schedules_agree_with_a_transform_on_another_grid(
    steps: list[tuple[float, float, int]], delta: float, spacing: float
):
    mechanism = Composed(parts=tuple(training(*step) for step in steps))
    nearest = brute.fourier_epsilon(steps, delta, spacing=spacing, reach=12.0)

    assert epsilons(mechanism, delta=delta).pld == pytest.approx(nearest, rel=CLOSE)


def test_laplace_has_a_closed_form_once_and_stays_within_pure_composition():
    pure = 0.3

    once = epsilons(Laplace(noise_multiplier=1 / pure), delta=1e-6).pld
    often = epsilons(Repeated(mechanism=Laplace(noise_multiplier=1 / pure), count=40), delta=1e-6).pld

    exact = pure + 2 * math.log1p(-1e-6)
    assert (
        exact <= once <= exact * 1.005
    )  # nearly all mass sits at the largest loss, which the grid's next point stands for
    assert 10 * pure < often < 40 * pure


def test_three_laplace_releases_are_the_integral_over_their_losses():
    # A loss is pure with probability 1/2, minus pure with exp(-pure) / 2, between them spread as exp(-(pure - l) / 2) / 4.
    pure, delta, cells = 0.5, 1e-2, 4000
    edges = np.linspace(-pure, pure, cells + 1)
    between = np.diff(np.exp(-(pure - edges) / 2)) / 2
    losses = np.concatenate([[-pure], (edges[1:] + edges[:-1]) / 2, [pure]])
    index = np.rint((losses + pure) / (pure / cells)).astype(np.int64)
    one = np.bincount(index, np.concatenate([[math.exp(-pure) / 2], between, [0.5]]))
    three = np.convolve(np.convolve(one, one), one)
    exact = brute.epsilon_of_losses(np.arange(len(three)) * pure / cells - 3 * pure, three, delta)

    ours = epsilons(Repeated(mechanism=Laplace(noise_multiplier=1 / pure), count=3), delta=delta).pld

    assert one.sum() == pytest.approx(1.0)
    assert ours == pytest.approx(exact, rel=3e-4)


def rounded_down(leaf: Leaf, direction: Direction, spacing: float) -> Losses:
    """A planted error: every loss moved to the grid point below it, and the tail forgotten."""
    honest = connect_dots(leaf, direction, spacing, reach=20.0)
    return Losses(lowest=honest.lowest - 1, probabilities=honest.probabilities, infinite=0.0)


def composed(singles: list[tuple[Losses, int]], delta: float, spacing: float) -> float:
    return composed_epsilon(singles, Outline.of(singles, delta, spacing), delta, spacing)


def test_planted_losses_rounded_down_are_caught():
    leaf, count, delta, spacing = sampled(0.02, 8.0), 1000, 1e-6, 2.0**-14
    nearest = brute.fourier_epsilon([(0.02, 8.0, 1000)], delta, spacing=4e-5, reach=12.0)

    planted = max(composed([(rounded_down(leaf, d, spacing), count)], delta, spacing) for d in Direction)

    assert planted < nearest * (1 - 10 * CLOSE)


def test_a_planted_spacing_that_ignores_the_number_of_steps_is_caught():
    leaf, count, delta, spacing = sampled(0.02, 8.0), 1000, 1e-6, 4e-3

    coarse = max(
        composed([(connect_dots(leaf, d, spacing, reach=20.0), count)], delta, spacing) for d in Direction
    )

    assert coarse > epsilon_of_leaves({leaf: count}, delta) * 1.02


def test_a_planted_direction_is_caught():
    # Adding a unit alone costs less than removing one; who forgets a direction understates.
    leaf, delta = sampled(0.02, 0.6), 1e-5
    exact = brute.epsilon_of(*brute.sampled_axis(0.02, 0.6, 200_001), delta)

    added = composed([(connect_dots(leaf, Direction.ADDED, 2.0**-12, reach=20.0), 1)], delta, 2.0**-12)

    assert added < exact / 2


def test_a_planted_charge_without_amplification_is_caught():
    exact = brute.epsilon_of(*brute.sampled_axis(0.2, 1.3, 200_001), 1e-4)

    assert epsilons(gaussian(1.3), delta=1e-4).pld > exact * 1.5


def test_the_floors_that_outputs_themselves_prove_are_kept():
    assert np.isfinite(brute.lower_bound(0.01, 1.0, 1000, 1e-12))
    for rate, sigma, count, delta in [
        (0.01, 10.0, 1_000_000, 1e-12),
        (0.5, 1.0, 1000, 1e-6),
        (1e-4, 0.3, 1, 1e-6),
    ]:
        ours = epsilons(training(rate, sigma, count), delta=delta).reported
        assert brute.lower_bound(rate, sigma, count, delta) <= ours
