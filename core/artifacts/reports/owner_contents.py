"""The figures of an owner report, which compares real with synthetic rows. NOT differentially private.

The figures may only go into a report sealed for the owner of the rows (`core.artifacts.reports.owner_files`). All
sizes and seeds are public constants, so the amount of work depends on the rows no more than reading them
does.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.artifacts.reports.association import associations
from core.artifacts.reports.attacks import Attacks, attack
from core.artifacts.reports.columns import MadeColumns, ReportColumn
from core.artifacts.reports.halves import halves
from core.artifacts.reports.learning import Learning, learn
from core.artifacts.reports.shares import (
    Matrix,
    Shares,
    pair_variations,
    sampling_variation,
    shares,
    variation,
)
from core.plan.domain.codec import Codes

SEED: Final = 20_261_122
"""Seed of every draw and shuffle. Public and fixed: making a report again gives the same report."""
SYNTHETIC_ROWS: Final = 20_000
REAL_ROWS: Final = 100_000
"""A larger table is subsampled at random to this many records."""
LEARNING_ROWS: Final = 10_000
ATTACKED_RECORDS: Final = 1_000
SEARCHED_ROWS: Final = 5_000
UNLISTED: Final = 0.02
"""A share of rows with values that the release does not list is reported from here on."""

Draw = Callable[[int, np.random.Generator], Codes]
"""Draws a number of synthetic rows."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColumnCompared:
    """One column in both tables.

    Attributes:
        real: (codes,) shares among the real rows.
        synthetic: (codes,) shares among the synthetic rows.
        variation: total variation distance between the real rows and the synthetic ones. The word that synthetic rows have for all values that
            the release does not list is none of the real values, so it is at least `unlisted`.
        by_chance: expected distance between two samples of these sizes from one distribution.
        pairs: mean total variation of the pairs with every other column; None for a single column.
        unlisted: share of the real rows whose value the release does not list.
    """

    column: ReportColumn
    real: Shares = field(repr=False)
    synthetic: Shares = field(repr=False)
    variation: float
    by_chance: float
    pairs: float | None
    unlisted: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FarthestPair:
    """The two columns, of all or of some, whose joint shares differ most between the tables.

    Attributes:
        variation: total variation distance of their pairs of codes.
        by_chance: expected distance between two samples of these sizes from one distribution.
        mean: total variation of all those pairs of columns, on average.
    """

    names: tuple[str, str]
    variation: float
    by_chance: float
    mean: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OwnerReportContents:
    """A complete report.

    Attributes:
        target: index of the column to predict.
        target_note: why that column, where no target is declared.
        pair_errors: (columns, columns) total variation of every pair; of single columns on the diagonal.
        farthest: the pair of columns with the largest total variation; None for a single column.
        farthest_listed: the same of the columns whose values the release lists; None for fewer than two.
        real_association: (columns, columns) Cramér's V among the real rows.
        synthetic_association: the same among the synthetic rows.
        learning: train on synthetic, test on real; None if there is nothing to learn.
        attacks: attacks on the real records; None with fewer than two units.
        made: the columns that are coded as differences, by their values as rows hold them; they are part of no pair, task or attack.
    """

    real_rows: int
    synthetic_rows: int
    columns: tuple[ColumnCompared, ...]
    target: int
    target_note: str | None
    pair_errors: Matrix = field(repr=False)
    farthest: FarthestPair | None
    farthest_listed: FarthestPair | None
    real_association: Matrix = field(repr=False)
    synthetic_association: Matrix = field(repr=False)
    learning: Learning | None
    attacks: Attacks | None
    made: tuple[ColumnCompared, ...] = ()

    @property
    def singles(self) -> tuple[ColumnCompared, ...]:
        """Every column that is compared by itself: those that are coded, and those that are made of them."""
        return (*self.columns, *self.made)


