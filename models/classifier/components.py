"""Differentially private principal components (Dwork and others 2014, "Analyze Gauss"; Abadi and others 2016, section 4).

A unit counts with its first record, shortened to length at most one, x. Released is the upper triangle of the sum of x x^T
with Gaussian noise. One unit moves it by at most one: sum over i <= j of (x_i x_j)^2 <= |x|^4 <= 1. The leading eigenvectors of
the noisy matrix are post-processing.

Numbers of x are cut to multiples of 2**-10, towards zero, so that all products and sums are whole multiples of the public grid
2**-20 and exact in float64, in whatever order a library adds them.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from models.classifier.features import FeatureSource
from models.classifier.networks import shortened
from models.dp.count_noise import release_counts
from models.randomness import KeyedStreams, Purpose
from models.selection.split import first_records

_BITS: Final = 10
_CHUNK: Final = 2048


def noisy_components(
    features: FeatureSource,
    unit_of_record: npt.NDArray[np.int64],
    streams: KeyedStreams,
    *,
    components: int,
    noise_multiplier: float,
) -> Tensor:
    """Release the second moments; return the leading eigenvectors, (width, components) float64."""
    width = features.width
    total = np.zeros((width, width))
    first = first_records(unit_of_record)
    for start in range(0, len(first), _CHUNK):
        whole = np.trunc(shortened(features.rows(first[start : start + _CHUNK])).numpy() * 2.0**_BITS)
        total += whole.T @ whole
    upper = np.triu_indices(width)
    noisy = release_counts(
        total[upper] * 2.0 ** (-2 * _BITS),
        noise_multiplier,
        streams,
        Purpose.MODEL_COMPONENTS_NOISE,
        0,
        sensitivity=1.0,
    )
    symmetric = np.zeros((width, width))
    symmetric[upper] = noisy
    symmetric += np.triu(symmetric, 1).T
    return torch.from_numpy(np.linalg.eigh(symmetric)[1][:, ::-1][:, :components].copy())
