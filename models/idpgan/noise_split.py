"""Split the noise of a release: noisy counts to train on, and independent noisy counts to validate with.

With counts y = x + s e, whose noise e is standard normal, and a fresh standard normal z,

    y + a s z    and    y - s z / a

are independent given x, with mean x and variances (1 + a^2) s^2 and (1 + 1 / a^2) s^2 (Oliveira, Lei and Tibshirani 2021,
"Unbiased risk estimation in the normal means problem via coupled bootstrap techniques"). The squared distance of a model that was
trained on the first to the second, less the second's noise, is an unbiased estimate of its squared distance to x.
Post-processing of one release: no further privacy cost.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from core.synthesis.stages import AnchorPlan
from models.anchor import MomentLayout, Moments
from models.randomness import KeyedStreams, Purpose

SPLIT_RATIO = 0.5
"""a: training counts have 1.25 times the variance of the release, validation counts 5 times."""
_CLASS_STREAM = 2**32

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SplitMoments:
    """One of the two sets of noisy moments.

    Args:
        moments: independent of the other set given the exact moments.
        anchor: the plan's, with the noise of this set.
    """

    moments: Moments
    anchor: AnchorPlan


def split_noise(
    moments: Moments, layout: MomentLayout, anchor: AnchorPlan, streams: KeyedStreams
) -> tuple[SplitMoments, SplitMoments]:
    """Return training moments and validation moments.

    Args:
        moments: the release.
        layout: of the moments.
        anchor: states the noise of the release.
        streams: of the job.
    """
    pairs, ones = np.empty_like(moments.pairs), np.empty_like(moments.ones)
    pair_std = anchor.noise_std / layout.cell_weights
    for index in range(layout.slices):
        drawn = streams.normals(Purpose.NOISE_SPLIT, index, (layout.cells, layout.cells))
        ones[index] = drawn.diagonal()
        upper = np.triu(drawn * pair_std, 1)
        pairs[index] = upper + upper.T
        for block in layout.blocks:
            pairs[index, block, block] = 0.0
    ones *= anchor.noise_std / layout.diagonal_factor(anchor.diagonal_weight)
    classes = streams.normals(Purpose.NOISE_SPLIT, _CLASS_STREAM, len(moments.classes))
    classes *= anchor.noise_std / anchor.diagonal_weight

    def with_noise(factor: float) -> SplitMoments:
        return SplitMoments(
            moments=Moments(
                pairs=moments.pairs + factor * pairs,
                ones=moments.ones + factor * ones,
                classes=moments.classes + factor * classes,
            ),
            anchor=replace(anchor, noise_multiplier=anchor.noise_multiplier * math.hypot(1.0, factor)),
        )

    return with_noise(SPLIT_RATIO), with_noise(-1.0 / SPLIT_RATIO)
