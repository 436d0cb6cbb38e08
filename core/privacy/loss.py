"""Privacy loss distributions, pessimistic at every step: discretised by connected dots, tails counted as lost.

Each elementary loss is rounded to a grid by the connect-the-dots method (Doroshenko, Ghazi, Kamath, Kumar and
Manurangsi 2022), which adds at most a quarter of the squared spacing to its variance. With many small runs this
adds up, so the spacing shrinks with the square root of their number. All runs are then composed by one Fourier
transform. The larger epsilon of the two directions (a unit added, a unit removed) counts, after composition.

The method is the accounting library's, and the tests hold every part against it; composing all runs at once
instead of one by one is what lets a quote of sixteen different mechanisms answer in a fraction of a second.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import fft

from core.privacy import gaussian
from core.privacy.hockey_stick import Direction, Floats, hockey_stick
from core.privacy.mechanism import Gaussian, Leaf, PoissonSampled
from core.privacy.renyi import FINE_ORDERS, epsilon_of_rdp, rdp_of_leaves

VARIANCE_SHARE = 2e-4
"""The share of the loss's variance that the grid may add."""
LARGEST_SPACING = 1e-2
SMALLEST_SPACING = 1e-6
_MOST_POINTS = 2**19
_TAIL = 1e-15
"""Mass outside the composed window, on either side; counted as lost."""
_NUMERIC_SLACK = 5e-14
"""Subtracted from delta: covers what the Fourier transform loses, far below the smallest delta."""
_MEANINGLESS = 300.0
"""Above this loss exponentials leave float64's range; the Renyi bound answers alone."""
_CHERNOFF = np.asarray([1.0, 2.5, 4.0, 5.5, 7.0, 8.0, 9.0, 11.0, 14.0])
"""Orders of the tail bound, in units of one over the composed standard deviation."""


def epsilon_of_leaves(counts: Mapping[Leaf, int], delta: float) -> float:
    """Return an upper bound on epsilon at `delta` for all runs together; exact if all are plain Gaussians."""
    mu, others = merge_gaussians(counts)
    if not others:
        return gaussian.epsilon_of(mu, delta) if mu > 0 else 0.0
    rdp = rdp_of_leaves(counts, FINE_ORDERS)
    reach = epsilon_of_rdp(rdp, FINE_ORDERS, _TAIL)
    if reach > _MEANINGLESS:
        return epsilon_of_rdp(rdp, FINE_ORDERS, delta)
    runs = dict(sorted(others.items(), key=repr))
    if mu > 0:
        runs[Gaussian(noise_multiplier=1 / mu)] = 1
    # The loss's variance is near RDP(2) where the loss is small; where it is not, near (reach / 8)^2.
    variance = min(float(rdp[FINE_ORDERS.index(2.0)]), (reach / 8) ** 2)
    spacing = _spacing(variance=variance, runs=sum(runs.values()), reach=reach)
    return max(_epsilon(_compose(runs, direction, spacing), delta, spacing) for direction in Direction)


def merge_gaussians(counts: Mapping[Leaf, int]) -> tuple[float, dict[Leaf, int]]:
    """Return the mu of all unsampled Gaussians together (exact), and the other leaves."""
    others: dict[Leaf, int] = {}
    squares: list[float] = []
    for leaf, count in counts.items():
        plain = leaf.mechanism if isinstance(leaf, PoissonSampled) and leaf.sampling_rate == 1 else leaf
        if isinstance(plain, Gaussian):
            squares.append(count / plain.noise_multiplier**2)
        else:
            others[leaf] = count
    return math.sqrt(math.fsum(squares)), others


