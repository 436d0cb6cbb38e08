"""The generator's targets where all combinations of codes were counted: one distribution of the whole table. Post-processing, free of charge.

A noisy table is a sum of components, one for each set of columns: the margin on the set, centred along every column of it (analysis
of variance). The noise of different components is independent, and what is known of a small set is better known. So the distribution grows
from small sets to large ones. It begins as the product of the columns' distributions. For each number of columns in turn, the margins of all sets
of as many are compared with those of the distribution so far: the differences keep the part that their noise does not explain
(`models.tables.estimation.shrinkage`, learnt from all sets together), and the distribution is raked to the margins so made (Deming and Stephan 1940).
Raking leaves cells empty that declared rules leave empty.
"""

import itertools
import math
from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

import numpy as np
import numpy.typing as npt

from core.plan.stages import AnchorPlan
from models.simplex import positive_distribution, project_to_simplex
from models.tables.anchor import MomentLayout
from models.tables.estimation.column_distributions import column_stds
from models.tables.estimation.shrinkage import kept
from models.tables.estimation.smoothing import CodeOrder
from models.tables.estimation.targets import Counted, MomentTargets
from models.tables.estimation.zeros import Forbidden, zeros_of

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Columns = tuple[int, ...]

_RAKINGS: Final = 20
_SMALLEST_KEPT: Final = 1e-3
"""The part of its expected share that a cell of a margin always keeps, or raking might not reach the others."""
_LEAST: Final = 1e-300


def combination_targets(
    counted: Counted,
    layout: MomentLayout,
    anchor: AnchorPlan,
    *,
    order: CodeOrder,
    forbidden: Forbidden = MappingProxyType({}),
) -> MomentTargets:
    """Estimate the distribution of a table from noisy counts of all combinations of its codes and of its columns.

    Args:
        forbidden: by two columns, (codes, codes) the cells that declared rules leave empty.
    """
    whole = counted.moments.combinations
    assert whole is not None, "combinations were counted"
    (weight,) = layout.weights.values()
    stds = column_stds(counted.columns, anchor, most_records=counted.most_records)
    variance, columns = (anchor.noise_std / weight) ** 2, range(whole.ndim)
    tables = [(counts, len(counts) * std**2) for counts, std in zip(counted.columns, stds, strict=True)]
    tables.append((whole.ravel(), whole.size * variance))
    precision = [1.0 / of_sum for _counts, of_sum in tables]
    total = sum(float(counts.sum()) / of_sum for counts, of_sum in tables) / math.fsum(precision)
    size = max(total, 1.0)
    smoother = order.smoother(counted.columns, stds, total=size)
    sums = [variance * whole.size / codes for codes in whole.shape]
    own = [math.sqrt(1.0 / (1.0 / std**2 + 1.0 / of_sum)) for std, of_sum in zip(stds, sums, strict=True)]
    ones: list[Floats] = []
    for column, (direct, std, of_sum) in enumerate(zip(counted.columns, stds, sums, strict=True)):
        mean = own[column] ** 2 * (direct / std**2 + _margin(whole, (column,)) / of_sum)
        counts = smoother.smoothed(column, mean, own[column])
        ones.append(positive_distribution(project_to_simplex(counts / size, total=1.0)))
    distribution = estimated_distribution(
        whole / size, ones, variance=variance / size**2, possible=_possible(whole, forbidden)
    )
    pairs, pair_std = np.zeros((1, layout.cells, layout.cells)), np.ones((layout.cells, layout.cells))
    for first, second in itertools.combinations(columns, 2):
        block, other = layout.blocks[first], layout.blocks[second]
        pairs[0, block, other] = table = _margin(distribution, (first, second))
        pairs[0, other, block] = table.T
        pair_std[block, other] = pair_std[other, block] = math.sqrt(variance * whole.size / table.size) / size
    zeros = zeros_of(forbidden, counted.groups, layout)
    distributions = tuple(positive_distribution(_margin(distribution, (column,))) for column in columns)
    return MomentTargets(
        pairs=pairs,
        pair_std=pair_std,
        ones=np.concatenate(distributions)[None, :],
        one_std=np.repeat(own, whole.shape)[None, :] / size,
        margin_std=np.repeat(own, whole.shape) / size,
        distribution=np.ones(1),
        columns=distributions,
        impossible=None if zeros is None else zeros.impossible(layout),
        combinations=distribution,
        combination_std=math.sqrt(variance) / size,
    )


def estimated_distribution(
    noisy: Floats, ones: Sequence[Floats], *, variance: float, possible: Flags
) -> Floats:
    """Return the distribution of all combinations of codes, one axis a column.

    Args:
        noisy: one axis a column, shares with noise.
        ones: of every column (codes,) its distribution.
        variance: of the noise on a share.
        possible: one axis a column, the cells that rules do not leave empty.
    """
    distribution = np.where(possible, 1.0, 0.0)
    alone = [((column,), of_column) for column, of_column in enumerate(ones)]
    distribution = _raked(distribution, alone)
    for number in range(2, noisy.ndim + 1):
        sets = list(itertools.combinations(range(noisy.ndim), number))
        expected = [_margin(distribution, columns) for columns in sets]
        residuals = [
            _centred(_margin(noisy, columns) - of_distribution)
            for columns, of_distribution in zip(sets, expected, strict=True)
        ]
        factors = kept(
            _flat(residuals),
            _flat(expected),
            variance=np.repeat(
                [variance * noisy.size / of_distribution.size for of_distribution in expected],
                _sizes(expected),
            ),
            left=np.repeat(
                [
                    math.prod(1.0 - 1.0 / codes for codes in of_distribution.shape)
                    for of_distribution in expected
                ],
                _sizes(expected),
            ),
        )
        pieces = np.split(factors, np.cumsum(_sizes(expected))[:-1])
        made = [
            np.maximum(
                of_distribution + factor.reshape(of_distribution.shape) * residual,
                _SMALLEST_KEPT * of_distribution,
            )
            for of_distribution, factor, residual in zip(expected, pieces, residuals, strict=True)
        ]
        distribution = _raked(
            distribution, [(columns, one / one.sum()) for columns, one in zip(sets, made, strict=True)]
        )
    return distribution


def _possible(whole: Floats, forbidden: Forbidden) -> Flags:
    possible = np.ones(whole.shape, dtype=np.bool_)
    for (first, second), empty in forbidden.items():
        shape = [codes if column in (first, second) else 1 for column, codes in enumerate(whole.shape)]
        possible &= ~(empty if first < second else empty.T).reshape(shape)
    return possible


def _raked(distribution: Floats, margins: Sequence[tuple[Columns, Floats]]) -> Floats:
    """Scale a distribution to margins in turn; with sum one."""
    for _ in range(_RAKINGS):
        for columns, wanted in margins:
            ratio = wanted / np.maximum(_margin(distribution, columns), _LEAST)
            shape = [codes if column in columns else 1 for column, codes in enumerate(distribution.shape)]
            distribution = distribution * ratio.reshape(shape)
    distribution /= distribution.sum()
    return distribution


def _margin(table: Floats, columns: Columns) -> Floats:
    summed: Floats = table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in columns))
    return summed


def _centred(table: Floats) -> Floats:
    """Subtract the mean along every axis."""
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def _flat(tables: Sequence[Floats]) -> Floats:
    return np.concatenate([table.ravel() for table in tables])


def _sizes(tables: Sequence[Floats]) -> list[int]:
    return [table.size for table in tables]
