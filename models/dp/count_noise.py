"""Gaussian noise on counts: exact sums and noise are whole numbers of one public grid, so their sum is exact in float64."""

from typing import Final

import numpy as np
import numpy.typing as npt
import torch

from models.dp.noise import COARSE_BITS
from models.randomness import KeyedStreams, Purpose

GRID: Final = 2.0**-20
"""Public grid of sums and noise, in records; the noise is larger by five orders of magnitude."""
FINE_UP_TO: Final = 2.0**14
"""Standard deviation in records, from which on releases keep no bit of the grid that is finer than `COARSE_BITS` below the noise."""
Floats = npt.NDArray[np.float64]


def on_grid(noise: Floats) -> Floats:
    """Round to the public grid."""
    return np.rint(noise / GRID) * GRID


def without_low_bits(noisy: Floats, std: float | Floats) -> Floats:
    """Round noisy counts down to a power of two far below the noise, where the noise is large. Post-processing.

    A float64 of the noise has 53 bits. The larger the noise, the fewer of its numbers fall into one step of `GRID`, and some steps have one more
    than others: an observer of exact multiples could tell neighbours apart by that. Rounding down passes no threshold.

    Args:
        std: of the noise on every count, in records; counts with less than `FINE_UP_TO` stay.
    """
    _, exponents = np.frexp(std)
    steps = np.ldexp(1.0, exponents - 1 - COARSE_BITS)
    rounded: Floats = np.where(np.asarray(std) < FINE_UP_TO, noisy, np.floor(noisy / steps) * steps)
    return rounded


def release_counts(
    exact: Floats, std: float, streams: KeyedStreams, purpose: Purpose, step: int, *, sensitivity: float
) -> Floats:
    """Release one vector of counts with noise of one standard deviation.

    Args:
        exact: (counts,) on the grid; private.
        std: of the noise on every count, in records.
        sensitivity: L2, of all counts together.
    """
    streams.releases.exact(purpose, step, [(torch.from_numpy(exact), std)], sensitivity=sensitivity / std)
    noisy = exact + on_grid(streams.normals(purpose, step, len(exact)) * std)
    noisy = without_low_bits(noisy, std)
    streams.releases.noisy(purpose, step, torch.from_numpy(noisy))
    return noisy
