"""What the generator is held to: noisy moments made consistent. Post-processing of a release, free of charge."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.synthesis.stages import AnchorPlan
from models.anchor import MomentLayout, Moments

Floats = npt.NDArray[np.float64]
_SMALLEST_SHARE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MomentTargets:
    """Moments as shares of all records, with the standard deviation of their noise.

    Args:
        pairs: (slices, cells, cells), zero inside the diagonal blocks.
        pair_std: (cells, cells), of every slice of `pairs`.
        ones: (slices, cells) one-way shares, not negative; every block sums to its slice's share.
        one_std: (slices, cells).
        law: (slices,) shares of the slices, positive, with sum one.
    """

    pairs: Floats
    pair_std: Floats
    ones: Floats
    one_std: Floats
    law: Floats


def moment_targets(moments: Moments, layout: MomentLayout, anchor: AnchorPlan) -> MomentTargets:
    """Combine the estimates of every total and one-way count by inverse variance; project onto what is possible."""
    pair_std = anchor.noise_std / layout.cell_weights
    one_std = anchor.noise_std / layout.diagonal_factor(anchor.diagonal_weight)
    class_std = anchor.noise_std / anchor.diagonal_weight if layout.by_class else np.inf
    blocks = layout.blocks
    totals = _slice_totals(moments, blocks, pair_std, one_std, class_std)
    size = max(float(totals.sum()), 1.0)
    law = positive_law(totals / size)
    ones = moments.ones / one_std**2
    precision = np.full_like(ones, 1.0 / one_std**2)
    for i, block in enumerate(blocks):
        for j, other in enumerate(blocks):
            if i != j:  # the row sums of a pair's block are one more estimate of the one-way counts
                variance = layout.feature_cardinalities[j] * pair_std[block.start, other.start] ** 2
                ones[:, block] += moments.pairs[:, block, other].sum(axis=2) / variance
                precision[:, block] += 1.0 / variance
    ones = ones / precision / size
    for index in range(layout.slices):
        for block in blocks:
            ones[index, block] = project_to_simplex(ones[index, block], total=float(law[index]))
    return MomentTargets(
        pairs=moments.pairs / size,
        pair_std=pair_std / size,
        ones=ones,
        one_std=1.0 / np.sqrt(precision) / size,
        law=law,
    )


def project_to_simplex(values: Floats, *, total: float) -> Floats:
    """The nearest vector of numbers that are not negative and have the sum `total` (Duchi et al. 2008, figure 1)."""
    ordered = np.sort(values)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, len(values) + 1)
    last = np.flatnonzero(ordered > excess)[-1]
    projected: Floats = np.maximum(values - excess[last], 0.0)
    return projected


def positive_law(shares: Floats) -> Floats:
    """Shares as a law in which everything is possible: no share below 1e-6, sum one."""
    kept: Floats = np.maximum(shares, _SMALLEST_SHARE)
    kept /= kept.sum()
    return kept


def _slice_totals(
    moments: Moments, blocks: tuple[slice, ...], pair_std: Floats, one_std: float, class_std: float
) -> Floats:
    """Every block of counts sums to its slice's total: their average weighted by inverse variance."""
    weighted, precision = np.zeros(len(moments.ones)), 0.0
    if len(moments.classes):
        weighted += moments.classes / class_std**2
        precision += 1.0 / class_std**2
    for i, block in enumerate(blocks):
        cells = block.stop - block.start
        weighted += moments.ones[:, block].sum(axis=1) / (cells * one_std**2)
        precision += 1.0 / (cells * one_std**2)
        for other in blocks[:i]:
            variance = cells * (other.stop - other.start) * pair_std[block.start, other.start] ** 2
            weighted += moments.pairs[:, block, other].sum(axis=(1, 2)) / variance
            precision += 1.0 / variance
    return weighted / precision
