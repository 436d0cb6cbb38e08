"""Everything an owner report says, as numbers: real rows beside synthetic ones. NOT differentially private.

Nothing here may go anywhere but into a report that is sealed for the owner of the rows (`core.reports.owner_files`). All
sizes and seeds are public constants, so that the work does not depend on rows more than reading them does.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.domain.codec import Codes
from core.reports.association import associations
from core.reports.attacks import Attacks, attack
from core.reports.columns import ReportColumn
from core.reports.halves import halves
from core.reports.learning import Learning, learn
from core.reports.shares import Matrix, Shares, pair_variations, sampling_variation, shares

SEED: Final = 20_261_122
"""Of every draw and every shuffle of a report. Public: a report is the same however often it is made."""
SYNTHETIC_ROWS: Final = 20_000
REAL_ROWS: Final = 100_000
"""Of a larger table so many records are drawn at random, and the report speaks of those."""
LEARNING_ROWS: Final = 10_000
ATTACKED_RECORDS: Final = 1_000
SEARCHED_ROWS: Final = 5_000

Draw = Callable[[int, np.random.Generator], Codes]
"""Draws so many synthetic rows."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColumnCompared:
    """One column in both tables.

    Attributes:
        column: the column.
        real: (codes,) shares among the real rows.
        synthetic: (codes,) shares among the synthetic rows.
        variation: total variation of the two.
        by_chance: what two samples of one law and these sizes would show.
        pairs: mean total variation of the pairs with every other column; None of a single column.
    """

    column: ReportColumn
    real: Shares = field(repr=False)
    synthetic: Shares = field(repr=False)
    variation: float
    by_chance: float
    pairs: float | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OwnerReportContents:
    """A whole report.

    Attributes:
        real_rows: real rows that were compared.
        synthetic_rows: synthetic rows that were compared.
        columns: every column in both tables.
        target: position of the column that is predicted.
        pair_errors: (columns, columns) total variation of every pair; of single columns on the diagonal.
        real_association: (columns, columns) Cramér's V among the real rows.
        synthetic_association: the same among the synthetic rows.
        learning: train on synthetic, test on real; None where there is nothing to learn.
        attacks: attacks on the real records; None of fewer than two units.
    """

    real_rows: int
    synthetic_rows: int
    columns: tuple[ColumnCompared, ...]
    target: int
    pair_errors: Matrix = field(repr=False)
    real_association: Matrix = field(repr=False)
    synthetic_association: Matrix = field(repr=False)
    learning: Learning | None
    attacks: Attacks | None


def measure(
    real: Codes, units: NDArray[np.integer], draw: Draw, columns: tuple[ReportColumn, ...], *, target: str
) -> OwnerReportContents:
    """Compare real rows with rows drawn from a release.

    Args:
        real: (rows, columns) codes of the real rows, at least one row.
        units: (rows,) the privacy unit of every row.
        draw: draws synthetic rows.
        columns: the columns.
        target: name of the column that is predicted.
    """
    rng = np.random.default_rng(SEED)
    if len(real) > REAL_ROWS:
        kept = np.sort(rng.permutation(len(real))[:REAL_ROWS])
        real, units = real[kept], units[kept]
    synthetic = draw(SYNTHETIC_ROWS, rng)
    cells = tuple(column.codes for column in columns)
    pairs = pair_variations(real, synthetic, cells)
    split = halves(real, units, rng)
    position = [column.name for column in columns].index(target)
    whole = bool(len(split.attacked) and len(split.others))
    return OwnerReportContents(
        real_rows=len(real),
        synthetic_rows=len(synthetic),
        columns=tuple(
            _compared(column, real[:, index], synthetic[:, index], np.delete(pairs[index], index))
            for index, column in enumerate(columns)
        ),
        target=position,
        pair_errors=pairs,
        real_association=associations(real, cells),
        synthetic_association=associations(synthetic, cells),
        learning=learn(split, synthetic, columns, position, rows=LEARNING_ROWS) if whole else None,
        attacks=attack(split, synthetic, columns, rng, records=ATTACKED_RECORDS, rows=SEARCHED_ROWS)
        if whole
        else None,
    )


def _compared(
    column: ReportColumn,
    real: NDArray[np.integer],
    synthetic: NDArray[np.integer],
    pairs: NDArray[np.float64],
) -> ColumnCompared:
    law, drawn = shares(real, column.codes), shares(synthetic, column.codes)
    return ColumnCompared(
        column=column,
        real=law,
        synthetic=drawn,
        variation=float(np.abs(law - drawn).sum() / 2),
        by_chance=sampling_variation(law, first_rows=len(real), second_rows=len(synthetic)),
        pairs=float(pairs.mean()) if len(pairs) else None,
    )
