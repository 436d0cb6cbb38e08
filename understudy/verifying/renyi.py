"""Renyi divergences of a mechanism, by independent formulas: sums at whole orders, integrals at any order.

Between two whole orders the service uses a chord as a bound. Here the divergence at such an order is integrated, which gives the smallest
possible statement by Renyi divergence; the whole orders alone give the largest possible statement of the service. The service's figure must
lie between the two.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from understudy.verifying.bounds import Bounds, NoiseKind, Part

WHOLE_ORDERS = (*range(2, 65), *range(66, 129, 2), *range(136, 513, 8))
"""Orders at which the service evaluates sums; public, part of the certificate's form."""
CHARGED_ORDERS = (4, 6, 8, 12, 16, 32)
"""Orders of the ledger's filters."""
ROUNDING = 1e-11
"""Relative error that float64 allows for a divergence at a charged order, in this sum or in the service's.

The logarithm of each term is a sum of six numbers. If it is not positive, their sizes add up to at most 3,500: logarithms of a binomial (246),
of powers of the rate (885 at 10^-12) and of its complement (346), and an exponent of at most their sum. So its error is at most
8 * 3,500 * 2^-53, below 4e-12. The error of the sum's logarithm is the relative error of a small divergence, and a smaller part of a large one.
The rest covers the multiplier of a joint release: the exponent enlarges its rounding in the same way.
"""
_BETWEEN = tuple(float(order) for order in 1 + np.geomspace(0.03, 511, 120))
_MOST_POINTS = 50_000
_LARGEST_EXPONENT = 600.0
_NEIGHBOURS = 1e-3
"""Largest excess of the minimum over the tried orders above the minimum over all orders; a test measures it."""


def epsilon_bounds(parts: Sequence[Part], delta: float) -> Bounds:
    """Bound the epsilon at `delta` that can be stated by Renyi divergences of all parts, one at least."""
    high = min(converted(divergence(parts, order), order, delta) for order in WHOLE_ORDERS)
    return enclosed(lambda order: converted(integrated(parts, order), order, delta), high)


def enclosed(between: Callable[[float], float], high: float) -> Bounds:
    """Bound a statement: from below by the smallest epsilon of any order, from above by the smallest of whole orders.

    Args:
        between: epsilon by the integrated divergence at an order.
        high: the smallest epsilon by sums at whole orders.
    """
    coarse = [between(order) for order in _BETWEEN]
    best = coarse.index(min(coarse))
    around = np.linspace(_BETWEEN[max(best - 1, 0)], _BETWEEN[min(best + 1, len(_BETWEEN) - 1)], 48)
    low = min(high, coarse[best], *(between(float(order)) for order in around))
    return Bounds(low=low - abs(low) * _NEIGHBOURS, high=high + abs(high) * 1e-9)


def integrated(parts: Sequence[Part], order: float) -> float:
    """Return the divergence of all parts together at any order above 1."""
    return sum(part.count * _integrated(part, order) for part in parts)


def divergence(parts: Sequence[Part], order: int) -> float:
    """Return the Renyi divergence of all parts together at a whole order of at least 2.

    Mironov, Talwar and Zhang 2019, equation 3.3, with the leading 1 split off; the discrete Gaussian is bounded by the
    Gaussian (Canonne, Kamath and Steinke 2020, proposition 5).
    """
    return math.fsum(part.count * _summed(part, order) for part in parts)


@lru_cache(maxsize=4096)
def _summed(part: Part, order: int) -> float:
    sigma, rate = part.noise_multiplier, part.sampling_rate
    if rate == 1 or part.kind is NoiseKind.DISCRETE_GAUSSIAN:
        return order / (2 * sigma**2)
    k = np.arange(2, order + 1, dtype=np.float64)
    exponents = k * (k - 1) / (2 * sigma**2)
    grown = exponents + np.log(-np.expm1(-exponents))
    logs = _log_binomials(order) + (order - k) * math.log1p(-rate) + k * math.log(rate) + grown
    largest = float(logs.max())
    if largest < _LARGEST_EXPONENT:
        moment = math.log1p(math.fsum(np.exp(logs)))
    else:
        moment = largest + math.log(math.fsum(np.exp(logs - largest)))
    return moment / (order - 1)


@cache
def _log_binomials(order: int) -> NDArray[np.float64]:
    """Return log(order choose k) for k from 2 to `order`."""
    return np.asarray([math.log(math.comb(order, k)) for k in range(2, order + 1)])


def _integrated(part: Part, order: float) -> float:
    """Integrate N(0, sigma^2) (1 - rate + rate exp((2 y - 1) / (2 sigma^2)))^order by the trapezoidal rule.

    The integrand is smooth on the scale of sigma and of sigma^2 and vanishes at both ends, where this rule converges
    faster than any power of the step.
    """
    sigma, rate = part.noise_multiplier, part.sampling_rate
    plain = order / (2 * sigma**2)
    if rate == 1 or part.kind is NoiseKind.DISCRETE_GAUSSIAN:
        return plain
    low, high = -12 * sigma, order + 12 * sigma
    points = max(2000.0, 6 * (high - low) / min(sigma, sigma**2))
    if points > _MOST_POINTS:
        return 0.0  # with so little noise the other orders decide; nothing is claimed from below
    y = np.linspace(low, high, int(points))
    ratio = (2 * y - 1) / (2 * sigma**2)
    mixed = np.logaddexp(math.log1p(-rate), math.log(rate) + ratio)
    logs = order * mixed - y**2 / (2 * sigma**2)
    largest = float(logs.max())
    step = float(y[1] - y[0]) / (sigma * math.sqrt(2 * math.pi))
    moment = largest + math.log(float(np.exp(logs - largest).sum()) * step)
    return min(max(moment, 0.0) / (order - 1), plain)


def converted(total: float, order: float, delta: float) -> float:
    """Return the epsilon of a divergence at an order: Canonne, Kamath and Steinke 2020, proposition 12."""
    return total + math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)
