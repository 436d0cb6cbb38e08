"""Groups of codes: how finely pairs of columns are counted.

The noise on a cell of a table of counts does not depend on how many records the cell holds, so a table of few large cells has
less error than one of many small cells, until differences inside the cells are lost. The codes of a column are merged into
groups of about equal weight: neighbours where the codes are ordered, rare with rare where they are not. A code with more than a
group's weight stays alone. The weight is the root of the share, so that rare values, which may matter most, are not all in one group. Inside a group the codes keep the shares that they have in the column.

Everything here follows from noisy counts and public facts: post-processing, free of charge.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

GROUP_POWER: Final = 0.5
"""Groups have about equal sums of this power of their codes' shares, so that rare codes make more groups than their share."""

Floats = npt.NDArray[np.float64]
Groups = npt.NDArray[np.int64]
"""(codes,) the group of each code of a column, from 0 without a gap."""


def group_codes(distribution: Floats, *, most: int, ordered: bool, alone: Sequence[int] = ()) -> Groups:
    """Merge the codes of a column into groups of about equal weight, the root of a code's share.

    Args:
        distribution: (codes,) noisy shares.
        most: how many groups an even distribution gets; an uneven one may get a few more.
        ordered: whether neighbouring codes are alike; else codes are merged in the order of their shares.
        alone: codes that are never merged, such as missing values among numbers.

    Returns:
        (codes,) the group of every code, from 0 without a gap. Where none are merged, every code is its own group, because
        counts then state no groups.
    """
    if len(distribution) <= most:
        return np.arange(len(distribution))
    sequence = np.arange(len(distribution)) if ordered else np.argsort(-distribution, kind="stable")
    weights = np.maximum(distribution, 0.0) ** GROUP_POWER
    share, group, held = float(weights.sum()) / most, 0, 0.0
    groups = np.empty(len(distribution), dtype=np.int64)
    for code in sequence.tolist():
        if code in alone:
            groups[code] = len(distribution) + code
            continue
        if held > 0 and (weights[code] >= share or held + weights[code] / 2 > share):
            group, held = group + 1, 0.0
        groups[code] = group
        held += weights[code]
        if held >= share:
            group, held = group + 1, 0.0
    different, numbered = np.unique(groups, return_inverse=True)
    return numbered.reshape(-1) if len(different) < len(distribution) else np.arange(len(distribution))


def sums_of_groups(values: Floats, groups: Groups) -> Floats:
    """Sum values of codes into those of their groups."""
    sums = np.bincount(groups, weights=values, minlength=int(groups.max(initial=-1)) + 1)
    return sums.astype(np.float64)


def group_counts(groups: Sequence[Groups]) -> tuple[int, ...]:
    """Return how many groups every column has."""
    return tuple(int(of_column.max(initial=-1)) + 1 for of_column in groups)
