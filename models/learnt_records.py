"""The bound on records per unit, from a noisy histogram of records per unit. Post-processing.

A small bound cuts records off, and not at random: units with many records differ from units with few. A large bound multiplies the
noise of every count. So the public candidate with the least sum of two errors, both total variations, is taken:

    cut off      (1 - counted(K) / records) / 3      a third: records that are cut off differ that much from those that are not
    noise        noise_of_one * K / counted(K)       on a table of a pair of columns, in as many groups as one record has

`counted(K)` are the records that count under the bound K. Bins beyond which no unit surely lies count as empty; without that the noise of
far bins would be taken for thousands of records.
"""

import itertools
import math
from typing import Final

import numpy as np
import numpy.typing as npt

from core.plan.counting_rules import groups_wanted
from core.plan.domain.table import TableDomain
from core.plan.learning import RECORDS, learns_records
from core.plan.plan import Plan
from core.plan.stages import AnchorPlan

_UNLIKE: Final = 1 / 3
"""Total variation between records that are cut off and the others (docs/unit-records.md has what simulated stays give)."""
_SURE: Final = 3.0
"""Units beyond a candidate are certain above this many standard deviations."""

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def bins_of(records: Integers) -> Integers:
    """The bin of every unit, (units,): the smallest candidate that cuts none of its records off, or the last bin."""
    bins: Integers = np.searchsorted(np.array(RECORDS), records, side="left")
    return bins


def chosen_bound(counts: Floats, std: float, *, noise_of_one: float) -> int:
    """Choose among the candidates.

    Args:
        counts: (candidates + 1,) noisy numbers of units by bin.
        std: of the noise on each of them.
        noise_of_one: see `noise_of_one`; 0 to ignore the noise.
    """
    beyond = np.cumsum(counts[::-1])[::-1]  # units in a bin or a later one
    sure = beyond > _SURE * std * np.sqrt(np.arange(len(counts), 0, -1))
    last = int(np.flatnonzero(sure).max(initial=0))
    units = np.where(np.arange(len(counts)) <= last, np.maximum(counts, 0.0), 0.0)
    ends = np.array([*RECORDS, RECORDS[-1] * 3 // 2], dtype=np.float64)
    held = (np.append(0.0, ends[:-1]) + 1.0 + ends) / 2.0
    records = float(units @ held)
    if records <= 0:
        return RECORDS[0]

    def error(bound: int) -> float:
        counted = float(units @ np.minimum(held, bound))
        return _UNLIKE * (1.0 - counted / records) + noise_of_one * bound / counted

    return min(RECORDS[: last + 1], key=error)


def noise_of_learnt_records(plan: Plan, domain: TableDomain) -> float:
    """What a bound that a plan learns is weighed against; 0 where it learns none."""
    return noise_of_one(plan, domain.cardinalities) if learns_records(domain) else 0.0


def noise_of_one(plan: Plan, cardinalities: tuple[int, ...]) -> float:
    """Total variation that noise adds to a table of two columns, times the records that it counts; for one record a unit.

    Args:
        plan: as ordered, with the anchor of one record a unit.
        cardinalities: most codes of every column.
    """
    assert isinstance(plan.anchor, AnchorPlan), "a bound is learnt for counts of tables"
    most = groups_wanted(
        declared_size=plan.declared_size,
        noise_std=plan.anchor.noise_std,
        columns=len(cardinalities),
        slices=1,
    )
    sizes = [min(codes, most) for codes in cardinalities]
    cells = [one * other for one, other in itertools.combinations(sizes, 2)] or sizes
    return float(np.mean(cells)) * plan.anchor.noise_std / math.sqrt(2 * math.pi)
