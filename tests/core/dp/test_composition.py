"""The tilted transform: its own bound on rounding holds, and what it cannot answer it calls infinite."""

import math

import numpy as np
import pytest

# private: the bound of one tilt, which the best of all tilts hides
from core.dp.composition import Outline, Tilted, _compose, _epsilon, composed_epsilon
from core.dp.connected_dots import Losses, connect_dots
from core.dp.hockey_stick import Direction
from core.dp.loss import epsilon_of_leaves
from tests.core.dp.builders import sampled


def single() -> Losses:
    return connect_dots(sampled(0.1, 2.0), Direction.REMOVED, 2.0**-5, reach=10.0)


@pytest.mark.parametrize("doublings", [0, 3, 7, pytest.param(9, marks=pytest.mark.long)])
def test_the_stated_error_covers_what_the_transform_does(doublings: int):
    one, delta = single(), 1e-10
    runs = [(one, 2**doublings)]
    outline = Outline.of(runs, delta, 2.0**-5)
    _bound, tilt = outline.epsilon(delta, 2.0**-5)

    composed = _compose(runs, outline, tilt)

    # The same by direct convolution in extended precision, tilted alike.
    indices = np.arange(one.lowest, one.highest + 1)
    log_moment = float(one.log_moments(np.asarray([composed.order]))[0])
    exact = one.probabilities.astype(np.longdouble) * np.exp(
        np.longdouble(1) * (composed.order * indices - log_moment)
    )
    for _ in range(doublings):
        exact = np.convolve(exact, exact)
    start = composed.lowest - one.lowest * 2**doublings
    window = exact[max(start, 0) : start + len(composed.masses)]
    assert start >= 0
    difference = composed.masses[: len(window)] - window
    # Beyond rounding, only what wraps around from outside the window is added: at most 2e-10, and never taken away.
    assert float(np.sqrt((np.minimum(difference, 0) ** 2).sum())) <= composed.error
    assert float(np.abs(difference).sum()) <= 2.1e-10 + composed.error * math.sqrt(len(window))
    assert composed.error < 1e-9


def test_infinite_losses_above_delta_have_no_finite_epsilon():
    certain = [(Losses(lowest=-1, probabilities=np.asarray([0.5, 0.0, 0.499]), infinite=1e-3), 1)]
    outline = Outline.of(certain, 1e-6, 0.1)

    assert composed_epsilon(certain, outline, 1e-6, 0.1) == math.inf
    assert math.isfinite(composed_epsilon(certain, outline, 2e-3, 0.1))
    sure = Losses(lowest=-1, probabilities=np.asarray([0.0, 0.0, 1e-9]), infinite=1.0)
    assert Outline.of([(sure, 3)], 1e-6, 0.1).infinite == 1.0


def test_what_lies_above_the_window_or_in_rounding_counts():
    known = Tilted(
        lowest=0, masses=np.asarray([0.9, 0.05, 0.05]), order=0.5, log_scale=0.0, error=0.0, lost=0.0
    )
    lost = Tilted(lowest=0, masses=known.masses, order=0.5, log_scale=0.0, error=0.0, lost=0.2)
    vague = Tilted(lowest=0, masses=known.masses, order=0.5, log_scale=0.0, error=0.9, lost=0.0)

    assert _epsilon(lost, 0.1, 1.0) == math.inf
    assert 0 < _epsilon(known, 0.01, 1.0) < 2
    assert _epsilon(vague, 0.01, 1.0) > _epsilon(known, 0.01, 1.0)
    assert _epsilon(known, 0.5, 1.0) == 0.0


def test_a_sketch_is_only_for_looking_around_and_keeps_the_mass():
    fine = connect_dots(sampled(0.1, 2.0), Direction.REMOVED, 2.0**-18, reach=10.0)

    small = single()
    assert small.sketch() is small
    assert len(fine.probabilities) > 2**14
    assert fine.sketch().probabilities.sum() == pytest.approx(fine.probabilities.sum())
    assert np.count_nonzero(fine.sketch().probabilities) < 2**13 + 1


def test_rare_losses_far_above_the_others_are_discounted_by_their_whole_distance():
    """No run samples the unit but with probability rate * runs, however large the loss is where one does."""
    rate, runs = 2.048e-6, 2000

    assert epsilon_of_leaves({sampled(rate, 0.0817166): runs}, 1.03 * rate * runs) == 0.0
