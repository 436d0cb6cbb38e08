"""Exact delta(epsilon) of one run of each elementary mechanism, on a whole grid of epsilons at once.

The accounting library (dp-accounting) has the same functions but inverts the privacy loss point by point in Python, which
took nine tenths of a quote's time; tests compare both. In all formulas the sensitivity is one. Every curve
keeps its relative digits where it is small, and is raised by more than float64's rounding error.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr, ndtr

from core.dp.mechanism import DiscreteGaussian, Gaussian, Laplace, Leaf, PermuteAndFlip, PoissonSampled

Floats: TypeAlias = npt.NDArray[np.float64]

_REACH = 10.3
"""Standard deviations of noise that the grid covers; the mass beyond it, less than exp(-50), is counted as lost."""
_LARGEST_EXPONENT = 600.0
_SAFETY = 1 + 2e-12
"""Every curve is raised by this: above its rounding error, which tails a hundredth of their parts allow for."""
_NARROW = 0.25
_UNIT = 2.0**-53
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)
_FALLING = 2.0
"""Standard deviations beyond which the second derivative of the normal density falls; any above sqrt(3) will do."""
_LARGEST_TABLE = 4096.0
"""Discrete Gaussians of more noise are not summed integer by integer but bounded by integrals."""


class Direction(StrEnum):
    """The one of two neighbouring tables that the output is drawn from."""

    REMOVED = "removed"
    ADDED = "added"

    @property
    def other(self) -> "Direction":
        """The opposite direction: the two tables exchanged."""
        return Direction.ADDED if self is Direction.REMOVED else Direction.REMOVED


@dataclass(frozen=True, slots=True, kw_only=True)
class HockeyStick:
    """delta as a function of epsilon, and the range that contains almost all losses."""

    deltas: Callable[[Floats], Floats]
    lowest: float
    highest: float


def hockey_stick(leaf: Leaf, direction: Direction) -> HockeyStick:
    """Return the curve of one run of `leaf`; without sampling both directions are the same."""
    match leaf:
        case Gaussian(noise_multiplier=multiplier):
            return _sampled_gaussian(1.0, multiplier, Direction.REMOVED)
        case PoissonSampled(sampling_rate=rate, mechanism=inner):
            return _sampled_gaussian(rate, inner.noise_multiplier, direction)
        case DiscreteGaussian(noise_multiplier=multiplier):
            return _discrete_gaussian(multiplier)
        case PermuteAndFlip(epsilon=epsilon):
            return _randomised_response(epsilon)
        case Laplace(noise_multiplier=multiplier):
            pure = 1 / multiplier
            return HockeyStick(
                deltas=lambda epsilons: _raised(
                    np.where(
                        epsilons >= -pure,
                        -np.expm1((np.minimum(epsilons, pure) - pure) / 2),
                        -np.expm1(np.minimum(epsilons, 0.0)),
                    )
                ),
                lowest=-pure,
                highest=pure,
            )
        case _:
            raise TypeError("the curve of several compositions is made where they are composed")


def _raised(deltas: Floats) -> Floats:
    return np.clip(deltas * _SAFETY, 0.0, 1.0)


def _randomised_response(pure: float) -> HockeyStick:
    """Return the curve that dominates every mechanism of pure epsilon (Kairouz, Oh and Viswanath 2015): losses of +-epsilon."""

    def deltas(epsilons: Floats) -> Floats:
        inside = -np.expm1(np.minimum(epsilons, pure) - pure) / (1 + math.exp(-pure))
        return _raised(np.where(epsilons >= -pure, inside, -np.expm1(np.minimum(epsilons, 0.0))))

    return HockeyStick(deltas=deltas, lowest=-pure, highest=pure)


def _between(lower: Floats, width: float) -> Floats:
    """Return the normal distribution's mass between `lower` and `lower` + `width`, without cancellation."""
    if width < _NARROW:
        middles = lower + width / 2
        total = np.zeros_like(lower)
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            total += weight * np.exp(-((middles + node * width / 2) ** 2) / 2)
        return total * (width / math.sqrt(8 * math.pi))
    upper = lower + width
    # The smaller of the two tails keeps its digits.
    is_right = lower + upper > 0
    return np.asarray(ndtr(np.where(is_right, -lower, upper)) - ndtr(np.where(is_right, -upper, lower)))


