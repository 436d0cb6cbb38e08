"""The anchor: noisy counts of a table, in two rounds of one Gaussian mechanism (idpgan.md, section 7).

The first round counts the codes of every column. From its noisy counts the codes of each column are merged into groups
(`models.grouping`). The second round counts the groups: of every pair of columns; or, where a target with few classes is declared,
of every column and of every pair of columns within each class. Each table of counts has a weight; the noise on its cells has the
standard deviation `noise_std` over that weight. A record touches one cell of every table, so the squared L2 sensitivity is the sum of
the squared weights:

    w^2 k            first round, k columns: shared out by codes, for wide columns have more cells to get wrong
    k (k - 1) / 2    second round, as many tables: shared out by cells, and pairs with the target count more

The second round asks what the noisy answers of the first suggest; its weights are normalised, so its sensitivity is the planned one
whatever they suggest. The composition of Gaussian mechanisms of fixed `mu` is `sqrt(mu_1^2 + mu_2^2)`-Gaussian private even if the
second is chosen by the output of the first (Dong, Roth and Su 2022, corollary 3.3).

A unit with `m` records contributes `floor(2^20 / m) / 2^20` of each of its records, at most their average, whose norm
is no larger. All sums are integers in units of the public grid 2^-20, so they depend on no order; the noise is
rounded to the same grid.
"""

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch

from core.synthesis.stages import AnchorPlan
from models.encoding import PrivateTable, block_starts
from models.grouping import Groups
from models.randomness import KeyedStreams, Purpose

GRID = 2.0**-20
"""Public grid of sums and noise, in records; the noise is larger by five orders of magnitude."""
MOST_CLASSES = 16
"""Classes of the target up to which pairs are counted by class."""
SIGNAL_PER_CLASS = 2.0
"""Least declared units per class, in standard deviations of one count's noise, for counts by class (docs/rules-study.md)."""
TARGET_WEIGHT = 2.0
"""Squared weight of a pair with the target over that of another pair of as many cells, where counts are not by class."""
COLUMN_POWER, TABLE_POWER = 2.0 / 3.0, 0.5
"""A column's and a table's squared weight grows by this power of its cells. 2/3 has the least sum of absolute errors where every
cell's error is its noise; tables are shrunk, so less is better there (docs/rules-study.md)."""
_COLUMN_STREAM = 2**32  # the noise of the first round; slices of the second use the steps below
FIRST_ROUND, SECOND_ROUND = 0, 1

Floats = npt.NDArray[np.float64]


def column_weights(cardinalities: tuple[int, ...], anchor: AnchorPlan) -> Floats:
    """Return the weight of every column's counts in the first round; (columns,).

    Args:
        cardinalities: codes of every column.
        anchor: whose sensitivity of the first round the squares of the weights share out.
    """
    powers = np.array(cardinalities, dtype=np.float64) ** COLUMN_POWER
    weights: Floats = anchor.column_sensitivity * np.sqrt(powers / math.fsum(powers))
    return weights * (1.0 - 1e-12)  # so that rounding leaves the sum of squares below the plan's


