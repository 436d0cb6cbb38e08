"""Exact discrete Gaussian noise in integer arithmetic.

The sampler of Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020), Algorithms 1 to 3:
no floating point is involved, so the distribution is exactly the one that the accountant assumes.
"""

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from models.randomness import KeyedStreams, KeystreamReader, Purpose


def discrete_gaussians(
    streams: KeyedStreams, purpose: Purpose, step: int, *, noise_std: float, count: int
) -> npt.NDArray[np.int64]:
    """`count` independent integers, `P(x)` proportional to `exp(-x^2 / (2 noise_std^2))`.

    Args:
        noise_std: parameter of the distribution, positive and finite; the float is taken as an exact rational number.
    """
    if not 0.0 < noise_std < float("inf"):
        raise ValueError("the noise of a release is positive and finite")
    variance = Fraction(noise_std) ** 2
    reader = streams.reader(purpose, step)
    return np.array([discrete_gaussian(reader, variance) for _ in range(count)], dtype=np.int64)


def discrete_gaussian(reader: KeystreamReader, variance: Fraction) -> int:
    """One draw (Algorithm 3): a discrete Laplace accepted with the ratio of the two distributions."""
    scale = _floor_sqrt(variance) + 1
    while True:
        candidate = discrete_laplace(reader, scale)
        excess = abs(candidate) - variance / scale
        if bernoulli_exp(reader, excess * excess / (2 * variance)):
            return candidate


def discrete_laplace(reader: KeystreamReader, scale: int) -> int:
    """`P(x)` proportional to `exp(-|x| / scale)` (Algorithm 2 with s = 1)."""
    while True:
        low = reader.below(scale)
        if not bernoulli_exp(reader, Fraction(low, scale)):
            continue
        rounds = 0
        while bernoulli_exp(reader, Fraction(1)):
            rounds += 1
        magnitude = low + scale * rounds
        negative = reader.below(2) == 1
        if not (negative and magnitude == 0):
            return -magnitude if negative else magnitude


def bernoulli_exp(reader: KeystreamReader, gamma: Fraction) -> bool:
    """True with probability `exp(-gamma)` (Algorithm 1)."""
    while gamma > 1:
        if not bernoulli_exp(reader, Fraction(1)):
            return False
        gamma -= 1
    k = 1
    while reader.below(gamma.denominator * k) < gamma.numerator:
        k += 1
    return k % 2 == 1


def _floor_sqrt(value: Fraction) -> int:
    return math.isqrt(value.numerator // value.denominator)