def _spacing(*, variance: float, runs: int, reach: float) -> float:
    """Return the grid's spacing, a power of two: small enough for `VARIANCE_SHARE`, large enough for memory."""
    wanted = math.sqrt(4 * VARIANCE_SHARE * variance / runs)
    fine = 2.0 ** math.floor(math.log2(min(max(wanted, SMALLEST_SPACING), LARGEST_SPACING)))
    return max(fine, 2.0 ** math.ceil(math.log2(2 * reach / _MOST_POINTS)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """Probabilities of the losses `lowest * spacing`, `(lowest + 1) * spacing`, ... and of an infinite loss."""

    lowest: int
    probabilities: Floats
    infinite: float


def connect_dots(leaf: Leaf, direction: Direction, spacing: float) -> Losses:
    """Return the smallest distribution on the grid whose delta(epsilon) is nowhere below the leaf's.

    Doroshenko et al. 2022, algorithm 1. What lies below the grid is raised to its lowest point, what lies above
    is lost.
    """
    curve = hockey_stick(leaf, direction)
    lowest = math.floor(max(curve.lowest, -_MEANINGLESS) / spacing)
    highest = max(math.ceil(min(curve.highest, _MEANINGLESS) / spacing), lowest + 1)
    grid = np.arange(lowest, highest + 1, dtype=np.float64) * spacing
    # Rounding must not make the curve rise; where it does, the larger value counts.
    deltas = np.maximum.accumulate(curve.deltas(grid)[::-1])[::-1]
    steps = np.diff(deltas)
    probabilities = np.empty_like(deltas)
    probabilities[0] = 1 - deltas[0] + steps[0] / math.expm1(spacing)
    probabilities[1:-1] = (steps[1:] - steps[:-1] * math.exp(spacing)) / math.expm1(spacing)
    probabilities[-1] = steps[-1] / math.expm1(-spacing)
    return Losses(lowest=lowest, probabilities=np.maximum(probabilities, 0.0), infinite=float(deltas[-1]))


def _compose(runs: Mapping[Leaf, int], direction: Direction, spacing: float) -> Losses:
    """Return the sum of the losses of all `runs`: a product of powers of Fourier transforms."""
    singles = [(connect_dots(leaf, direction, spacing), count) for leaf, count in runs.items()]
    lowest, highest = _window(singles)
    size = fft.next_fast_len(
        max(highest - lowest + 1, *(len(one.probabilities) for one, _ in singles)), real=True
    )
    spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
    log_finite = 0.0
    for one, count in singles:
        # Loss zero sits at index zero, negative losses wrap around: phases, and so their errors, stay small.
        wrapped = np.zeros(size)
        wrapped[np.arange(one.lowest, one.lowest + len(one.probabilities)) % size] = one.probabilities
        spectrum *= fft.rfft(wrapped) ** count
        log_finite += count * math.log1p(-one.infinite)
    composed = fft.irfft(spectrum, size)[np.arange(lowest, highest + 1) % size]
    return Losses(
        lowest=lowest,
        probabilities=np.maximum(composed, 0.0),
        infinite=-math.expm1(log_finite) + 2 * _TAIL,
    )


def _window(singles: list[tuple[Losses, int]]) -> tuple[int, int]:
    """Return grid indices below and above which the composed loss has at most `_TAIL` each, by Chernoff."""
    lowest = sum(count * one.lowest for one, count in singles)
    highest = sum(count * (one.lowest + len(one.probabilities) - 1) for one, count in singles)
    variance = 0.0
    for one, count in singles:
        index = np.arange(len(one.probabilities))
        mean = float(index @ one.probabilities)
        variance += count * float((index - mean) ** 2 @ one.probabilities)
    orders = _CHERNOFF / math.sqrt(max(variance, 1.0))
    above, below = np.zeros_like(orders), np.zeros_like(orders)
    for one, count in singles:
        above += count * _log_moments(one, orders)
        below += count * _log_moments(one, -orders)
    upper = float(np.min((above - math.log(_TAIL)) / orders))
    lower = float(np.max((math.log(_TAIL) - below) / orders))
    return max(lowest, math.floor(lower)), max(min(highest, math.ceil(upper)), 0)


def _log_moments(one: Losses, orders: Floats) -> Floats:
    """Return log E[exp(order * index)] per order, over the finite losses."""
    index = np.flatnonzero(one.probabilities)
    exponents = orders[:, None] * (one.lowest + index) + np.log(one.probabilities[index])
    largest = exponents.max(axis=1)
    return np.asarray(largest + np.log(np.exp(exponents - largest[:, None]).sum(axis=1)))


def _epsilon(losses: Losses, delta: float, spacing: float) -> float:
    """Return the smallest epsilon >= 0 whose delta is at most `delta`; infinite if the lost mass exceeds it.

    delta(epsilon) = lost + sum over losses l > epsilon of (1 - exp(epsilon - l)) p(l), linear in exp(epsilon)
    between grid points, hence solved exactly.
    """
    aim = delta - _NUMERIC_SLACK
    first = max(0, -losses.lowest)  # negative losses count for no epsilon >= 0
    probabilities = losses.probabilities[first:]
    values = (losses.lowest + first + np.arange(len(probabilities))) * spacing
    mass = losses.infinite + np.cumsum(probabilities[::-1])[::-1]
    weighted = np.cumsum((probabilities * np.exp(-values))[::-1])[::-1]
    # delta at each grid point, from the losses above it; an underflow only makes it larger.
    with np.errstate(divide="ignore"):
        below = mass - np.exp(values + np.log(weighted)) <= aim
    if not below[-1]:
        return math.inf
    inside = int(np.argmax(below))
    surplus = float(mass[inside]) - aim
    if surplus <= 0 or weighted[inside] == 0:
        return float(values[inside])
    return min(max(math.log(surplus / weighted[inside]), 0.0), float(values[inside]))
