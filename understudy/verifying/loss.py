"""Lower and upper bounds on epsilon from privacy loss distributions, with proven error, independent of the service's code.

The service rounds losses pessimistically (connected dots). Here they are rounded to the nearest grid point and shifted to keep their mean exact
(Gopi, Lee and Wutschitz 2021, "Numerical composition of differential privacy"). The rounding errors Y - Y~ of the k runs are then independent,
of mean zero and confined to intervals of length h, so by Hoeffding's inequality their sum is at most

    t = h sqrt(k / 2 ln(2 / eta))

in absolute value, except with probability eta. As (1 - exp(-x))+ rises with x and lies in [0, 1],

    delta~(epsilon + t) - eta <= delta(epsilon) <= delta~(epsilon - t) + eta.

Three more errors are added on the safe side of each bound: losses of noise beyond `reach` standard deviations (infinite in the upper bound,
absent in the lower one), the tails of the sum that a finite Fourier transform wraps around (by Chernoff), and the rounding of float64. A
transform's rounding error is relative to its largest sum, not to delta. So the distribution is composed twice: unchanged, and with each probability
multiplied by exp(order * loss), where the order of the best Chernoff bound lifts the losses that decide delta above all others. Each value keeps
the more accurate of its two probabilities.

Both directions, adding and removing a unit, are composed; the larger epsilon counts.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from scipy import fft, signal
from scipy.special import log_ndtr, ndtr, ndtri

from understudy.verifying.bounds import Bounds, NoiseKind, Part
from understudy.verifying.chernoff import Floats, Rounded, best_order, log_sum, window

_Number = TypeVar("_Number", np.float64, np.complex128)

WIDTH = 1e-3
"""The target ratio of t to epsilon: half the width of the interval."""
LARGEST_LOSS = 2000.0
"""Largest loss of a single step; beyond it the grid would be coarse. A noise multiplier of at least 0.035 stays below it."""
_RARE = 1e-3
"""Ratio of eta to delta."""
_MOST_POINTS, _MOST_IN_ALL = 2**21, 2**24
"""Maximum points of one transform, and of all transforms in one direction: a limit on the work that a hostile certificate can cause."""
_ROUNDING = 2.0**-43
"""Bound on the float64 error of one frequency of one run's transform, with 2^21 points and exponents below 600."""
_WRAPPED = 1e-9
"""Probability under the tilted distribution that may wrap around, on either side."""
_SQUARED_FROM = 100
_LARGE = 30.0
"""Threshold above which exp(x) - 1 equals exp(x) to the last digit."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


def epsilon_bounds(parts: Sequence[Part], delta: float, *, scale: float) -> Bounds | None:
    """Bound the epsilon at `delta` of all parts, one at least; None if a single run's loss can exceed `LARGEST_LOSS`.

    `scale` is a rough epsilon, which sets the grid's spacing.
    """
    others = [part for part in parts if not _plain(part)]
    if not others:
        exact = gaussian_epsilon(_plain_mu(parts), delta)
        return Bounds(low=exact * (1 - 1e-9), high=exact * (1 + 1e-9))
    grid = _grid_for(parts, delta, scale=scale)
    if grid is None:
        return None
    both = [_directed(grid, delta, removed=removed) for removed in (True, False)]
    return Bounds(low=max(one.low for one in both), high=max(one.high for one in both))


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The mechanisms, with their plain Gaussians merged into one, and the grid for rounding their losses.

    Attributes:
        reach: standard deviations of noise covered by the grid.
        spread: the ratio of t to h.
        spacing: h.
    """

    parts: list[Part]
    reach: float
    spread: float
    spacing: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LossDistribution:
    """The loss of all mechanisms together, with bounds: delta~(epsilon + off) - error <= delta(epsilon) <= delta~(epsilon - off) + error.

    Attributes:
        values: values of the loss, increasing.
        probabilities: probability of each value.
        off: largest error of a loss.
        error: additional error of delta, valid if delta is at most twice the one that the distribution was made for.
        lost: probability of the values left out.
    """

    values: Floats
    probabilities: Floats
    off: float
    error: float
    lost: float


