"""Checks of declared bounds: which columns a training checks for crowded bins, and at what share of its budget. Public rules only.

Where bounds are declared and bins are not, nearly all values may lie in a few of the even bins. A check counts a tree of cells between the
bounds, as for learnt bins, and the training makes new bins of a column whose even ones are crowded. docs/mechanisms/learning.md has the proof.
"""

import math
from dataclasses import replace
from typing import Final

from core.dp.calibration import gaussian_noise_multiplier
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.columns.bins import DEFAULT_BINS
from core.plan.domain.columns.kinds import Modelled, NumericColumn, OrderedColumn, TimeColumn
from core.plan.domain.rules.kinds import NullTogether
from core.plan.domain.table import TableDomain

FEWEST_VALUES: Final = 8 * DEFAULT_BINS
"""Number of possible values below which a column is not checked: its even bins hold fewer than eight values each."""
LARGEST_SHARE: Final = 0.01
"""Maximum share of squared mu of one check."""
LARGEST_SHARE_OF_ALL: Final = 0.03
"""Maximum share of all checks together."""
PRECISION: Final = 300.0
"""A check needs no noise below the declared size over this number."""
VISIBLE: Final = 5.0
"""Nothing is checked where the noise would exceed the declared size over this number."""
CHECK_SENSITIVITY: Final = 2.0 * (1 + 1e-12)
"""L2 sensitivity of a check: a unit adds at most one to each of the four levels of a tree."""


def check_share(count: int, guarantee: PrivacyGuarantee, declared_size: int) -> float:
    """Return the share of squared mu of each of `count` checks; 0 if nothing would be seen.

    Args:
        guarantee: for all noise.
        declared_size: units.
    """
    if not count:
        return 0.0
    whole = gaussian_noise_multiplier(guarantee, share=1.0) * CHECK_SENSITIVITY / declared_size
    share = min(LARGEST_SHARE, LARGEST_SHARE_OF_ALL / count, (PRECISION * whole) ** 2)
    return share if VISIBLE * whole <= math.sqrt(share) else 0.0


def checked_columns(domain: TableDomain) -> tuple[int, ...]:
    """Return the modelled columns with bounds and no bins that may be checked; none where training learns something already."""
    if domain.learnt:
        return ()
    named = {name for rule in domain.rules if not isinstance(rule, NullTogether) for name in rule.columns}
    named |= {column.difference.start for column in domain.modelled if column.difference is not None}
    return tuple(
        place
        for place, column in enumerate(domain.modelled)
        if column.name not in named and _has_even_bins(column)
    )


def with_checks(domain: TableDomain, columns: tuple[int, ...]) -> TableDomain:
    """Return the domain in which training checks these modelled columns."""
    names = {domain.modelled[place].name for place in columns}
    return replace(
        domain,
        columns=tuple(
            replace(column, learn=("crowded",))
            if column.name in names and isinstance(column, NumericColumn | TimeColumn)
            else column
            for column in domain.columns
        ),
    )


def _has_even_bins(column: Modelled) -> bool:
    if not isinstance(column, OrderedColumn) or column.difference is not None:
        return False
    assert isinstance(column, NumericColumn | TimeColumn), "the kinds of ordered columns"
    if column.edges or column.bin_count is not None:
        return False
    if isinstance(column, NumericColumn) and column.spacing != "linear":
        return False
    grid = column.grid
    return column.lower < column.upper and (grid is None or grid.ticks >= FEWEST_VALUES)
