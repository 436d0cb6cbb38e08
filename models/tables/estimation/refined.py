"""Finer groups of ordered columns, for the fit. Post-processing of a release, free of charge.

Inside a group of codes nothing is counted but the column itself, so two columns are independent there. Of two columns that nearly determine each
other that is far from the truth: a ride begins and ends within one group of hours, but not at times that know nothing of each other.
Where one odds ratio says how two ordered columns depend on each other (`models.tables.estimation.association`), it also says so of parts of
their groups. A cell of two groups then keeps its estimated share, spread over its parts as the distribution of that odds ratio spreads it. All
other pairs stay independent inside their groups.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

import numpy as np
import numpy.typing as npt

from models.tables.anchor import MomentLayout
from models.tables.code_groups import Groups, group_codes, group_counts, sums_of_groups
from models.tables.estimation.association import (
    distribution_of_one_ratio,
    distributions_of_one_ratio,
    nearest,
)
from models.tables.estimation.implied import independent
from models.tables.estimation.smoothing import CodeOrder
from models.tables.estimation.targets import MomentTargets
from models.tables.estimation.zeros import Forbidden, zeros_of

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

MOST_PARTS: Final = 3
"""Parts of a group (docs/rules-study.md)."""
LEAST_LOG_ODDS: Final = 2.5
"""Logarithm of an odds ratio from which on columns depend on each other inside their groups, of either sign (docs/rules-study.md)."""
MOST_UNEXPLAINED: Final = 0.25
"""Which part of the squared distance from independence the distribution of one odds ratio may leave."""
MOST_CELLS: Final = 512
"""Groups of all columns together up to which they are made finer: a step of the fit takes time with their square."""
_SMALLEST: Final = 1e-15


@dataclass(frozen=True, slots=True, eq=False)
class GroupedTargets:
    """Targets and the groups of codes that they are over.

    Args:
        groups: of every column (codes,) the group of each code.
    """

    layout: MomentLayout
    targets: MomentTargets
    groups: tuple[Groups, ...]


def refined(
    coarse: GroupedTargets, order: CodeOrder, *, forbidden: Forbidden = MappingProxyType({})
) -> GroupedTargets:
    """Return targets over parts of the groups of columns that strongly depend on each other; the same where there are none.

    Args:
        forbidden: by two columns, (codes, codes) the cells that declared rules leave empty.
    """
    layout, targets = coarse.layout, coarse.targets
    if layout.combinations or layout.cells >= MOST_CELLS:
        return coarse
    inside = [order.of_groups(column, groups) for column, groups in enumerate(coarse.groups)]
    log_odds = _log_odds(targets, layout, [inside[column] for column in layout.features])
    tied = {layout.features[place] for pair in log_odds for place in pair}
    groups = tuple(
        _parts(of_codes, targets.columns[column], inside[column]) if column in tied else of_codes
        for column, of_codes in enumerate(coarse.groups)
    )
    finer = replace(layout, cardinalities=group_counts(groups))
    if finer.cells > MOST_CELLS or finer.cells == layout.cells:
        return coarse
    return _spread(coarse, finer, groups, log_odds, order, forbidden)


def _log_odds(
    targets: MomentTargets, layout: MomentLayout, orders: Sequence[Places]
) -> dict[tuple[int, int], float]:
    """The odds ratios that say nearly all of how two counted columns depend on each other, and much; by two blocks."""
    found = {}
    for i, block in enumerate(layout.blocks):
        for j, other in enumerate(layout.blocks[:i]):
            if not layout.counted[block.start, other.start]:
                continue
            product = independent(targets.ones, targets.distribution, block, other)
            residual = targets.pairs[:, block, other] - product
            distribution = nearest(
                distributions_of_one_ratio(product, orders[i], orders[j]), product, residual
            )
            enough = (1.0 - MOST_UNEXPLAINED) * float(np.square(residual).sum())
            if (
                distribution is not None
                and distribution.gain > enough
                and abs(distribution.log_odds) >= LEAST_LOG_ODDS
            ):
                found[i, j] = distribution.log_odds
    return found


def _parts(groups: Groups, shares: Floats, inside: Places) -> Groups:
    """Split every group in order into at most `MOST_PARTS` parts of about equal weight."""
    parts = groups * len(groups)
    for group in inside.tolist():
        codes = np.flatnonzero(groups == group)
        whole = max(float(shares[codes].sum()), _SMALLEST)
        parts[codes] += group_codes(shares[codes] / whole, most=MOST_PARTS, ordered=True)
    return np.unique(parts, return_inverse=True)[1].reshape(-1)


def _spread(
    coarse: GroupedTargets,
    finer: MomentLayout,
    groups: tuple[Groups, ...],
    log_odds: Mapping[tuple[int, int], float],
    order: CodeOrder,
    forbidden: Forbidden,
) -> GroupedTargets:
    """Spread targets over the parts of groups."""
    layout, targets = coarse.layout, coarse.targets
    cell, within = _places(coarse, finer, groups)
    ones = targets.ones[:, cell] * within
    pairs = targets.pairs[:, cell][:, :, cell] * within[:, None] * within
    parts = np.bincount(cell)[cell]
    zeros = zeros_of(forbidden, groups, finer)
    patterns = {} if zeros is None else zeros.pairs
    for i, j in {*log_odds, *patterns}:
        block, other = finer.blocks[i], finer.blocks[j]
        distribution = independent(ones, targets.distribution, block, other)
        if (i, j) in log_odds:
            rows, columns = (order.of_groups(c, groups[c]) for c in (finer.features[i], finer.features[j]))
            distribution = distribution_of_one_ratio(distribution, rows, columns, log_odds[i, j])
        if (i, j) in patterns:
            distribution = distribution * patterns[i, j].possible
        before, across = layout.blocks[i], layout.blocks[j]
        rows_of, columns_of = cell[block] - before.start, cell[other] - across.start
        sums = _indicator(rows_of).T @ distribution @ _indicator(columns_of)
        parts_of = np.ix_(np.arange(len(distribution)), rows_of, columns_of)
        spread = (
            targets.pairs[:, before, across][parts_of] * distribution / np.maximum(sums[parts_of], _SMALLEST)
        )
        pairs[:, block, other] = spread
        pairs[:, other, block] = spread.transpose(0, 2, 1)
    fine = replace(
        targets,
        pairs=pairs,
        pair_std=targets.pair_std[cell][:, cell] / (parts[:, None] * parts),
        ones=ones,
        one_std=targets.one_std[:, cell] / parts,
        margin_std=targets.margin_std[cell] / parts,
        impossible=None if zeros is None else zeros.impossible(finer),
    )
    return GroupedTargets(finer, fine, groups)


def _places(coarse: GroupedTargets, finer: MomentLayout, groups: tuple[Groups, ...]) -> tuple[Places, Floats]:
    """Of every cell of the finer layout (cells,) the cell of the coarse one, and its share of that."""
    cells, shares = [], []
    for column, block in zip(finer.features, coarse.layout.blocks, strict=True):
        before = np.zeros(finer.cardinalities[column], dtype=np.int64)
        before[groups[column]] = coarse.groups[column]
        distribution = coarse.targets.columns[column]
        whole = sums_of_groups(distribution, coarse.groups[column])[before]
        cells.append(block.start + before)
        shares.append(sums_of_groups(distribution, groups[column]) / np.maximum(whole, _SMALLEST))
    return np.concatenate(cells), np.concatenate(shares)


def _indicator(places: Places) -> Floats:
    """(parts, groups) one where a part is of a group."""
    return np.eye(int(places.max()) + 1)[places]