@dataclass(frozen=True, kw_only=True)
class MomentLayout:
    """Which tables the second round counts; follows from public facts and the noisy counts of the first.

    Args:
        cardinalities: groups of every column.
        target_index: the target, or None.
        by_class: whether counts are by class of the target.
    """

    cardinalities: tuple[int, ...]
    target_index: int | None
    by_class: bool

    @property
    def features(self) -> tuple[int, ...]:
        """The columns inside the matrices: all, or all but the target."""
        columns = range(len(self.cardinalities))
        return tuple(column for column in columns if not (self.by_class and column == self.target_index))

    @property
    def feature_cardinalities(self) -> tuple[int, ...]:
        """Groups of every column inside the matrices."""
        return tuple(self.cardinalities[column] for column in self.features)

    @property
    def cells(self) -> int:
        """Width of the matrices."""
        return sum(self.feature_cardinalities)

    @property
    def slices(self) -> int:
        """Number of matrices: one per class, or one."""
        return self.cardinalities[self.target_index] if self.by_class and self.target_index is not None else 1

    @cached_property
    def blocks(self) -> tuple[slice, ...]:
        """The cells of every column inside the matrices."""
        starts = block_starts(self.feature_cardinalities)
        return tuple(slice(int(a), int(b)) for a, b in itertools.pairwise(starts))

    @cached_property
    def weights(self) -> dict[tuple[int, ...], float]:
        """The weight of every table, by the columns it is of (without the class); their squares average one."""
        sizes = (1, 2) if self.by_class else (2,)
        tables = [table for size in sizes for table in itertools.combinations(self.features, size)]
        shares = [self._share(table) for table in tables]
        unit = (1.0 - 1e-12) * len(tables) / math.fsum(shares) if tables else 0.0
        return {table: math.sqrt(unit * share) for table, share in zip(tables, shares, strict=True)}

    def _share(self, table: tuple[int, ...]) -> float:
        share = math.pow(math.prod(self.cardinalities[column] for column in table), TABLE_POWER)
        return TARGET_WEIGHT * share if not self.by_class and self.target_index in table else share

    @cached_property
    def pair_weights(self) -> Floats:
        """(cells, cells) weights of the cells of all pairs; one inside the diagonal blocks, where nothing is released."""
        weights = np.ones((self.cells, self.cells))
        for (column, block), (other, across) in itertools.combinations(
            zip(self.features, self.blocks, strict=True), 2
        ):
            weights[block, across] = weights[across, block] = self.weights[column, other]
        return weights

    @cached_property
    def one_weights(self) -> Floats:
        """(cells,) weights of the cells of single columns; only where counts are by class."""
        return np.repeat([self.weights[column,] for column in self.features], self.feature_cardinalities)

    @property
    def sensitivity(self) -> float:
        """L2 sensitivity of the weighted tables under adding or removing one unit."""
        return math.sqrt(math.fsum(weight**2 for weight in self.weights.values()))


def counts_by_class(
    cardinalities: tuple[int, ...], target_index: int | None, *, declared_size: int, noise_std: float
) -> bool:
    """Decide by public facts whether pairs are counted by class of the target.

    Args:
        cardinalities: codes of every column.
        target_index: the target, or None.
        declared_size: declared number of units.
        noise_std: standard deviation of the noise on a cell of a table whose weight is one.
    """
    if target_index is None or len(cardinalities) == 1:
        return False
    classes = cardinalities[target_index]
    return classes <= MOST_CLASSES and declared_size >= SIGNAL_PER_CLASS * noise_std * classes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moments:
    """Counts of the second round, exact or noisy, in records.

    Args:
        pairs: (slices, cells, cells) float64, symmetric, zero inside the diagonal blocks.
        ones: (slices, cells) float64 counts of single columns where counts are by class; else (0, cells).
    """

    pairs: Floats
    ones: Floats


def grouped(table: PrivateTable, groups: tuple[Groups, ...]) -> PrivateTable:
    """Return the private records with the group of every code in its place."""
    codes = np.empty_like(table.codes)
    for column, of_codes in enumerate(groups):
        codes[:, column] = of_codes[table.codes[:, column]]
    return PrivateTable(
        codes=codes,
        unit_of_record=table.unit_of_record,
        cardinalities=tuple(int(of_codes.max()) + 1 for of_codes in groups),
        target_index=table.target_index,
    )


def exact_columns(table: PrivateTable) -> list[Floats]:
    """Count the codes of every column, exact on the grid. Private: nothing may read it but `noisy_columns`."""
    shares = _shares(table)
    return [
        _counted(table.codes[:, column].astype(np.int64), shares, (cells,)) * GRID
        for column, cells in enumerate(table.cardinalities)
    ]


def exact_moments(table: PrivateTable, layout: MomentLayout) -> Moments:
    """Count the tables of the second round, exact on the grid. Private: nothing may read it but `noisy_moments`.

    Args:
        table: of groups.
        layout: which tables.
    """
    shares = _shares(table)
    codes = table.codes.astype(np.int64)
    label = np.zeros(len(codes), dtype=np.int64)
    if layout.by_class:
        label = codes[:, layout.target_index]
    columns = [codes[:, column] for column in layout.features]
    sizes, blocks = layout.feature_cardinalities, layout.blocks
    pairs = np.zeros((layout.slices, layout.cells, layout.cells))
    ones = np.zeros((layout.slices if layout.by_class else 0, layout.cells))
    for i, place in enumerate(blocks):
        row = label * sizes[i] + columns[i]
        if layout.by_class:
            ones[:, place] = _counted(row, shares, (layout.slices, sizes[i]))
        for j, other in enumerate(blocks[:i]):
            table_of_pair = _counted(row * sizes[j] + columns[j], shares, (layout.slices, sizes[i], sizes[j]))
            pairs[:, place, other] = table_of_pair
            pairs[:, other, place] = table_of_pair.transpose(0, 2, 1)
    return Moments(pairs=pairs * GRID, ones=ones * GRID)


