"""Shares of every column: counts of codes, joined with better known sums over groups, smoothed and normalised. Post-processing, free of charge."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from core.plan.counting_rules import column_weights, smoothed_weight
from core.plan.stages import AnchorPlan
from models.simplex import positive_distribution, project_to_simplex
from models.tables.code_groups import Groups, sums_of_groups
from models.tables.estimation.smoothing import CodeOrder, Smoother

Floats = npt.NDArray[np.float64]
CODES_OF_GROUP: Final = 32
"""Codes without an order for each group from which on smoothed codes are scaled to the sums of their groups. The even shares by which sums
are otherwise corrected would flatten a column of so many."""


def first_distributions(columns: Sequence[Floats], stds: Floats, order: CodeOrder) -> list[Floats]:
    """Return the shares of every column from the counts of the first round alone.

    Args:
        columns: noisy counts of the codes of every column.
        stds: (columns,) standard deviations of their noise.
    """
    size = first_size(columns)
    smoother = order.smoother(columns, stds, total=size)
    smoothed = [smoother.smoothed(place, counts, float(stds[place])) for place, counts in enumerate(columns)]
    return [project_to_simplex(counts / size, total=1.0) for counts in smoothed]


def first_size(columns: Sequence[Floats]) -> float:
    """Return the number of records from the counts of the first round alone, at least one."""
    return max(float(np.median([counts.sum() for counts in columns])), 1.0)


def column_stds(columns: Sequence[Floats], anchor: AnchorPlan, *, most_records: int) -> Floats:
    """Return the standard deviation of the noise on a code of each column in the first round, in records; (columns,).

    Args:
        columns: noisy counts of the codes of every column.
        most_records: how many records of a unit counted fully.
    """
    cardinalities = tuple(len(counts) for counts in columns)
    return anchor.noise_std / column_weights(cardinalities, anchor, most_records=most_records)


def column_distribution(
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
        smoother: of the table's columns; None to take counts as they are.
    """
    counts = direct + ((sums - sums_of_groups(direct, groups)) / np.bincount(groups))[groups]
    if smoother is not None:
        counts = smoother.smoothed(column, counts, _std_of_codes(variance, of_sums, groups))
    distribution = positive_distribution(project_to_simplex(counts / size, total=1.0))
    if smoother is None or smoother.order.ordered[column] or len(direct) < CODES_OF_GROUP * len(sums):
        return distribution
    std = float(np.sqrt(variance))
    scaled = _with_sums(smoother.smoothed(column, direct, std) / size, sums / size, groups)
    weight = smoothed_weight(float(direct.mean()) / std)
    return positive_distribution(weight * scaled + (1.0 - weight) * distribution)


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


def _with_sums(shares: Floats, sums: Floats, groups: Groups) -> Floats:
    """Scale the shares of codes to the sums of their groups; a distribution."""
    within = positive_distribution(project_to_simplex(shares, total=1.0))
    scaled: Floats = within * (project_to_simplex(sums, total=1.0) / sums_of_groups(within, groups))[groups]
    return scaled
