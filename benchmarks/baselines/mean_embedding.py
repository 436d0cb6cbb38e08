"""One noisy release of the mean embedding of images by class (as DP-MERF: Harder, Adamczewski and Park, AISTATS 2021).

Of every image with label `y` the release holds the features `f(x)` (`fourier.py`, norm at most one) in the row of `y`, and a
one in the count of `y`, summed over the images. A privacy unit with `r` images contributes `floor(2^10 / r) / 2^10` of each
of its images, at most their average. Adding or removing a unit therefore moves the features by at most one and the
counts by at most one (L2); with noise of standard deviations `s_f` and `s_c` on them the whole is one Gaussian mechanism
whose noise multiplier `s` satisfies

    1 / s^2 = 1 / s_f^2 + 1 / s_c^2,      s_f = s / sqrt(1 - w),  s_c = s / sqrt(w)

for the public share `w` of the counts. Sums and noise are whole multiples of public grids, added as integers, so low
bits carry no signal and the sum depends on no order.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from benchmarks.baselines.fourier import TABLE_BITS, FourierFeatures
from models.encoding import PrivateImages
from models.randomness import KeyedStreams, Purpose

_SHARE_BITS = 10
_MOST_UNITS = 2 ** (53 - TABLE_BITS - _SHARE_BITS)
_COUNT_STREAM = 2**32  # the noise of the counts; classes use the steps below
_CHUNK = 1000
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeanEmbedding:
    """Sums over images, noisy once they have left.

    Args:
        features: (classes, features) float64, in images.
        counts: (classes,) float64, in images.
    """

    features: Floats
    counts: Floats

    @property
    def distribution(self) -> Floats:
        """Shares of the classes: positive, and of sum one."""
        counts = np.maximum(self.counts, 1.0)
        distribution: Floats = counts / counts.sum()
        return distribution


def noise_stds(noise_multiplier: float, *, count_share: float) -> tuple[float, float]:
    """Standard deviations of the noise on one number of the features and on one count.

    Args:
        noise_multiplier: of the whole release.
        count_share: share `w` of the squared mu that counts get, between 0 and 1.
    """
    if not 0.0 < count_share < 1.0:
        raise ValueError("the share of the counts lies between 0 and 1")
    return noise_multiplier / math.sqrt(1.0 - count_share), noise_multiplier / math.sqrt(count_share)


def noisy_embedding(
    images: PrivateImages,
    features: FourierFeatures,
    streams: KeyedStreams,
    *,
    noise_multiplier: float,
    count_share: float = 0.05,
) -> MeanEmbedding:
    """Release the sums once: the only place of this baseline that touches private images.

    Args:
        images: private.
        features: public frequencies.
        streams: of the job.
        noise_multiplier: of the whole release.
        count_share: see `noise_stds`.
    """
    feature_std, count_std = noise_stds(noise_multiplier, count_share=count_share)
    exact_features, exact_counts = _exact_sums(images, features)
    feature_grid, count_grid = features.unit * 2.0**-_SHARE_BITS, 2.0**-_SHARE_BITS
    streams.releases.exact(
        Purpose.EMBEDDING_NOISE,
        0,
        (
            (torch.from_numpy(sums * grid), std)
            for sums, grid, std in (
                (exact_features, feature_grid, feature_std),
                (exact_counts, count_grid, count_std),
            )
        ),
        sensitivity=math.hypot(1.0 / feature_std, 1.0 / count_std),
    )
    scale = feature_std / feature_grid
    for row in range(len(exact_features)):
        drawn = streams.normals(Purpose.EMBEDDING_NOISE, row, features.count)
        exact_features[row] += np.rint(drawn * scale)
    counts_noise = streams.normals(Purpose.EMBEDDING_NOISE, _COUNT_STREAM, exact_counts.size)
    exact_counts += np.rint(counts_noise * (count_std / count_grid))
    noisy = MeanEmbedding(features=exact_features * feature_grid, counts=exact_counts * count_grid)
    streams.releases.noisy(
        Purpose.EMBEDDING_NOISE, 0, torch.from_numpy(noisy.features), torch.from_numpy(noisy.counts)
    )
    return noisy


def _exact_sums(images: PrivateImages, features: FourierFeatures) -> tuple[Floats, Floats]:
    """Sums in steps of their grids, whole numbers below 2**53: (classes, features) and (classes,)."""
    if images.units >= _MOST_UNITS:
        raise ValueError("too many units for exact sums")
    records = np.bincount(images.unit_of_record, minlength=1)[images.unit_of_record]
    shares = np.floor(2.0**_SHARE_BITS / records)
    classes = max(images.classes, 1)
    sums, counts = np.zeros((classes, features.count)), np.zeros(classes)
    for first in range(0, len(shares), _CHUNK):
        piece = slice(first, first + _CHUNK)
        weighted = np.zeros((classes, len(shares[piece])))
        weighted[images.labels[piece], np.arange(weighted.shape[1])] = shares[piece]
        sums += weighted @ features.integers(images.pixels[piece]).astype(np.float64)
        counts += weighted.sum(axis=1)
    return sums, counts
