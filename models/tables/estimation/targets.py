"""The generator's targets: noisy counts made consistent. Post-processing of a release, free of charge.

Several counts say the same number: a column's codes, the sums of its groups, and the row sums of every pair that it is in. All estimates of a
number are combined by inverse variance (`models.tables.estimation.column_distributions`), and pairs are shrunk
(`models.tables.estimation.shrunk_pairs`). Cells that declared rules leave empty are zero (`models.tables.estimation.zeros`): their noise is dropped,
and they are not among the free cells.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from core.plan.stages import AnchorPlan
from models.simplex import (
    SMALLEST_SHARE,
    positive_distribution,
    project_to_simplex,
    scaled_to_margins,
)
from models.tables.anchor import MomentLayout, Moments, Pair
from models.tables.code_groups import Groups, sums_of_groups
from models.tables.estimation.column_distributions import column_distribution, column_stds
from models.tables.estimation.shrunk_pairs import shrunk_pairs
from models.tables.estimation.smoothing import CodeOrder
from models.tables.estimation.zeros import Forbidden, zeros_of

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
_SCALINGS = 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counted:
    """Everything that an anchor released of a table.

    Args:
        columns: noisy counts of the codes of every column, in records.
        moments: noisy counts of groups.
        most_records: how many records of a unit counted fully.
        pairs: the pairs of columns other than the target that were counted; None if all were.
    """

    columns: tuple[Floats, ...]
    groups: tuple[Groups, ...]
    moments: Moments
    most_records: int = 1
    pairs: tuple[Pair, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MomentTargets:
    """Counts as shares of all records, with the standard deviation of their noise.

    Args:
        pairs: (slices, cells, cells), shrunk, not negative, zero inside the diagonal blocks.
        pair_std: (cells, cells), of every slice of the noisy shares.
        ones: (slices, cells) shares of the groups, not negative; every block sums to its slice's share.
        one_std: (slices, cells), of what the second round says of `ones`.
        margin_std: (cells,) of the shares of the groups in all slices together, by both rounds.
        distribution: (slices,) shares of the slices, positive, with sum one.
        columns: of every column (codes,) shares, positive, with sum one.
        impossible: (slices, cells, cells) the cells that declared rules leave empty, or None where they empty none.
        combinations: one axis a column, shares of all combinations of codes; None where pairs were counted.
        combination_std: of their noisy shares.
    """

    pairs: Floats
    pair_std: Floats
    ones: Floats
    one_std: Floats
    margin_std: Floats
    distribution: Floats
    columns: tuple[Floats, ...]
    impossible: Flags | None = None
    combinations: Floats | None = None
    combination_std: float = 0.0


def moment_targets(
    counted: Counted,
    layout: MomentLayout,
    anchor: AnchorPlan,
    *,
    order: CodeOrder | None = None,
    forbidden: Forbidden = MappingProxyType({}),
) -> MomentTargets:
    """Combine all estimates of every one-way count by inverse variance, smooth and normalise them, and shrink the pairs.

    Args:
        order: which neighbouring codes are alike; None if none are.
        forbidden: by two columns, (codes, codes) the cells that declared rules leave empty.
    """
    moments, blocks = counted.moments, layout.blocks
    variances = column_stds(counted.columns, anchor, most_records=counted.most_records) ** 2
    pair_std = anchor.noise_std / layout.pair_weights
    size = max(_size(counted, layout, pair_std, variances), 1.0)
    smoother = None if order is None else order.smoother(counted.columns, np.sqrt(variances), total=size)
    ones, precision = _ones(moments, layout, pair_std, anchor.noise_std)
    distribution = np.ones(1)
    if layout.by_class and layout.target_index is not None:
        target = layout.target_index
        distribution = _distribution_of_classes(
            counted.columns[target], variances[target], ones, precision, blocks, size
        )
    columns = [positive_distribution(project_to_simplex(c / size, total=1.0)) for c in counted.columns]
    margin_std = np.zeros(layout.cells)
    for column, block in zip(layout.features, blocks, strict=True):
        groups = counted.groups[column]
        direct = sums_of_groups(counted.columns[column], groups)
        of_direct = np.bincount(groups) * variances[column]
        # What the direct counts say of the sum over all classes is spread over the classes by their variance, which is equal.
        total, of_total = ones[:, block].sum(axis=0), (1.0 / precision[:, block]).sum(axis=0)
        whole = (direct / of_direct + total / of_total) / (1.0 / of_direct + 1.0 / of_total)
        ones[:, block] += (whole - total) / layout.slices
        of_whole = 1.0 / (1.0 / of_direct + 1.0 / of_total)
        margin_std[block] = np.sqrt(of_whole) / size
        columns[column] = column_distribution(
            counted.columns[column], whole, groups, variances[column],
            of_whole, size, column=column, smoother=smoother,
        )  # fmt: skip
    ones /= size
    for column, block in zip(layout.features, blocks, strict=True):
        for index in range(layout.slices):
            ones[index, block] = project_to_simplex(ones[index, block], total=float(distribution[index]))
        ones[:, block] = _with_margins(
            ones[:, block], distribution, sums_of_groups(columns[column], counted.groups[column])
        )
    if layout.by_class and layout.target_index is not None:
        columns[layout.target_index] = distribution
    zeros = zeros_of(forbidden, counted.groups, layout)
    if zeros is not None:
        margins = zeros.margins(ones, 1.0 / precision, distribution, layout)
        raised = margins.sum(axis=0) / ones.sum(axis=0)
        for column, block in zip(layout.features, layout.blocks, strict=True):
            columns[column] = positive_distribution(columns[column] * raised[block][counted.groups[column]])
        ones = margins
    orders = () if order is None else [order.of_groups(c, counted.groups[c]) for c in layout.features]
    pairs = shrunk_pairs(moments.pairs / size, ones, distribution, pair_std / size, layout, zeros, orders)
    return MomentTargets(
        pairs=pairs,
        pair_std=pair_std / size,
        ones=ones,
        one_std=1.0 / np.sqrt(precision) / size,
        margin_std=margin_std,
        distribution=distribution,
        columns=tuple(columns),
        impossible=None if zeros is None else zeros.impossible(layout),
    )


def _distribution_of_classes(
    direct: Floats, variance: float, ones: Floats, precision: Floats, blocks: Sequence[slice], size: float
) -> Floats:
    """Shares of the target's classes: its own counts, joined with the sums of every column within each class.

    Args:
        direct: (classes,) noisy counts.
        variance: of their noise.
        ones: (classes, cells) counts of groups.
        precision: (classes, cells) inverse variances of their noise.
        blocks: the cells of each column.
        size: records in all.
    """
    votes, weights = direct / variance, 1.0 / variance
    for block in blocks:
        of_sum = (1.0 / precision[0, block]).sum()
        votes, weights = votes + ones[:, block].sum(axis=1) / of_sum, weights + 1.0 / of_sum
    return positive_distribution(project_to_simplex(votes / weights / size, total=1.0))


def _size(counted: Counted, layout: MomentLayout, pair_std: Floats, variances: Floats) -> float:
    """Every table of counts sums to the number of records: their average weighted by inverse variance."""
    weighted = precision = 0.0
    for counts, variance in zip(counted.columns, variances, strict=True):
        weighted += float(counts.sum()) / (len(counts) * variance)
        precision += 1.0 / (len(counts) * variance)
    for i, block in enumerate(layout.blocks):
        for other in layout.blocks[:i]:
            if not layout.counted[block.start, other.start]:
                continue
            table = counted.moments.pairs[:, block, other]
            variance = table.size * pair_std[block.start, other.start] ** 2
            weighted += float(table.sum()) / variance
            precision += 1.0 / variance
    return weighted / precision


def _ones(
    moments: Moments, layout: MomentLayout, pair_std: Floats, noise_std: float
) -> tuple[Floats, Floats]:
    """Counts of groups within each slice, from the second round, and their precision; (slices, cells) each."""
    ones = np.zeros((layout.slices, layout.cells))
    precision = np.full_like(ones, 1e-12)  # of a column that is in no table
    if layout.by_class:
        precision += (layout.one_weights / noise_std) ** 2
        ones += moments.ones * (layout.one_weights / noise_std) ** 2
    for block in layout.blocks:
        for j, other in enumerate(layout.blocks):
            # The row sums of a pair's block are one more estimate of the one-way counts.
            if layout.counted[block.start, other.start]:
                variance = layout.feature_cardinalities[j] * pair_std[block.start, other.start] ** 2
                ones[:, block] += moments.pairs[:, block, other].sum(axis=2) / variance
                precision[:, block] += 1.0 / variance
    return ones / precision, precision


def _with_margins(shares: Floats, distribution: Floats, whole: Floats) -> Floats:
    """Scale rows and columns in turn to their better known sums."""
    fitted = scaled_to_margins(
        shares + SMALLEST_SHARE * np.outer(distribution, whole), distribution, whole, scalings=_SCALINGS
    )
    fitted *= whole / fitted.sum(axis=0)
    return fitted
