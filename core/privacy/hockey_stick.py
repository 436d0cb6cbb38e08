"""Exact delta(epsilon) of one run of each elementary mechanism, on a whole grid of epsilons at once.

The accounting library has the same functions but inverts the privacy loss point by point in Python, which took
nine tenths of a quote's time; the tests hold these against it. In all formulas the sensitivity is one.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from core.privacy.mechanism import DiscreteGaussian, Gaussian, Leaf, PoissonSampled

Floats: TypeAlias = npt.NDArray[np.float64]

_REACH = 10.3
"""Standard deviations of noise that the grid covers: beyond it lies less than exp(-50), counted as lost."""
_LARGEST_EXPONENT = 600.0


class Direction(StrEnum):
    """Which of the two neighbouring tables the output is drawn from."""

    REMOVED = "removed"
    ADDED = "added"


@dataclass(frozen=True, slots=True, kw_only=True)
class HockeyStick:
    """delta as a function of epsilon, and the range of losses outside which almost nothing lies."""

    deltas: Callable[[Floats], Floats]
    lowest: float
    highest: float


def hockey_stick(leaf: Leaf, direction: Direction) -> HockeyStick:
    """Return the curve of one run of `leaf`; without sampling both directions are the same."""
    match leaf:
        case Gaussian(noise_multiplier=multiplier):
            return _sampled_gaussian(1.0, multiplier, direction)
        case PoissonSampled(sampling_rate=rate, mechanism=inner):
            return _sampled_gaussian(rate, inner.noise_multiplier, direction)
        case DiscreteGaussian(noise_multiplier=multiplier):
            return _discrete_gaussian(multiplier)
        case _:
            pure = 1 / leaf.noise_multiplier
            return HockeyStick(
                deltas=lambda epsilons: np.where(
                    epsilons >= -pure, -np.expm1((np.minimum(epsilons, pure) - pure) / 2), -np.expm1(epsilons)
                ),
                lowest=-pure,
                highest=pure,
            )


def _sampled_gaussian(rate: float, noise_multiplier: float, direction: Direction) -> HockeyStick:
    """Return the curve of a Poisson-sampled Gaussian.

    With m(y) = exp((2 y - 1) / (2 sigma^2)), the mixture's density over N(0, sigma^2)'s is 1 - rate + rate m(y).
    Removing a unit compares the mixture with the Gaussian, adding one the Gaussian with the mixture; either
    exceeds exp(epsilon) on one side of the point c where it equals exp(epsilon), so that

        removed: delta = rate Phi((1 - c) / sigma) - (exp(epsilon) - 1 + rate) Phi(-c / sigma)
        added:   delta = (1 - exp(epsilon) (1 - rate)) Phi(c / sigma) - exp(epsilon) rate Phi((c - 1) / sigma)
    """

    def cut_at(epsilons: Floats) -> Floats:
        return noise_multiplier**2 * np.log1p(np.expm1(epsilons) / rate) + 0.5

    def removed(epsilons: Floats) -> Floats:
        crossed = np.expm1(epsilons) > -rate
        cut = cut_at(np.where(crossed, epsilons, 0.0))
        above = rate * ndtr((1 - cut) / noise_multiplier)
        below = (np.expm1(epsilons) + rate) * ndtr(-cut / noise_multiplier)
        return np.clip(np.where(crossed, above - below, -np.expm1(epsilons)), 0.0, 1.0)

    def added(epsilons: Floats) -> Floats:
        crossed = np.expm1(-epsilons) > -rate
        cut = cut_at(np.where(crossed, -epsilons, 0.0))
        growth = np.exp(np.where(crossed, epsilons, 0.0))
        above = (1 - growth * (1 - rate)) * ndtr(cut / noise_multiplier)
        below = growth * rate * ndtr((cut - 1) / noise_multiplier)
        return np.clip(np.where(crossed, above - below, 0.0), 0.0, 1.0)

    def loss(y: float) -> float:
        exponent = (2 * y - 1) / (2 * noise_multiplier**2)
        if exponent > _LARGEST_EXPONENT:
            return exponent + math.log(rate)
        growth = rate * math.expm1(exponent)
        return math.log1p(growth) if growth > -1 else -math.inf

    reach = _REACH * noise_multiplier
    if direction is Direction.REMOVED:
        return HockeyStick(deltas=removed, lowest=max(loss(-reach), -1e6), highest=loss(1 + reach))
    return HockeyStick(deltas=added, lowest=-loss(1 + reach), highest=-max(loss(-reach), -1e6))


def _discrete_gaussian(noise_multiplier: float) -> HockeyStick:
    """Return the curve of one count with discrete Gaussian noise of parameter sigma.

    The loss at y is (2 y - 1) / (2 sigma^2), so with S(k) = P(noise >= k) and k the smallest integer whose loss
    exceeds epsilon, delta = S(k - 1) - exp(epsilon) S(k). Symmetric, hence the same in both directions.
    """
    half = math.ceil((_REACH + 1) * noise_multiplier) + 2
    integers = np.arange(-half, half + 1)
    weights = np.exp(-(integers**2) / (2 * noise_multiplier**2))
    # Summed from the far end, so that small tails keep their digits; S is 0 beyond the last integer.
    survival = np.append(np.cumsum(weights[::-1])[::-1] / weights.sum(), 0.0)

    def deltas(epsilons: Floats) -> Floats:
        first = np.floor(noise_multiplier**2 * epsilons + 0.5) + 1
        index = np.clip(first + half, 1, len(survival) - 1).astype(np.int64)
        inside = survival[index - 1] - np.exp(epsilons) * survival[index]
        return np.clip(np.where(first <= 1 - half, -np.expm1(epsilons), inside), 0.0, 1.0)

    reach = _REACH / noise_multiplier + 1 / (2 * noise_multiplier**2)
    return HockeyStick(deltas=deltas, lowest=-reach, highest=reach)