def measure(
    real: Codes,
    units: NDArray[np.integer],
    draw: Draw,
    columns: tuple[ReportColumn, ...],
    *,
    target: str,
    target_note: str | None = None,
    made: MadeColumns | None = None,
) -> OwnerReportContents:
    """Compare real rows with rows drawn from a release.

    Args:
        real: (rows, columns) codes of the real rows, at least one row.
        units: (rows,) the privacy unit of every row.
    """
    rng = np.random.default_rng(SEED)
    kept = np.arange(len(real))
    if len(real) > REAL_ROWS:
        kept = np.sort(rng.permutation(len(real))[:REAL_ROWS])
        real, units = real[kept], units[kept]
    synthetic = draw(SYNTHETIC_ROWS, rng)
    cells = tuple(column.codes for column in columns)
    pairs = _variations(real, synthetic, columns)
    split = halves(real, units, rng)
    position = [column.name for column in columns].index(target)
    whole = bool(len(split.attacked) and len(split.others))
    compared = tuple(
        _compared(column, real[:, index], synthetic[:, index], pairs[index], index)
        for index, column in enumerate(columns)
    )
    listed = [index for index, each in enumerate(compared) if each.unlisted <= UNLISTED]
    return OwnerReportContents(
        real_rows=len(real),
        synthetic_rows=len(synthetic),
        columns=compared,
        target=position,
        target_note=target_note,
        pair_errors=pairs,
        farthest=_farthest(columns, pairs, real, len(synthetic), range(len(columns))),
        farthest_listed=_farthest(columns, pairs, real, len(synthetic), listed),
        real_association=associations(real, cells),
        synthetic_association=associations(synthetic, cells),
        learning=learn(split, synthetic, columns, position, rows=LEARNING_ROWS) if whole else None,
        attacks=attack(split, synthetic, columns, rng, records=ATTACKED_RECORDS, rows=SEARCHED_ROWS)
        if whole
        else None,
        made=() if made is None else tuple(_made(made, made.real[kept], synthetic)),
    )


def _made(made: MadeColumns, real: Codes, synthetic: Codes) -> Iterator[ColumnCompared]:
    """The columns that are made of others, compared by their values. Their draws are their own, so that all other figures are those without them."""
    drawn = made.drawn(synthetic, np.random.default_rng([SEED, 1]))
    for index, column in enumerate(made.columns):
        distribution, ours = shares(real[:, index], column.codes), shares(drawn[:, index], column.codes)
        yield ColumnCompared(
            column=column,
            real=distribution,
            synthetic=ours,
            variation=variation(distribution, ours),
            by_chance=sampling_variation(distribution, first_rows=len(real), second_rows=len(synthetic)),
            pairs=None,
        )


def _variations(real: Codes, synthetic: Codes, columns: tuple[ReportColumn, ...]) -> Matrix:
    """Total variation of every column and pair, where a synthetic row's word for values that are not listed is a value of its own."""
    apart = synthetic.astype(np.int32)
    cells = []
    for index, column in enumerate(columns):
        if column.other is not None:
            apart[apart[:, index] == column.other, index] = column.codes
        cells.append(column.codes + (column.other is not None))
    return pair_variations(real, apart, tuple(cells))


def _farthest(
    columns: tuple[ReportColumn, ...],
    pairs: NDArray[np.float64],
    real: NDArray[np.integer],
    synthetic_rows: int,
    among: Sequence[int],
) -> FarthestPair | None:
    """The farthest pair among some of the columns; None for fewer than two."""
    couples = tuple(combinations(among, 2))
    if not couples:
        return None
    first, second = max(couples, key=lambda couple: float(pairs[couple]))
    joint = real[:, first].astype(np.int64) * columns[second].codes + real[:, second]
    distribution = np.unique(joint, return_counts=True)[1] / len(real)
    return FarthestPair(
        names=(columns[first].name, columns[second].name),
        variation=float(pairs[first, second]),
        by_chance=sampling_variation(distribution, first_rows=len(real), second_rows=synthetic_rows),
        mean=float(np.mean([pairs[couple] for couple in couples])),
    )


def _compared(
    column: ReportColumn,
    real: NDArray[np.integer],
    synthetic: NDArray[np.integer],
    variations: NDArray[np.float64],
    index: int,
) -> ColumnCompared:
    distribution, drawn = shares(real, column.codes), shares(synthetic, column.codes)
    pairs = np.delete(variations, index)
    return ColumnCompared(
        column=column,
        real=distribution,
        synthetic=drawn,
        variation=float(variations[index]),
        by_chance=sampling_variation(distribution, first_rows=len(real), second_rows=len(synthetic)),
        pairs=float(pairs.mean()) if len(pairs) else None,
        unlisted=0.0 if column.other is None else float(distribution[column.other]),
    )