def _shares(table: PrivateTable) -> Floats:
    """What every record counts, in units of the grid: whole numbers, so that their sums are exact."""
    records = np.bincount(table.unit_of_record, minlength=1)[table.unit_of_record]
    return np.floor((1.0 / GRID) / records) if len(records) else np.zeros(0)


def _counted(cells: npt.NDArray[np.int64], shares: Floats, shape: tuple[int, ...]) -> Floats:
    """Sums of the records' shares in every cell: integers below 2^53, so exact in any order."""
    sums = np.bincount(cells, weights=shares, minlength=math.prod(shape)).astype(np.float64)
    return sums.reshape(shape)


def noisy_columns(table: PrivateTable, anchor: AnchorPlan, streams: KeyedStreams) -> list[Floats]:
    """Release the first round: noisy counts of the codes of every column."""
    exact, weights = exact_columns(table), column_weights(table.cardinalities, anchor)
    stds = [anchor.noise_std / float(weight) for weight in weights]
    streams.releases.exact(
        Purpose.ANCHOR_NOISE,
        FIRST_ROUND,
        ((torch.from_numpy(values), std) for values, std in zip(exact, stds, strict=True)),
        sensitivity=math.sqrt(math.fsum(weight**2 for weight in weights.tolist())) / anchor.noise_std,
    )
    drawn = streams.normals(Purpose.ANCHOR_NOISE, _COLUMN_STREAM, sum(table.cardinalities))
    pieces = np.split(drawn, np.cumsum(table.cardinalities)[:-1])
    noisy = [values + _on_grid(piece * std) for values, piece, std in zip(exact, pieces, stds, strict=True)]
    streams.releases.noisy(Purpose.ANCHOR_NOISE, FIRST_ROUND, *(torch.from_numpy(values) for values in noisy))
    return noisy


def noisy_moments(
    table: PrivateTable, layout: MomentLayout, anchor: AnchorPlan, streams: KeyedStreams
) -> Moments:
    """Release the second round: noisy counts of pairs of columns.

    Every cell gets Gaussian noise of `anchor.noise_std` over its table's weight.

    Args:
        table: of groups.
        layout: which tables; chosen without sight of private rows.
        anchor: of the plan.
        streams: of the job.

    Raises:
        ValueError: the plan's sensitivity is below that of the tables.
    """
    if anchor.table_sensitivity < layout.sensitivity:
        raise ValueError("the plan's sensitivity is below that of the tables")
    exact, weights = exact_moments(table, layout), layout.pair_weights
    one_stds = anchor.noise_std / layout.one_weights if layout.by_class else np.ones(layout.cells)
    streams.releases.exact(
        Purpose.ANCHOR_NOISE,
        SECOND_ROUND,
        (
            (torch.from_numpy(values), std)
            for values, std in (
                (np.triu(exact.pairs * weights), anchor.noise_std),
                (exact.ones / one_stds, 1.0),
            )
        ),
        sensitivity=layout.sensitivity / anchor.noise_std,
    )
    pairs, ones = np.empty_like(exact.pairs), np.empty_like(exact.ones)
    for index in range(layout.slices):
        drawn = streams.normals(Purpose.ANCHOR_NOISE, index, (layout.cells, layout.cells))
        if layout.by_class:
            ones[index] = exact.ones[index] + _on_grid(drawn.diagonal() * one_stds)
        upper = np.triu(_on_grid(drawn * (anchor.noise_std / weights)), 1)
        pairs[index] = exact.pairs[index] + upper + upper.T
        for block in layout.blocks:
            pairs[index, block, block] = 0.0
    streams.releases.noisy(
        Purpose.ANCHOR_NOISE, SECOND_ROUND, torch.from_numpy(pairs), torch.from_numpy(ones)
    )
    return Moments(pairs=pairs, ones=ones)


def _on_grid(noise: Floats) -> Floats:
    return np.rint(noise / GRID) * GRID
