"""The standard error of a count in a release: how far its noise puts the count of one value from the true count.

It follows from the noise of the released tables alone, not from their values, so it is known without a charge.
"""

import math
from dataclasses import dataclass

import numpy as np

from core.artifacts.asking.estimates import Estimates
from core.plan.domain.table import TableDomain


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnPrecision:
    """The precision of the counts of one column.

    Attributes:
        name: the column.
        values: number of its codes, with one for missing values if they are allowed.
        standard_error: of the count of one code, in records; None if the column was not counted.
    """

    name: str
    values: int
    standard_error: float | None


def column_precisions(domain: TableDomain, estimates: Estimates) -> tuple[ColumnPrecision, ...]:
    """Return the precision of every modelled column, in their order; all codes of a column have the same.

    Patterns of dates and times are coded after the columns and left out.
    """
    found = []
    for place, column in enumerate(domain.coded_columns):
        values = column.cardinality
        error = None
        if estimates.are_counted((place,)):
            one = np.zeros(values)
            one[0] = 1.0
            error = math.sqrt(estimates.covariance((place,), {place: one}, {place: one}))
        found.append(ColumnPrecision(name=column.name, values=values, standard_error=error))
    return tuple(found)