def distributions_of(
    parts: Sequence[Part], delta: float, *, scale: float
) -> tuple[LossDistribution, LossDistribution] | None:
    """Bound the loss of all parts, with a unit removed and with a unit added; None if it can exceed `LARGEST_LOSS`.

    The distribution is accurate at `delta`. `scale` is a rough epsilon, which sets the grid's spacing.
    """
    grid = _grid_for(parts, delta, scale=scale)
    return (
        None
        if grid is None
        else (_distribution(grid, delta, removed=True), _distribution(grid, delta, removed=False))
    )


def _plain_mu(parts: Sequence[Part]) -> float:
    return math.sqrt(math.fsum(part.count / part.noise_multiplier**2 for part in parts if _plain(part)))


def _grid_for(parts: Sequence[Part], delta: float, *, scale: float) -> Grid | None:
    mu, others = _plain_mu(parts), [part for part in parts if not _plain(part)]
    if mu > 0:
        others.append(Part(kind=NoiseKind.GAUSSIAN, noise_multiplier=1 / mu, sampling_rate=1.0, count=1))
    runs = sum(part.count for part in others)
    reach = float(-ndtri(_RARE * delta / (2000 * runs)))
    largest = max(_largest_loss(part, reach) for part in others)
    if largest > LARGEST_LOSS:
        return None
    spread = math.sqrt(runs / 2 * math.log(2 / (_RARE * delta)))
    spacing = max(WIDTH * scale / spread, 1e-9, 2 * largest / _most_points(others))
    return Grid(parts=others, reach=reach, spread=spread, spacing=spacing)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the epsilon of Gaussians alone: exact, by Balle and Wang 2018, theorem 8."""

    def covered(epsilon: float) -> bool:
        larger = log_ndtr(mu / 2 - epsilon / mu)
        smaller = epsilon + log_ndtr(-mu / 2 - epsilon / mu)
        return bool(smaller >= larger or larger + math.log1p(-math.exp(smaller - larger)) <= math.log(delta))

    if covered(0.0):
        return 0.0
    high = 1.0
    while not covered(high):
        high *= 2
    low = 0.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if covered(middle) else (middle, high)
    return high


def _plain(part: Part) -> bool:
    return part.kind is NoiseKind.GAUSSIAN and part.sampling_rate == 1


def _most_points(parts: Sequence[Part]) -> int:
    return min(_MOST_POINTS, _MOST_IN_ALL // len(parts))


def _largest_loss(part: Part, reach: float) -> float:
    """A bound on the absolute loss of one run with noise within reach."""
    return (2 * (2 + reach * part.noise_multiplier) + 1) / (2 * part.noise_multiplier**2)


def _directed(grid: Grid, delta: float, *, removed: bool) -> Bounds:
    """Bound epsilon in one direction: the output comes from the table with the unit if it is `removed`."""
    distribution = _distribution(grid, delta, removed=removed)
    values, probabilities, error = distribution.values, distribution.probabilities, distribution.error
    return Bounds(
        low=max(
            _epsilon(values, probabilities, (delta + error) / (1 - distribution.lost)) - distribution.off, 0.0
        ),
        high=max(_epsilon(values, probabilities, delta - error), 0.0) + distribution.off
        if delta > error
        else math.inf,
    )


def _distribution(grid: Grid, delta: float, *, removed: bool) -> LossDistribution:
    parts, spacing = grid.parts, grid.spacing
    rare = _RARE * delta
    lost = rare / 1000
    while True:
        singles = [_rounded(part, reach=grid.reach, spacing=spacing, removed=removed) for part in parts]
        order = best_order(singles, delta)
        tilted = [_tilted(one, order) for one in singles]
        windows = window(singles, tail=rare / 1000), window(tilted, tail=_WRAPPED)
        lowest, highest = min(low for low, _ in windows), max(high for _, high in windows)
        points = highest - lowest + 1
        if points <= _most_points(parts):
            break
        spacing *= 2 * points / _most_points(parts)
    plain, lifted = _sum_of(singles, lowest, points), _sum_of(tilted, lowest, points)
    index = np.arange(lowest, lowest + len(plain.probabilities))
    values = np.asarray(
        index * spacing + math.fsum(one.count * one.shift for one in singles), dtype=np.float64
    )
    weights = np.exp(np.minimum(math.fsum(one.count * one.log_moment for one in tilted) - order * index, 0.0))
    probabilities = np.where(weights < 1, lifted.probabilities * weights, plain.probabilities)
    # For delta up to twice the requested one: the errors of each value, by Cauchy-Schwarz.
    first = min(int(np.searchsorted(values, _epsilon(values, probabilities, 2 * delta))), len(values) - 1)
    rounding = float(weights[first]) * (lifted.error / math.sqrt(-math.expm1(-2 * order)) + 2 * _WRAPPED)
    if weights[first] == 1:
        rounding += plain.error * math.sqrt(len(values))
    return LossDistribution(
        values=values,
        probabilities=probabilities,
        off=spacing * grid.spread,
        error=rare + lost + 2 * rare / 1000 + rounding,
        lost=lost,
    )


def _rounded(part: Part, *, reach: float, spacing: float, removed: bool) -> Rounded:
    if part.kind is NoiseKind.DISCRETE_GAUSSIAN:
        return _rounded_discrete(part, reach=reach, spacing=spacing)
    sigma, rate = part.noise_multiplier, part.sampling_rate
    low, high = -reach * sigma, 1 + reach * sigma

    def loss(y: Floats) -> Floats:
        log_ratio = (2 * y - 1) / (2 * sigma**2)
        if rate == 1:
            return log_ratio
        # log(1 - rate + rate exp(x)), without overflow for large x and without cancellation near zero.
        return np.where(
            log_ratio > _LARGE,
            log_ratio + np.log(rate + (1 - rate) * np.exp(-np.maximum(log_ratio, _LARGE))),
            np.log1p(rate * np.expm1(np.minimum(log_ratio, _LARGE))),
        )

    def inverse(losses: Floats) -> Floats:
        if rate == 1:
            return np.asarray(sigma**2 * losses + 0.5)
        grown = np.expm1(np.minimum(losses, _LARGE)) / rate
        with np.errstate(divide="ignore", invalid="ignore"):
            small = np.where(grown > -1, np.log1p(np.maximum(grown, -1)), -np.inf)
            large = losses - math.log(rate) + np.log1p((rate - 1) * np.exp(-np.maximum(losses, _LARGE)))
        return sigma**2 * np.where(losses > _LARGE, large, small) + 0.5

    # The mean loss given noise within reach, by Gauss-Legendre quadrature on short panels.
    panels = int(min(max(256.0, 8 * (high - low) / min(sigma, sigma**2)), 20000.0))
    edges = np.linspace(low, high, panels + 1)
    half = (edges[1] - edges[0]) / 2
    y = ((edges[:-1] + edges[1:]) / 2)[:, None] + half * _NODES
    density = np.exp(-(y**2) / (2 * sigma**2))
    if removed:
        density = (1 - rate) * density + rate * np.exp(-((y - 1) ** 2) / (2 * sigma**2))
    weights = density * _WEIGHTS
    mean = float((weights * loss(y)).sum() / weights.sum())

    ends = loss(np.asarray([low, high]))
    first, last = math.floor(ends[0] / spacing + 0.5), math.floor(ends[1] / spacing + 0.5)
    cuts = (np.arange(first, last + 2) - 0.5) * spacing
    at = np.clip(inverse(cuts), low, high)
    below, above = ndtr(at / sigma), ndtr(-at / sigma)
    if removed:
        below = (1 - rate) * below + rate * ndtr((at - 1) / sigma)
        above = (1 - rate) * above + rate * ndtr((1 - at) / sigma)
    # Differences of the smaller tail, so that small probabilities keep their digits.
    cells = np.maximum(np.where(below[1:] < above[:-1], np.diff(below), -np.diff(above)), 0.0)
    cells /= cells.sum()
    if not removed:
        cells, mean, first = cells[::-1].copy(), -mean, -last
    index = np.arange(first, first + len(cells))
    return Rounded(
        lowest=first, probabilities=cells, shift=mean - float(index @ cells) * spacing, count=part.count
    )


def _rounded_discrete(part: Part, *, reach: float, spacing: float) -> Rounded:
    """One count: the loss at y is (2 y - 1) / (2 sigma^2) for y around 1; the same distribution in both directions."""
    sigma = part.noise_multiplier
    half = math.ceil(reach * sigma) + 2
    noise = np.arange(-half, half + 1, dtype=np.float64)
    weights = np.exp(-(noise**2) / (2 * sigma**2))
    weights /= weights.sum()
    losses = (2 * noise + 1) / (2 * sigma**2)
    index = np.floor(losses / spacing + 0.5).astype(np.int64)
    cells = np.bincount(index - index[0], weights=weights).astype(np.float64)
    rounded = float((np.arange(len(cells)) + index[0]) @ cells) * spacing
    return Rounded(
        lowest=int(index[0]), probabilities=cells, shift=float(losses @ weights) - rounded, count=part.count
    )


def _tilted(one: Rounded, order: float) -> Rounded:
    """Multiply each probability by exp(order * index), and divide all by their sum."""
    with np.errstate(divide="ignore"):
        logs = np.log(one.probabilities) + order * (np.arange(len(one.probabilities)) + one.lowest)
    log_moment = log_sum(logs)
    return replace(one, probabilities=np.exp(logs - log_moment), log_moment=log_moment)


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """The sum of all runs on the window.

    Attributes:
        probabilities: probability of each point.
        error: a bound on the Euclidean norm of their float64 error.
    """

    probabilities: Floats
    error: float


def _sum_of(singles: Sequence[Rounded], lowest: int, points: int) -> Composed:
    """Compose all runs; values outside the window wrap around into it."""
    size = fft.next_fast_len(points, real=True)
    spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
    largest = np.ones(size // 2 + 1)
    for one in singles:
        at = np.arange(one.lowest, one.lowest + len(one.probabilities)) % size
        transform = fft.rfft(np.bincount(at, weights=one.probabilities, minlength=size))
        spectrum *= _power(transform, one.count)
        largest *= _power(np.abs(transform) + _ROUNDING, one.count)
    doubt = np.maximum(largest - np.abs(spectrum), 0.0)
    probabilities = fft.irfft(spectrum, size)[np.arange(lowest, lowest + size) % size]
    return Composed(
        probabilities=np.maximum(probabilities, 0.0),
        error=math.sqrt(2 * float(doubt @ doubt) / size) + _ROUNDING * float(np.linalg.norm(probabilities)),
    )


def _power(base: npt.NDArray[_Number], count: int) -> npt.NDArray[_Number]:
    """Raise to a whole power of at least 1 by squaring.

    For powers above 99 numpy takes logarithms, which is two to ten times as slow. A product of complex numbers has a relative error below 3 * 2^-53
    (Brent, Percival and Zimmermann 2007), so all products stay far within `_ROUNDING` for each factor.
    """
    if count < _SQUARED_FROM:
        return base**count
    half = _power(base, count // 2)
    half *= half
    return half * base if count % 2 else half


def _epsilon(values: Floats, probabilities: Floats, delta: float) -> float:
    """Return the epsilon at which delta~ falls to `delta`; -inf if it is below everywhere.

    At a value v, delta~(v) = (mass from v on) - (sum of p exp(v - value) from v on); between values it is linear in exp(v).
    """
    mass = np.cumsum(probabilities[::-1])[::-1]
    weighted = discounted(values, probabilities)
    reached = mass - weighted <= delta
    first = int(np.argmax(reached)) if reached[-1] else len(values) - 1
    if weighted[first] <= 0:
        return float(values[first])
    surplus = float(mass[first]) - delta
    if surplus <= 0:
        return -math.inf
    return float(values[first]) + min(math.log(surplus / float(weighted[first])), 0.0)


def discounted(values: Floats, probabilities: Floats) -> Floats:
    """Return the sum of p exp(v - value) over the values from each v on, by recursion from above; values increase in equal steps.

    No exponential leaves float64's range, whatever the losses.
    """
    decay = math.exp(float(values[0] - values[1])) if len(values) > 1 else 0.0
    return np.asarray(signal.lfilter([1.0], [1.0, -decay], probabilities[::-1])[::-1], dtype=np.float64)