def _sampled_gaussian(rate: float, noise_multiplier: float, direction: Direction) -> HockeyStick:
    """Return the curve of a Poisson-sampled Gaussian.

    With m(y) = exp((2 y - 1) / (2 sigma^2)), the mixture's density over N(0, sigma^2)'s is 1 - rate + rate m(y).
    Removing a unit compares the mixture with the Gaussian, adding one the Gaussian with the mixture; either
    exceeds exp(epsilon) on one side of the point c where it equals exp(epsilon). Hence, with
    B = Phi(c / sigma) - Phi((c - 1) / sigma),

        removed: delta = rate B - (exp(epsilon) - 1) Phi(-c / sigma)
        added:   delta = exp(epsilon) rate B - (exp(epsilon) - 1) Phi(c / sigma)
                       = (1 - exp(epsilon) (1 - rate)) Phi(c / sigma) - exp(epsilon) rate Phi((c - 1) / sigma)

    An error in c only lowers delta in second order, because c is where delta is largest.
    """
    width = 1 / noise_multiplier

    def cut_at(epsilons: Floats) -> Floats:
        # Where exp(epsilon) would overflow, the 1 that is subtracted from it is negligible.
        small = np.minimum(epsilons, _LARGEST_EXPONENT)
        grown = np.expm1(small)
        with np.errstate(over="ignore"):
            ratios = grown / rate
        at = np.log1p(ratios)
        if (far := np.isinf(ratios)).any():
            at = np.where(far, np.log(np.maximum(grown, _UNIT)) - math.log(rate), at)
        return noise_multiplier * (at + (epsilons - small)) + width / 2

    def removed(epsilons: Floats) -> Floats:
        small = np.minimum(epsilons, _LARGEST_EXPONENT)
        growth = np.expm1(small)
        crossed = growth > -rate
        cut = cut_at(np.where(crossed, epsilons, 0.0))
        above = growth * ndtr(-cut)
        if (far := epsilons > small).any():
            above = np.where(far, np.exp(np.minimum(epsilons + log_ndtr(-cut), 0.0)), above)
        inside = rate * _between(cut - width, width) - above
        return _raised(np.where(crossed, inside, -growth))

    def added(epsilons: Floats) -> Floats:
        crossed = np.expm1(np.minimum(-epsilons, _LARGEST_EXPONENT)) > -rate
        shown = np.where(crossed, epsilons, 0.0)
        cut = cut_at(-shown)
        growth = np.exp(shown)
        if width < _NARROW:  # then epsilon is small
            inside = growth * rate * _between(cut - width, width) - np.expm1(shown) * ndtr(cut)
        else:
            never = np.where(shown > 1, 1 - growth * (1 - rate), growth * rate - np.expm1(shown))
            inside = never * ndtr(cut) - growth * rate * ndtr(cut - width)
        return _raised(np.where(crossed, inside, 0.0))

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

    The loss at y is (2 y - 1) / (2 sigma^2), so with p(k) = P(noise = k), S(k) = P(noise >= k) and k the smallest
    integer whose loss exceeds epsilon, delta = S(k - 1) - exp(epsilon) S(k) = p(k - 1) - (exp(epsilon) - 1) S(k) for
    epsilon >= 0. The mechanism is symmetric, hence delta(-epsilon) = 1 - exp(-epsilon) (1 - delta(epsilon)), and the
    same in both directions.
    """
    survival = (_table if noise_multiplier <= _LARGEST_TABLE else _tail)(noise_multiplier)

    def at_least_zero(epsilons: Floats) -> Floats:
        first = np.floor(noise_multiplier**2 * epsilons + 0.5) + 1
        density = np.exp(-(((first - 1) / noise_multiplier) ** 2) / 2) / survival.total
        growth = np.expm1(np.minimum(epsilons, _LARGEST_EXPONENT))  # too small beyond, which raises delta
        return density - growth * survival.at_least(first)

    def deltas(epsilons: Floats) -> Floats:
        size = np.abs(epsilons)
        positive = at_least_zero(size)
        return _raised(np.where(epsilons >= 0, positive, -np.expm1(-size) + np.exp(-size) * positive))

    reach = _REACH / noise_multiplier + 1 / (2 * noise_multiplier**2)
    return HockeyStick(deltas=deltas, lowest=-reach, highest=reach)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Survival:
    """The discrete Gaussian's weights exp(-k^2 / (2 sigma^2)): their sum, rounded down, and lower bounds on S(k)."""

    total: float
    at_least: Callable[[Floats], Floats]


