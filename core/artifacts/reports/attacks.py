"""Attacks on the training records of a synthetic table, each with a reference: the same attack with other people's records.

A generator that has learnt the distribution and nothing about single records is as close to them as fresh
records of other people, copies as many of them, and lets an attacker infer as much about them. Every figure
therefore has a reference, computed in the same way with the same number of rows from real records of other
units. If the synthetic rows were fresh draws from the real distribution, both would agree up to chance.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.artifacts.reports.columns import DISTANCE_SCALE, ReportColumn
from core.artifacts.reports.halves import Halves
from core.artifacts.reports.shares import shares
from core.plan.domain.codec import Codes

NEIGHBOURS: Final = 10
"""Number of nearest neighbours that vote on an inferred value."""
Distances = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Closeness:
    """Distances of records to their closest row.

    Attributes:
        records: number of attacked records.
        rows: number of searched rows, of each kind.
        nearer: share of the records whose closest synthetic row is nearer than their closest record of
            another unit; ties count half. One half if synthetic rows are fresh draws from the distribution;
            well above if records were memorised.
        synthetic: 5 % quantile, median and 95 % quantile of the distance to the closest synthetic row; 0 to 1.
        others: the same to the closest record of another unit.
    """

    records: int
    rows: int
    nearer: float
    synthetic: tuple[float, float, float]
    others: tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """Exact copies: rows that equal an attacked record in every column's code.

    Attributes:
        rows: number of rows of each kind.
        synthetic: share of copies among synthetic rows.
        others: share of copies among real records of other units.
        independent: share of copies among rows whose columns are drawn independently from the real marginals.
    """

    rows: int
    synthetic: float
    others: float
    independent: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference:
    """Attribute inference: a value is guessed from all other columns of a record, by a vote of the nearest rows.

    Attributes:
        marginal: accuracy of always guessing the most frequent value.
        synthetic: accuracy with the nearest synthetic rows.
        others: accuracy with the nearest real records of other units.
    """

    marginal: float
    synthetic: float
    others: float

    @property
    def lead(self) -> float:
        """Advantage of synthetic rows over the most frequent value."""
        return self.synthetic - self.marginal

    @property
    def excess(self) -> float:
        """Advantage over real records of other people, which knowledge of the distribution does not explain."""
        return self.synthetic - self.others


@dataclass(frozen=True, slots=True, kw_only=True)
class Attacks:
    """All attacks.

    Attributes:
        inferences: one for every column, guessed from the others.
    """

    closeness: Closeness
    copies: Copies
    inferences: tuple[Inference, ...]


def attack(
    real: Halves, synthetic: Codes, columns: tuple[ReportColumn, ...], rng: np.random.Generator, *,
    records: int, rows: int,
) -> Attacks:  # fmt: skip
    """Run every attack on some records.

    Args:
        real: the real halves; neither is empty.
        synthetic: (rows, columns) codes, at least one row.
        records: maximum number of attacked records.
        rows: maximum number of searched rows.
    """
    attacked = real.attacked[:records]
    searched = min(rows, len(real.others), len(synthetic))
    made, others = synthetic[:searched], real.others[:searched]
    to_made, to_others = _distances(attacked, made, columns), _distances(attacked, others, columns)
    return Attacks(
        closeness=_closeness(to_made, to_others, of=DISTANCE_SCALE * len(columns)),
        copies=copies(real, synthetic, rng),
        inferences=tuple(
            Inference(
                marginal=float(shares(attacked[:, index], column.codes)[_mode(real.attacked[:, index], column)]),
                synthetic=_guessed(to_made, attacked, made, index, columns),
                others=_guessed(to_others, attacked, others, index, columns),
            )
            for index, column in enumerate(columns)
        ),
    )  # fmt: skip


def copies(real: Halves, synthetic: Codes, rng: np.random.Generator) -> Copies:
    """Count exact copies of attacked records among equally many rows of each kind.

    Args:
        rng: shuffles columns against each other.
    """
    rows = min(len(real.others), len(synthetic))
    alone = np.column_stack([rng.permutation(column) for column in real.others.T])
    known = _lines(real.attacked)
    made, others, independent = (
        float(np.isin(_lines(codes[:rows]), known).mean()) for codes in (synthetic, real.others, alone)
    )
    return Copies(rows=rows, synthetic=made, others=others, independent=independent)


def _closeness(to_made: Distances, to_others: Distances, *, of: int) -> Closeness:
    made, others = to_made.min(axis=1), to_others.min(axis=1)
    nearer = (made < others).mean() + (made == others).mean() / 2
    return Closeness(
        records=len(made),
        rows=to_made.shape[1],
        nearer=float(nearer),
        synthetic=_quantiles(made, of=of),
        others=_quantiles(others, of=of),
    )


def _quantiles(distances: Distances, *, of: int) -> tuple[float, float, float]:
    low, middle, high = np.quantile(distances / of, (0.05, 0.5, 0.95))
    return float(low), float(middle), float(high)


def _distances(attacked: Codes, rows: Codes, columns: tuple[ReportColumn, ...]) -> Distances:
    """Sum of the distances over the columns, (attacked, rows)."""
    total = np.zeros((len(attacked), len(rows)), dtype=np.int64)
    for index in range(len(columns)):
        total += _apart(attacked, rows, index, columns)
    return total


def _apart(attacked: Codes, rows: Codes, index: int, columns: tuple[ReportColumn, ...]) -> NDArray[np.int32]:
    of_record = columns[index].distances[attacked[:, index]]
    return np.take(of_record, rows[:, index], axis=1)


def _guessed(
    distances: Distances, attacked: Codes, rows: Codes, index: int, columns: tuple[ReportColumn, ...]
) -> float:
    """The share of records whose value is predicted by a vote of the nearest rows by all other columns."""
    # Exact: a rounding error that depends on the guessed value would decide among rows that are equally near.
    without = distances - _apart(attacked, rows, index, columns)
    voters = min(NEIGHBOURS, rows.shape[0])
    nearest = np.argpartition(without, voters - 1, axis=1)[:, :voters]
    votes = np.zeros((len(attacked), columns[index].codes))
    np.add.at(votes, (np.arange(len(attacked))[:, None], rows[:, index][nearest]), 1)
    return float((votes.argmax(axis=1) == attacked[:, index]).mean())


def _mode(codes: NDArray[np.integer], column: ReportColumn) -> int:
    return int(shares(codes, column.codes).argmax())


def _lines(codes: Codes) -> NDArray[np.void]:
    """Every row as one comparable value."""
    whole = np.ascontiguousarray(codes, dtype=np.int32)
    return whole.view(np.dtype((np.void, whole.dtype.itemsize * whole.shape[1]))).ravel()
