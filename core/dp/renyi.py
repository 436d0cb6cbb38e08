"""Renyi differential privacy of the elementary mechanisms, never below the truth and never negative.

Integer orders of the Poisson-sampled Gaussian follow Mironov, Talwar and Zhang 2019 (equation 3.3), summed as

    K(a) = log(1 + sum_{k=2..a} binom(a, k) (1 - rate)^(a - k) rate^k (exp((k^2 - k) / (2 sigma^2)) - 1))

with the 1 split off, which would hide small values: no cancellation can make the result zero or negative. Between integers, K(a) = (a - 1) RDP(a) is convex, so a chord is an upper bound.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, logsumexp

from core.dp.mechanism import (
    DiscreteGaussian,
    Gaussian,
    Laplace,
    Largest,
    Leaf,
    PermuteAndFlip,
    Threshold,
)

_LARGEST = 512
INTEGERS = (*range(1, 65), *range(66, 129, 2), *range(136, _LARGEST + 1, 8))
"""Orders at which the sampled Gaussian is evaluated; order 1 represents K(1) = 0."""
FINE_ORDERS = tuple(
    sorted(
        {1 + i / 32 for i in range(1, 33)}
        | {2 + i / 16 for i in range(160)}
        | {float(a) for a in INTEGERS[11:]}
    )
)
"""Orders at which a bound is converted to epsilon."""

_PURE_LIMIT = 1e-2
"""Below this pure epsilon the Laplace formula cancels, and a * epsilon^2 / 2 is used instead."""


def gaussian_rdp(noise_multiplier: float, orders: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return a / (2 sigma^2); it also bounds the discrete Gaussian (Canonne, Kamath and Steinke 2020)."""
    return orders / (2 * noise_multiplier**2)


def laplace_rdp(noise_multiplier: float, orders: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the divergence of the Laplace mechanism (Mironov 2017, proposition 6), at most a epsilon^2 / 2."""
    pure = 1 / noise_multiplier
    # Pure epsilon gives epsilon^2 / 2 concentrated privacy (Bun and Steinke 2016, proposition 3.3).
    bound = np.minimum(orders * pure**2 / 2, pure)
    if pure < _PURE_LIMIT:
        return bound
    first = np.log(orders / (2 * orders - 1)) + (orders - 1) * pure
    second = np.log((orders - 1) / (2 * orders - 1)) - orders * pure
    exact = np.logaddexp(first, second) / (orders - 1)
    return np.clip(exact * (1 + 1e-9), 0.0, bound)


def pure_rdp(epsilon: float, orders: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the largest divergence of any mechanism of pure `epsilon`: randomised response's (Kairouz and others 2015)."""
    bound = np.minimum(orders * epsilon**2 / 2, epsilon)  # Bun and Steinke 2016, proposition 3.3
    if epsilon < _PURE_LIMIT:
        return bound
    exact = np.logaddexp(orders * epsilon, (1 - orders) * epsilon) - np.logaddexp(0.0, epsilon)
    return np.asarray(np.clip(exact / (orders - 1) * (1 + 1e-9), 0.0, bound))


@lru_cache(maxsize=1024)
def sampled_gaussian_log_moments(sampling_rate: float, noise_multiplier: float) -> npt.NDArray[np.float64]:
    """Return K(a) of the Poisson-sampled Gaussian at `INTEGERS`."""
    orders = np.asarray(INTEGERS, dtype=np.float64)
    if sampling_rate == 1:
        return orders * (orders - 1) / (2 * noise_multiplier**2)
    k, rest, log_terms = _log_binomials()
    exponent = (k**2 - k) / (2 * noise_multiplier**2)
    log_growth = exponent + np.log(-np.expm1(-exponent))
    log_terms = log_terms + rest * math.log1p(-sampling_rate)
    log_terms += k * math.log(sampling_rate)
    log_terms += log_growth
    log_sum = logsumexp(log_terms, axis=1)
    moments = np.concatenate([[0.0], np.logaddexp(0.0, log_sum)])
    moments.setflags(write=False)
    return moments


@cache
def _log_binomials() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return k = 2..512, and for every order a above 1 in `INTEGERS` a - k and log binom(a, k), minus infinity where k exceeds a."""
    k, a = np.arange(2, _LARGEST + 1, dtype=np.float64), np.asarray(INTEGERS[1:], dtype=np.float64)[:, None]
    rest = np.maximum(a - k, 0)
    logs = gammaln(a + 1) - gammaln(k + 1) - gammaln(rest + 1)
    return k, rest, np.where(k <= a, logs, -np.inf)


def rdp_of_leaf(leaf: Leaf, orders: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return an upper bound on the Renyi divergence of one run of `leaf`, in both directions, per order > 1."""
    match leaf:
        case Gaussian(noise_multiplier=multiplier) | DiscreteGaussian(noise_multiplier=multiplier):
            return gaussian_rdp(multiplier, orders)
        case Laplace(noise_multiplier=multiplier):
            return laplace_rdp(multiplier, orders)
        case Threshold():
            return np.full_like(orders, np.inf)
        case PermuteAndFlip(epsilon=epsilon):
            return pure_rdp(epsilon, orders)
        case Largest(alternatives=alternatives):
            # At a fixed order the largest of several divergences bounds each of them.
            divergences = [rdp_of_leaves(dict(runs), orders.tolist()) for runs in alternatives]
            return np.asarray(np.max(divergences, axis=0))
        case _:
            inner = leaf.mechanism
            moments = sampled_gaussian_log_moments(leaf.sampling_rate, inner.noise_multiplier)
            # An order above the largest evaluated one is bounded by the Gaussian without sampling.
            chords = np.interp(orders, INTEGERS, moments) / (orders - 1)
            unsampled = gaussian_rdp(inner.noise_multiplier, orders)
            return np.where(orders <= _LARGEST, np.minimum(chords, unsampled), unsampled)


def rdp_of_leaves(counts: Mapping[Leaf, int], orders: Sequence[float]) -> npt.NDArray[np.float64]:
    """Return the Renyi divergence of all runs together, per order; the same for any order of the leaves."""
    grid = np.asarray(orders, dtype=np.float64)
    parts = [count * rdp_of_leaf(leaf, grid) for leaf, count in counts.items()]
    return (
        np.asarray([math.fsum(column) for column in zip(*parts, strict=True)])
        if parts
        else np.zeros_like(grid)
    )


def epsilon_of_rdp(rdp: npt.NDArray[np.float64], orders: Sequence[float], delta: float) -> float:
    """Return the smallest epsilon that the divergences imply at `delta`; it may be negative, which means that delta covers them.

    Canonne, Kamath and Steinke 2020, proposition 12.
    """
    a = np.asarray(orders, dtype=np.float64)
    return float(np.min(rdp + np.log1p(-1 / a) - (math.log(delta) + np.log(a)) / (a - 1)))
