"""The bound on records per unit, from a noisy histogram of records per unit. Post-processing.

A small bound lets units of many records count for less than their records, and what they have differs from what others have. A large bound
multiplies the noise of every count. So the public candidate with the least sum of three errors, all total variations, is taken:

    unlike    UNLIKE * D(K)
    noise     NOISE * cells * std / sqrt(2 pi) * K / counted(K)
    drawn     sqrt(cells / (2 pi counted(K)) * (1 - counted(K) / records))

`counted(K)` are the records that count under the bound K. `D(K)` is how far the records that count are from all records in the logarithm of the number
of records that their units have (the Wasserstein distance): zero where all units have equally many, whatever K is. `cells` and `std` are those of a
table of a pair of columns under one record a unit; the last line is the error of a sample without replacement. Bins beyond which no unit surely
lies count as empty; without that the noise of far bins would be taken for thousands of records.
"""

import itertools
import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from core.plan.counting_rules import groups_wanted
from core.plan.domain.table import TableDomain
from core.plan.learning import RECORDS, learns_records
from core.plan.plan import Plan
from core.plan.stages import AnchorPlan

UNLIKE: Final = 1 / 4
"""Total variation between the records of units, one of which has e times as many. This and `NOISE` were chosen by trials (docs/unit-records.md)."""
NOISE: Final = 0.4
"""Weight of the noise, below one because tables are shrunk."""
_SURE: Final = 3.0
"""Units beyond a candidate are certain above this many standard deviations."""

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedPair:
    """A typical table of a pair of columns where one record of a unit counts. Public.

    Attributes:
        cells: Mean number of cells.
        noise_std: Of the noise on each of them.
    """

    cells: float
    noise_std: float


def bins_of(records: Integers) -> Integers:
    """The bin of every unit, (units,): the smallest candidate that cuts none of its records off, or the last bin."""
    bins: Integers = np.searchsorted(np.array(RECORDS), records, side="left")
    return bins


def chosen_bound(counts: Floats, std: float, *, pair: CountedPair) -> int:
    """Choose among the candidates.

    Args:
        counts: (candidates + 1,) noisy numbers of units by bin.
        std: of the noise on each of them.
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
        by_class = units * np.minimum(held, bound)
        counted = float(by_class.sum())
        beside = np.cumsum(by_class / counted - units * held / records)[:-1]
        unlike = float(np.abs(beside) @ np.diff(np.log(held)))
        noise = pair.cells * pair.noise_std / math.sqrt(2 * math.pi) * bound / counted
        drawn = math.sqrt(pair.cells / (2 * math.pi * counted) * max(0.0, 1.0 - counted / records))
        return UNLIKE * unlike + NOISE * noise + drawn

    return min(RECORDS[: last + 1], key=error)


def pair_of(plan: Plan, domain: TableDomain) -> CountedPair | None:
    """What a bound that a plan learns is chosen for; None where it learns none.

    Args:
        plan: as ordered, with the anchor of one record a unit.
    """
    if not learns_records(domain):
        return None
    assert isinstance(plan.anchor, AnchorPlan), "a bound is learnt for counts of tables"
    most = groups_wanted(
        size=plan.declared_size,
        noise_std=plan.anchor.noise_std,
        columns=len(domain.cardinalities),
        slices=1,
    )
    sizes = [min(codes, most) for codes in domain.cardinalities]
    cells = [one * other for one, other in itertools.combinations(sizes, 2)] or sizes
    return CountedPair(cells=float(np.mean(cells)), noise_std=plan.anchor.noise_std)
