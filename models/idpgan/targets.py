"""The generator's targets: noisy counts made consistent and shrunk. Post-processing of a release, free of charge.

The noise is known, so what it explains is taken off. The residual of a pair of columns is its noisy shares less the product of its
columns' shares. Each cell keeps the part of its residual that the noise does not explain (`models.idpgan.shrinkage`). Where other pairs
imply that two columns depend on each other, the residual is taken from what they imply (`models.idpgan.implied`). By class of the
target the product is that of the columns' shares within each class, and two residuals are shrunk: what all classes have in common,
and what each has of its own.

Cells that declared rules leave empty are zero (`models.idpgan.zeros`): their noise is dropped, they are not among the free cells, and the
product becomes the quasi-independent law that has the same margins on the other cells.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np
import numpy.typing as npt

from core.plan.counting_rules import column_weights, smoothed_weight
from core.plan.stages import AnchorPlan
from models.anchor import MomentLayout, Moments, Pair
from models.grouping import Groups, sums_of_groups
from models.idpgan.implied import centred, implied_laws, independent
from models.idpgan.shrinkage import kept
from models.idpgan.zeros import Forbidden, Pattern, Zeros, zeros_of
from models.simplex import SMALLEST_SHARE, positive_law, project_to_simplex, scaled_to_margins
from models.smoothing import CodeOrder, Smoother

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
CODES_OF_GROUP: Final = 32
"""Codes without an order for each group from which on smoothed codes are scaled to the sums of their groups. The even shares by which sums
are otherwise corrected would flatten a column of so many."""
_SCALINGS = 20
_SMALLEST_KEPT = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counted:
    """Everything that an anchor released of a table.

    Args:
        columns: noisy counts of the codes of every column, in records.
        groups: of every column (codes,) the group of each code.
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
        law: (slices,) shares of the slices, positive, with sum one.
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
    law: Floats
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
        counted: what was released.
        layout: of the second round.
        anchor: of the plan.
        order: which neighbouring codes are alike; None if none are.
        forbidden: by two columns, (codes, codes) the cells that declared rules leave empty.
    """
    moments, blocks = counted.moments, layout.blocks
    variances = column_stds(counted.columns, anchor, most_records=counted.most_records) ** 2
    pair_std = anchor.noise_std / layout.pair_weights
    size = max(_size(counted, layout, pair_std, variances), 1.0)
    smoother = None if order is None else order.smoother(counted.columns, np.sqrt(variances), total=size)
    ones, precision = _ones(moments, layout, pair_std, anchor.noise_std)
    law = np.ones(1)
    if layout.by_class and layout.target_index is not None:
        target = layout.target_index
        votes, weights = counted.columns[target] / variances[target], 1.0 / variances[target]
        for block in blocks:
            variance = (1.0 / precision[0, block]).sum()
            votes, weights = votes + ones[:, block].sum(axis=1) / variance, weights + 1.0 / variance
        law = positive_law(project_to_simplex(votes / weights / size, total=1.0))
    columns = [positive_law(project_to_simplex(c / size, total=1.0)) for c in counted.columns]
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
        columns[column] = _column_law(
            counted.columns[column], whole, groups, variances[column],
            of_whole, size, column=column, smoother=smoother,
        )  # fmt: skip
    ones /= size
    for column, block in zip(layout.features, blocks, strict=True):
        for index in range(layout.slices):
            ones[index, block] = project_to_simplex(ones[index, block], total=float(law[index]))
        ones[:, block] = _with_margins(
            ones[:, block], law, sums_of_groups(columns[column], counted.groups[column])
        )
    if layout.by_class and layout.target_index is not None:
        columns[layout.target_index] = law
    zeros = zeros_of(forbidden, counted.groups, layout)
    if zeros is not None:
        margins = zeros.margins(ones, 1.0 / precision, law, layout)
        raised = margins.sum(axis=0) / ones.sum(axis=0)
        for column, block in zip(layout.features, layout.blocks, strict=True):
            columns[column] = positive_law(columns[column] * raised[block][counted.groups[column]])
        ones = margins
    pairs = _shrunk(moments.pairs / size, ones, law, pair_std / size, layout, zeros)
    return MomentTargets(
        pairs=pairs,
        pair_std=pair_std / size,
        ones=ones,
        one_std=1.0 / np.sqrt(precision) / size,
        margin_std=margin_std,
        law=law,
        columns=tuple(columns),
        impossible=None if zeros is None else zeros.impossible(layout),
    )


def column_stds(columns: Sequence[Floats], anchor: AnchorPlan, *, most_records: int) -> Floats:
    """Return the standard deviation of the noise on a code of each column in the first round, in records; (columns,).

    Args:
        columns: noisy counts of the codes of every column.
        anchor: of the plan.
        most_records: how many records of a unit counted fully.
    """
    cardinalities = tuple(len(counts) for counts in columns)
    return anchor.noise_std / column_weights(cardinalities, anchor, most_records=most_records)


def first_laws(columns: Sequence[Floats], stds: Floats, order: CodeOrder) -> list[Floats]:
    """Return the shares of every column from the counts of the first round alone.

    Args:
        columns: noisy counts of the codes of every column.
        stds: (columns,) standard deviations of their noise.
        order: which neighbouring codes are alike.
    """
    size = first_size(columns)
    smoother = order.smoother(columns, stds, total=size)
    smoothed = [smoother.smoothed(place, counts, float(stds[place])) for place, counts in enumerate(columns)]
    return [project_to_simplex(counts / size, total=1.0) for counts in smoothed]


def first_size(columns: Sequence[Floats]) -> float:
    """Return the number of records from the counts of the first round alone, at least one."""
    return max(float(np.median([counts.sum() for counts in columns])), 1.0)


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


def _std_of_codes(variance: float, of_sums: Floats, groups: Groups) -> float:
    """Return the root mean square error of a column's counts whose sums over groups are known better than each count.

    Args:
        variance: of the noise on a code.
        of_sums: (groups,) variances of the sums.
        groups: (codes,) the group of each code.
    """
    codes = np.bincount(groups)
    mean = (variance * (codes - 1.0) + of_sums / codes).sum() / codes.sum()
    return float(np.sqrt(mean))


def _column_law(
    direct: Floats,
    sums: Floats,
    groups: Groups,
    variance: float,
    of_sums: Floats,
    size: float,
    *,
    column: int,
    smoother: Smoother | None,
) -> Floats:
    """Combine counts of codes and better known sums over groups; (codes,) shares.

    Args:
        direct: (codes,) noisy counts.
        sums: (groups,) estimates from all counts.
        groups: (codes,) the group of each code.
        variance: of the noise on a code.
        of_sums: (groups,) variances of the sums.
        size: records in all.
        column: which.
        smoother: of the table's columns; None to take counts as they are.
    """
    counts = direct + ((sums - sums_of_groups(direct, groups)) / np.bincount(groups))[groups]
    if smoother is not None:
        counts = smoother.smoothed(column, counts, _std_of_codes(variance, of_sums, groups))
    law = positive_law(project_to_simplex(counts / size, total=1.0))
    if smoother is None or smoother.order.ordered[column] or len(direct) < CODES_OF_GROUP * len(sums):
        return law
    std = float(np.sqrt(variance))
    scaled = _with_sums(smoother.smoothed(column, direct, std) / size, sums / size, groups)
    weight = smoothed_weight(float(direct.mean()) / std)
    return positive_law(weight * scaled + (1.0 - weight) * law)


def _with_sums(shares: Floats, sums: Floats, groups: Groups) -> Floats:
    """Scale the shares of codes to the sums of their groups; a law."""
    within = positive_law(project_to_simplex(shares, total=1.0))
    scaled: Floats = within * (project_to_simplex(sums, total=1.0) / sums_of_groups(within, groups))[groups]
    return scaled


def _with_margins(shares: Floats, law: Floats, whole: Floats) -> Floats:
    """Scale rows and columns in turn to their better known sums."""
    fitted = scaled_to_margins(shares + SMALLEST_SHARE * np.outer(law, whole), law, whole, scalings=_SCALINGS)
    fitted *= whole / fitted.sum(axis=0)
    return fitted


def _shrunk(
    pairs: Floats,
    ones: Floats,
    law: Floats,
    pair_std: Floats,
    layout: MomentLayout,
    zeros: Zeros | None = None,
) -> Floats:
    """Shrink the noisy shares of all pairs towards independence within the slice, then towards what other pairs imply of them."""
    patterns = {} if zeros is None else zeros.pairs
    shrunk = np.zeros_like(pairs)
    for i, block in enumerate(layout.blocks):
        for j, other in enumerate(layout.blocks[:i]):
            variance = pair_std[block.start, other.start] ** 2
            noisy = pairs[:, block, other] if layout.counted[block.start, other.start] else None
            made = independent(ones, law, block, other)
            if (i, j) in patterns:
                margins = ones[:, block], ones[:, other]
                made = _shrunk_on(patterns[i, j], noisy, margins, law, variance)
            elif noisy is not None:
                made = _shrunk_towards(made, noisy, law, variance)
            _put(shrunk, block, other, made)
    for (i, j), implied in implied_laws(pairs, shrunk, ones, law, pair_std, layout).items():
        if (i, j) in patterns:
            continue
        block, other = layout.blocks[i], layout.blocks[j]
        made = implied
        if layout.counted[block.start, other.start]:
            variance = pair_std[block.start, other.start] ** 2
            made = _shrunk_towards(implied, pairs[:, block, other], law, variance)
        _put(shrunk, block, other, made)
    return shrunk


def _put(tables: Floats, block: slice, other: slice, made: Floats) -> None:
    tables[:, block, other] = made
    tables[:, other, block] = made.transpose(0, 2, 1)


def _shrunk_towards(expected: Floats, noisy: Floats, law: Floats, variance: float) -> Floats:
    """Shrink the noisy shares of a pair towards the expected ones; (slices, rows, columns) each.

    Args:
        expected: with the margins of the columns.
        noisy: as released.
        law: (slices,) shares of the slices.
        variance: of the noise on a cell.
    """
    slices = len(law)
    # Of S slices with shares p, what one has of its own has 1 - 2 p + S p^2 times the variance of a slice: (S - 1) / S where all are even.
    of_own = (1.0 - 2.0 * law + slices * law**2)[:, None, None]
    residual = centred(noisy - expected)
    left = (1.0 - 1.0 / residual.shape[1]) * (1.0 - 1.0 / residual.shape[2])
    common = residual.sum(axis=0)
    own = residual - law[:, None, None] * common
    common *= kept(common, expected.sum(axis=0), variance=variance * slices, left=left)
    own *= kept(own, expected, variance=variance * of_own, left=left)
    shrunk: Floats = np.maximum(expected + law[:, None, None] * common + own, 0.0)
    return shrunk


def _shrunk_on(
    pattern: Pattern, noisy: Floats | None, margins: tuple[Floats, Floats], law: Floats, variance: float
) -> Floats:
    """Shrink the noisy shares of a pair towards quasi-independence within the slice, on the cells that are possible.

    Args:
        pattern: which cells are possible.
        noisy: (slices, rows, columns); None where the pair was not counted.
        margins: (slices, rows) and (slices, columns) shares, which stay.
        law: (slices,) shares of the slices.
        variance: of the noise on a cell.
    """
    rows, columns = margins
    slices, part = len(law), law[:, None, None]
    quasi, _ = pattern.fitted(rows[:, :, None] * columns[:, None, :] / part, rows, columns)
    if noisy is None:
        return quasi
    residual = pattern.centred(noisy - quasi)
    common = residual.sum(axis=0)
    own = residual - part * common
    # As in `_shrunk`, but cells and slices may differ in what centring leaves.
    of_own = 1.0 - 2.0 * part + slices * part**2
    whole = pattern.left.sum(axis=0)
    left_of_own = (pattern.left * (1.0 - 2.0 * part) + part**2 * whole) / np.maximum(of_own, SMALLEST_SHARE)
    common *= kept(common, quasi.sum(axis=0), variance=variance * slices, left=whole / slices)
    own *= kept(own, quasi, variance=variance * of_own, left=left_of_own)
    made = quasi + pattern.centred(law[:, None, None] * common + own)
    # Every possible cell keeps a little of its share, or what is left might not reach the margins.
    return pattern.fitted(np.maximum(made, _SMALLEST_KEPT * quasi), rows, columns)[0]