def _table(noise_multiplier: float) -> _Survival:
    """Sum over integers from the far end: small tails keep their digits."""
    half = math.ceil((_REACH + 1) * noise_multiplier) + 2
    integers = np.arange(-half, half + 1)
    weights = np.exp(-((integers / noise_multiplier) ** 2) / 2)
    total = float(weights.sum())
    rounding = 1 - len(weights) * 2.0**-52
    sums = np.append(np.cumsum(weights[::-1])[::-1], 0.0) * (rounding / total)

    def at_least(first: Floats) -> Floats:
        return np.asarray(sums[np.clip(first + half, 0, len(sums) - 1).astype(np.int64)])

    return _Survival(total=total, at_least=at_least)


def _tail(noise_multiplier: float) -> _Survival:
    """Bound by integrals: for much noise, where the integers are too many to list.

    By the midpoint rule a sum of f over integers from k differs from the integral from k - 1/2 by at most a 24th of
    the sum of the largest |f''| of each cell. Beyond `_FALLING` sigma f'' falls, and that sum is at most -f'(k - 3/2); anywhere
    it is at most 4 exp(-1/2) / sigma plus six times the largest |f''|, 1 / sigma^2. The sum over all integers exceeds
    the integral (Poisson's formula).
    """

    def at_least(first: Floats) -> Floats:
        start = (first - 1.5) / noise_multiplier
        falling = start * np.exp(-(start**2) / 2) / noise_multiplier
        anywhere = 4 * math.exp(-0.5) / noise_multiplier + 6 / noise_multiplier**2
        error = (
            np.where(start > _FALLING, falling, anywhere) / 24 / (noise_multiplier * math.sqrt(2 * math.pi))
        )
        return np.maximum(ndtr(-(first - 0.5) / noise_multiplier) * (1 - 1e-12) - error, 0.0)

    return _Survival(total=noise_multiplier * math.sqrt(2 * math.pi), at_least=at_least)


def largest_of(curves: Sequence[HockeyStick]) -> HockeyStick:
    """Return the pointwise largest of several curves, which bounds any mechanism that has one of the curves.

    delta(epsilon) of any pair of distributions is convex and falling in exp(epsilon). A maximum of such functions is such a
    function, so it is the curve of a pair of distributions. That pair dominates each mechanism that has one of the curves, and
    still dominates under adaptive composition (Zhu, Dong and Wang 2022, proposition 7 and theorem 10). The larger
    epsilon at one delta is not enough: a part with the smaller epsilon alone may have the larger one after composition.
    """

    def deltas(epsilons: Floats) -> Floats:
        return np.asarray(np.max([curve.deltas(epsilons) for curve in curves], axis=0))

    return HockeyStick(
        deltas=deltas,
        lowest=min(curve.lowest for curve in curves),
        highest=max(curve.highest for curve in curves),
    )


def through_points(points: Floats, *, spacing: float, lowest: float) -> HockeyStick:
    """Return the curve through falling upper bounds at 0, `spacing`, ..., by chords in exp(epsilon), which lie above a convex curve; the smallest loss is `lowest`.

    The bound of the last point holds beyond it.
    """
    grid = np.arange(len(points), dtype=np.float64) * spacing

    def deltas(epsilons: Floats) -> Floats:
        left = np.clip(np.floor(epsilons / spacing), 0, len(points) - 1).astype(np.int64)
        right = np.minimum(left + 1, len(points) - 1)
        share = np.clip(np.expm1(epsilons - grid[left]) / np.expm1(spacing), 0.0, 1.0)
        return np.asarray(points[left] + share * (points[right] - points[left]))

    return HockeyStick(deltas=deltas, lowest=lowest, highest=float(grid[-1]))
