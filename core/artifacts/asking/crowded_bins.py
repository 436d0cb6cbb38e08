"""Columns whose values lie in one or two bins of far wider bounds: within a bin, synthetic values are spread evenly."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from core.artifacts.asking.codes import Floats, bin_ends, labels_of_values
from core.artifacts.asking.estimates import DEVIATIONS, Estimates
from core.plan.domain.columns.kinds import LabelColumn, Modelled
from core.plan.domain.table import TableDomain

CROWDED: Final = 0.9
"""Share of a column's values in one bin, or in two that touch, from which the bins are too wide for the values."""
FEWEST_BINS: Final = 8
"""A column with fewer bins was declared to be coarse."""
REMEDY: Final = (
    "Declare narrower bounds, or let the bins be learnt for a charge (docs/domain.md#what-a-training-learns)."
)


class CrowdedBins(NamedTuple):
    """The bins that hold nearly all values of a column.

    Attributes:
        first: code of the first bin.
        last: code of the last one: the same or the next.
        bins: how many bins the column has.
    """

    first: int
    last: int
    bins: int


def crowded_bins(column: Modelled, counts: Floats) -> CrowdedBins | None:
    """Find the one or two bins that hold at least 90 % of a column's values, if each stands for several values.

    Columns with declared edges have none: who declares edges chooses what is distinguished. Special and missing values do not count.

    Args:
        column: with its bins by the default rule.
        counts: (codes,) records, exact or estimated.
    """
    if isinstance(column, LabelColumn) or column.edges or column.bins.count < FEWEST_BINS:
        return None
    specials = len(column.specials)
    inside = counts[specials : column.ordinary_codes]
    needed = CROWDED * float(inside.sum())
    if needed <= 0:
        return None
    fullest = int(np.argmax(inside))
    pair = int(np.argmax(inside[:-1] + inside[1:]))
    first, last = (fullest, fullest) if inside[fullest] >= needed else (pair, pair + 1)
    lows, highs, is_open = bin_ends(column)
    one_value = (lows == highs) & ~is_open
    if float(inside[first : last + 1].sum()) < needed or one_value[first : last + 1].any():
        return None
    return CrowdedBins(first=specials + first, last=specials + last, bins=len(inside))


def crowded_columns(domain: TableDomain, estimates: Estimates) -> Iterator[str]:
    """Name the columns of a release whose bounds are far wider than their values, one sentence for each. Post-processing, free of privacy cost.

    Args:
        domain: the domain with all learnt parts.
        estimates: estimates of the release.
    """
    for place, column in enumerate(domain.coded_columns):
        if isinstance(column, LabelColumn) or not estimates.are_counted((place,)):
            continue
        counts = estimates.table((place,))
        found = crowded_bins(column, counts)
        if found is None:
            continue
        inside = np.zeros(len(counts))
        inside[len(column.specials) : column.ordinary_codes] = 1.0
        if float(inside @ counts) <= DEVIATIONS * estimates.variance((place,), inside) ** 0.5:
            continue  # a bin may well hold 90 % of a sum that is noise
        labels = labels_of_values(column)
        where = " and ".join(dict.fromkeys((labels[found.first], labels[found.last])))
        yield (
            f"By its noisy counts, at least {CROWDED:.0%} of the values of '{' '.join(column.name.split())}' lie in {found.last - found.first + 1} of its {found.bins} bins "
            f"({where}), over which synthetic values are spread evenly. {REMEDY}"
        )
