"""Gaussian noise on counts: exact sums and noise are whole numbers of one public grid, so their sum is exact in float64."""

from typing import Final

import numpy as np
import numpy.typing as npt
import torch

from models.randomness import KeyedStreams, Purpose

GRID: Final = 2.0**-20
"""Public grid of sums and noise, in records; the noise is larger by five orders of magnitude."""

Floats = npt.NDArray[np.float64]


def on_grid(noise: Floats) -> Floats:
    """Round to the public grid."""
    return np.rint(noise / GRID) * GRID


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
    streams.releases.noisy(purpose, step, torch.from_numpy(noisy))
    return noisy
