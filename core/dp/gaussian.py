"""Gaussian mechanisms: the exact privacy profile, rounded up, and several releases combined into one.

With mu = sensitivity / std, delta(epsilon) = Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu)
(Balle and Wang 2018, theorem 8). Several Gaussians compose to one whose mu squared is the sum of theirs.
"""

import math
from functools import lru_cache

from scipy.special import log_ndtr

from core.dp.guarantee import PrivacyGuarantee

_ROUNDING = 1e-12
"""Bound on float64's loss in the subtraction above, relative to delta, times mu."""
_HALVINGS = 120


def log_delta(mu: float, epsilon: float) -> float:
    """Return an upper bound on the logarithm of delta at `epsilon`, for a Gaussian of the given `mu` > 0."""
    larger = float(log_ndtr(mu / 2 - epsilon / mu))
    smaller = epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))
    ratio = math.exp(min(smaller - larger, 0.0))
    inside = math.log1p(-ratio) if ratio < 1 else -math.inf
    return min(larger, larger + inside + _ROUNDING / mu) if inside > -math.inf else larger


@lru_cache(maxsize=1024)
def epsilon_of(mu: float, delta: float) -> float:
    """Return the smallest epsilon of a Gaussian of `mu` at `delta`, rounded up; 0 if delta covers everything."""
    target = math.log(delta)
    if log_delta(mu, 0.0) <= target:
        return 0.0
    high = 1.0
    while log_delta(mu, high) > target:
        high *= 2
    low = 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if log_delta(mu, middle) > target else (low, middle)
    return high


@lru_cache(maxsize=1024)
def largest_mu(guarantee: PrivacyGuarantee) -> float:
    """Return the largest `mu` (rounded down) whose Gaussian still satisfies `guarantee`."""
    target = math.log(guarantee.delta)
    low, high = 0.0, 1.0
    while log_delta(high, guarantee.epsilon) <= target:
        low, high = high, high * 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle > 0 and log_delta(middle, guarantee.epsilon) <= target:
            low = middle
        else:
            high = middle
    return low


def joint_noise_multiplier(
    noise_multiplier: float, *, histograms: int, histogram_noise_multiplier: float
) -> float:
    """Return the effective noise multiplier of a gradient and `histograms` histograms on the same sample.

    Stacked and whitened, the release is one Gaussian whose mu squared is the sum of the parts', because the
    histograms are over disjoint bins and each has sensitivity one: 1/s_eff^2 = 1/s_t^2 + H/s_h^2. Choosing one query
    by another's output changes nothing, since each whitened sensitivity is a public constant.

    Args:
        noise_multiplier: s_t, of the clipped gradient sum.
        histograms: H, the number of histograms released with it; 0 on an ordinary step.
        histogram_noise_multiplier: s_h, noise standard deviation per bin.
    """
    if histograms == 0:
        return noise_multiplier
    return 1 / math.sqrt(noise_multiplier**-2 + histograms * histogram_noise_multiplier**-2)
