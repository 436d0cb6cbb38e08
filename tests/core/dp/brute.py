"""Privacy losses by brute force, sharing nothing with core.dp: sums over dense grids of outputs, and plain convolutions.

Densities come from their definitions. Errors are those of the rectangle rule on smooth, fast-falling integrands: a kink
at the zero of p - exp(epsilon) q costs about the squared spacing, so every caller states what it allows.
"""

import itertools
import math

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr
from scipy.stats import binom

Floats = npt.NDArray[np.float64]


def normal(x: Floats, mean: float, std: float) -> Floats:
    return np.asarray(np.exp(-(((x - mean) / std) ** 2) / 2) / (std * math.sqrt(2 * math.pi)))


def hockey_stick(p: Floats, q: Floats, epsilon: float) -> float:
    """Sum of (p - exp(epsilon) q) where positive, over probabilities."""
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


def sampled_axis(rate: float, sigma: float, points: int) -> tuple[Floats, Floats]:
    """Probabilities of one sampled Gaussian's output on a dense axis, with and without the unit."""
    axis = np.linspace(-9 * sigma, 1 + 9 * sigma, points)
    plain = normal(axis, 0.0, sigma) * (axis[1] - axis[0])
    shifted = normal(axis, 1.0, sigma) * (axis[1] - axis[0])
    return (1 - rate) * plain + rate * shifted, plain


def product(pairs: list[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Probabilities of independent outputs together: one axis for each, so at most three."""
    p, q = np.ones(()), np.ones(())
    for first, second in pairs:
        p, q = np.multiply.outer(p, first), np.multiply.outer(q, second)
    return p, q


def epsilon_of(p: Floats, q: Floats, delta: float) -> float:
    """Smallest epsilon >= 0 of the larger direction, by bisection."""

    def enough(epsilon: float) -> bool:
        return max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon)) <= delta

    low, high = 0.0, 64.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def composed_discrete_gaussian(sigma: float, count: int) -> tuple[Floats, Floats]:
    """Losses and probabilities of `count` histograms: integer losses convolved directly, nothing is rounded to a grid."""
    half = math.ceil(12 * sigma)
    integers = np.arange(-half, half + 1)
    weights = np.exp(-(integers**2) / (2 * sigma**2))
    weights /= weights.sum()
    total = np.ones(1)
    for _ in range(count):
        total = np.convolve(total, weights)
    sums = np.arange(-half * count, half * count + 1)
    return (2 * sums - count) / (2 * sigma**2) * -1.0, total


def epsilon_of_losses(losses: Floats, probabilities: Floats, delta: float) -> float:
    def delta_at(epsilon: float) -> float:
        above = losses > epsilon
        return float((probabilities[above] * -np.expm1(epsilon - losses[above])).sum())

    low, high = 0.0, float(losses.max())
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if delta_at(middle) <= delta else (middle, high)
    return high


def fourier_epsilon(
    steps: list[tuple[float, float, int]], delta: float, *, spacing: float, reach: float
) -> float:
    """Epsilon of sampled Gaussians (rate, sigma, count) by transforms of losses rounded to the *nearest* grid point.

    Neither optimistic nor pessimistic: the error falls with the squared spacing, so two spacings show it.
    """
    size = 2 * round(reach / spacing)
    answer = 0.0
    for removed in (True, False):
        spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
        for rate, sigma, count in steps:
            axis = np.linspace(-10 * sigma, 1 + 10 * sigma, 400_001)
            plain = normal(axis, 0.0, sigma)
            mixture = (1 - rate) * plain + rate * normal(axis, 1.0, sigma)
            loss = np.log1p(rate * np.expm1((2 * axis - 1) / (2 * sigma**2)))
            weights, loss = (mixture, loss) if removed else (plain, -loss)
            index = np.clip(np.rint(loss / spacing), -size // 2, size // 2 - 1).astype(np.int64) % size
            spectrum *= np.fft.rfft(np.bincount(index, weights / weights.sum(), size)) ** count
        total = np.maximum(np.fft.irfft(spectrum, size), 0)
        losses = np.where(np.arange(size) < size // 2, np.arange(size), np.arange(size) - size) * spacing
        answer = max(answer, epsilon_of_losses(losses, total, delta))
    return answer


def lower_bound(rate: float, sigma: float, count: int, delta: float) -> float:
    """An epsilon that the composition cannot be below: what the sum, or the largest, of its outputs already tells.

    Both are post-processing, each is judged by thresholds: log((P(above) - delta) / Q(above)) at the best of 1,500. The sum
    is normal with variance count sigma^2, its mean the number of inclusions.
    """
    spread = 12 * math.sqrt(count * rate * (1 - rate)) + 60
    first, last = max(0, math.floor(count * rate - spread)), min(count, math.ceil(count * rate + spread))
    included = np.arange(first, last + 1)
    weights = binom.pmf(included, count, rate)
    std = sigma * math.sqrt(count)
    cuts = np.linspace(-9 * std, count * rate + spread + 9 * std, 1500)
    sum_p = np.asarray([float(weights @ ndtr((included - cut) / std)) for cut in cuts])
    single = np.linspace(0, 1 + 9 * sigma, 1500)
    one_q = ndtr(-single / sigma)
    one_p = (1 - rate) * one_q + rate * ndtr((1 - single) / sigma)
    largest_p, largest_q = (
        -np.expm1(count * np.log1p(-np.minimum(one, 1 - 1e-12))) for one in (one_p, one_q)
    )
    above_p, above_q = np.concatenate([sum_p, largest_p]), np.concatenate([ndtr(-cuts / std), largest_q])
    useful = (above_p > delta) & (above_q > 1e-290)
    epsilons = np.log((above_p[useful] - delta) / above_q[useful])
    return max(float(epsilons.max()), 0.0) if len(epsilons) else 0.0


def sequences(alphabet: list[int], longest: int) -> list[tuple[int, ...]]:
    """All sequences over `alphabet` up to length `longest`, the empty one included."""
    return [s for n in range(longest + 1) for s in itertools.product(alphabet, repeat=n)]
