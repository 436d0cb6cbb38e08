"""The anchor: noisy counts of a table, in rounds of one Gaussian mechanism (idpgan.md, section 7).

The first round counts the codes of every column. From its noisy counts the codes of each column are merged into groups
(`models.tables.code_groups`). The second round counts the groups: of every pair of columns; or, where a target with few classes is declared,
of every column and of every pair of columns within each class. Of a table with few combinations of codes it counts these instead of
pairs (`counts_combinations`). Each table of counts has a weight; the noise on its cells has the
standard deviation `noise_std` over that weight. A record touches one cell of every table, so the squared L2 sensitivity is the sum of
the squared weights:

    w^2 k            first round, k columns: allocated by codes, because wide columns have more cells to get wrong
    k (k - 1) / 2    second round, as many tables: allocated by cells, and pairs with the target count more; or one table of all
                     combinations with the weight of all of them

The second round depends on the noisy answers of the first. Its weights are normalised, so it has the planned sensitivity whatever
they are. The composition of Gaussian mechanisms of fixed `mu` is `sqrt(mu_1^2 + mu_2^2)`-Gaussian private even if the
second is chosen from the output of the first (Dong, Roth and Su 2022, corollary 3.3). Between the rounds a plan may have a third release,
which separates the pairs of columns that depend on each other from those that do not (`models.tables.screening`). It takes its share of
the second round's sensitivity, and only the dependent pairs are counted. Where noise would
hide all others, only pairs with the target are counted (`counts_target_alone`); the sum of the squared weights is the same.

A unit with `m` records contributes `floor(2^20 / m) / 2^20` of each of its records, at most their average, whose norm
is no larger. Where at most `K` of its records are declared to count, it contributes so many of them fully, and the
sensitivity is `K` times that of one record. All sums are integers in units of the public grid 2^-20, so they depend on no order; the noise is
rounded to the same grid.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import torch

from core.plan.counting_rules import column_weights, table_weights
from core.plan.stages import AnchorPlan
from models.counting.memory import counter_of
from models.counting.question import Counter, CountQuestion, Counts
from models.dp.count_noise import GRID, on_grid, without_low_bits
from models.encoding import PrivateTable, block_starts
from models.randomness import KeyedStreams, Purpose
from models.tables.code_groups import Groups

_COLUMN_STREAM = 2**32  # the noise of the first round; slices of the second use the steps below
FIRST_ROUND, SECOND_ROUND, SCREENING = 0, 1, 2
"""The steps that identify the releases."""

Floats = npt.NDArray[np.float64]
Pair = tuple[int, int]
Table = TypeVar("Table", Floats, Counts)


def place_of(release: int, anchor: AnchorPlan) -> int:
    """Return the index of a release among those of a plan, in the order in which they are made."""
    order = [FIRST_ROUND, SCREENING, SECOND_ROUND]
    return [one for one in order if sensitivity_of(one, anchor)].index(release)


def sensitivity_of(release: int, anchor: AnchorPlan) -> float:
    """Return the planned L2 sensitivity of a release, 0 for one that is not in the plan."""
    sizes = {
        FIRST_ROUND: anchor.column_sensitivity,
        SECOND_ROUND: anchor.table_sensitivity,
        SCREENING: anchor.screening_sensitivity,
    }
    return sizes.get(release, 0.0)


@dataclass(frozen=True, kw_only=True)
class MomentLayout:
    """The tables that the second round counts, chosen from public facts and the noisy counts of the first.

    Args:
        cardinalities: groups of every column.
        by_class: whether counts are by class of the target.
        pairs: the pairs of other columns that are counted, each in order; None if all are.
        squares: sum of the squared weights; None if they average one over all pairs of columns.
        combinations: whether all combinations of codes are counted instead of pairs.
    """

    cardinalities: tuple[int, ...]
    target_index: int | None
    by_class: bool
    pairs: tuple[Pair, ...] | None = None
    squares: float | None = None
    combinations: bool = False

    @property
    def features(self) -> tuple[int, ...]:
        """The columns inside the matrices: all, or all but the target."""
        columns = range(len(self.cardinalities))
        return tuple(column for column in columns if not (self.by_class and column == self.target_index))

    @property
    def class_column(self) -> tuple[int, ...]:
        """The target where counts are by class, as the first axis of every table; else nothing."""
        return (self.target_index,) if self.by_class and self.target_index is not None else ()

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

    @property
    def released_cells(self) -> int:
        """Cells of all tables that are counted."""
        widths = dict(zip(self.features, self.feature_cardinalities, strict=True))
        return self.slices * sum(math.prod(widths[column] for column in columns) for columns in self.weights)

    @cached_property
    def blocks(self) -> tuple[slice, ...]:
        """The cells of every column inside the matrices."""
        starts = block_starts(self.feature_cardinalities)
        return tuple(slice(int(a), int(b)) for a, b in itertools.pairwise(starts))

    @cached_property
    def weights(self) -> dict[tuple[int, ...], float]:
        """The weight of every table, by the columns it is of (without the class)."""
        return table_weights(
            self.cardinalities,
            target_index=self.target_index,
            by_class=self.by_class,
            pairs=self.pairs,
            squares=self.squares,
            combinations=self.combinations,
        )

    @cached_property
    def pair_weights(self) -> Floats:
        """(cells, cells) weights of the cells of all pairs; one where nothing is released."""
        weights = np.ones((self.cells, self.cells))
        for (column, block), (other, across) in self._pairs_of_blocks():
            weights[block, across] = weights[across, block] = self.weights.get((column, other), 1.0)
        return weights

    @cached_property
    def counted(self) -> npt.NDArray[np.bool_]:
        """(cells, cells) whether a cell is of a pair that is counted."""
        counted = np.zeros((self.cells, self.cells), dtype=np.bool_)
        for (column, block), (other, across) in self._pairs_of_blocks():
            counted[block, across] = counted[across, block] = (column, other) in self.weights
        return counted

    def _pairs_of_blocks(self) -> Iterator[tuple[tuple[int, slice], tuple[int, slice]]]:
        return itertools.combinations(zip(self.features, self.blocks, strict=True), 2)

    @cached_property
    def one_weights(self) -> Floats:
        """(cells,) weights of the cells of single columns; only where counts are by class."""
        return np.repeat([self.weights[column,] for column in self.features], self.feature_cardinalities)

    @property
    def sensitivity(self) -> float:
        """L2 sensitivity of the weighted tables under adding or removing one unit."""
        return math.sqrt(math.fsum(weight**2 for weight in self.weights.values()))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moments:
    """Counts of the second round, exact or noisy, in records.

    Args:
        pairs: (slices, cells, cells) float64, symmetric, zero inside the diagonal blocks.
        ones: (slices, cells) float64 counts of single columns where counts are by class; else (0, cells).
        combinations: one axis a column, float64 counts of all combinations of codes; None where pairs are counted.
    """

    pairs: Floats
    ones: Floats
    combinations: Floats | None = None


def exact_columns(records: PrivateTable | Counter) -> list[Floats]:
    """Count the codes of every column, exact on the grid. Private: nothing may read it but `noisy_columns`."""
    counter = counter_of(records)
    asked = questions_of([(column,) for column in range(len(counter.cardinalities))], counter, None)
    return [np.multiply(counts, GRID, dtype=np.float64) for counts in counter.count(asked)]


def exact_moments(
    records: PrivateTable | Counter, layout: MomentLayout, *, groups: Sequence[Groups] | None = None
) -> Moments:
    """Count the tables of the second round, exact on the grid. Private: nothing may read it but `noisy_moments`.

    Args:
        groups: of every column (codes,) the group of each code; None if every code is its own.
    """
    counter = counter_of(records)
    asked = [(*layout.class_column, *columns) for columns in layout.weights]
    counted = counter.count(questions_of(asked, counter, groups))
    return moments_of(
        layout,
        (
            np.multiply(in_order(counts, columns), GRID, dtype=np.float64)
            for columns, counts in zip(asked, counted, strict=True)
        ),
    )


def moments_of(layout: MomentLayout, tables: Iterable[Floats]) -> Moments:
    """Put tables of counts into matrices.

    Args:
        tables: one for each weight of the layout, in its order, in records; the classes first, then one axis a column.
    """
    blocks = dict(zip(layout.features, layout.blocks, strict=True))
    pairs = np.zeros((layout.slices, layout.cells, layout.cells))
    ones = np.zeros((layout.slices if layout.by_class else 0, layout.cells))
    if layout.combinations:
        (counted,) = tables
        return Moments(pairs=pairs, ones=ones, combinations=counted)
    for columns, table in zip(layout.weights, tables, strict=True):
        place = blocks[columns[0]]
        if len(columns) == 1:
            ones[:, place] = table
            continue
        other = blocks[columns[1]]
        pair = table.reshape(layout.slices, place.stop - place.start, -1)
        pairs[:, place, other] = pair
        pairs[:, other, place] = pair.transpose(0, 2, 1)
    return Moments(pairs=pairs, ones=ones)


def cells_of_moments(moments: Moments, layout: MomentLayout) -> Floats:
    """Return the cells of all tables of the second round in one row, each cell once; `moments_of_cells` reads them."""
    if moments.combinations is not None:
        return moments.combinations.ravel()
    blocks = dict(zip(layout.features, layout.blocks, strict=True))
    tables = [
        moments.ones[:, blocks[columns[0]]]
        if len(columns) == 1
        else moments.pairs[:, blocks[columns[0]], blocks[columns[1]]]
        for columns in layout.weights
    ]
    return np.concatenate([table.ravel() for table in tables])


def moments_of_cells(cells: Floats, layout: MomentLayout) -> Moments:
    """Put the cells of all tables of the second round into matrices."""
    widths = dict(zip(layout.features, layout.feature_cardinalities, strict=True))
    first = () if layout.combinations else (layout.slices,)
    shapes = [(*first, *(widths[column] for column in columns)) for columns in layout.weights]
    pieces = np.split(cells, np.cumsum([math.prod(shape) for shape in shapes])[:-1])
    return moments_of(layout, (piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=True)))


def questions_of(
    tables: Sequence[tuple[int, ...]], counter: Counter, groups: Sequence[Groups] | None
) -> list[CountQuestion]:
    """Ask for tables over columns in any order; each answer has its columns in increasing order."""
    # One array a column, however many tables ask for it.
    narrow = None if groups is None else [of_codes.astype(np.int32) for of_codes in groups]
    ordered = [tuple(sorted(columns)) for columns in tables]
    return [
        CountQuestion(
            columns=places,
            groups=tuple(None if narrow is None else narrow[place] for place in places),
            cardinalities=tuple(counter.cardinalities[place] for place in places),
        )
        for places in ordered
    ]


def in_order(table: Table, columns: tuple[int, ...]) -> Table:
    """A table with its axes, given by increasing column, in the order of `columns`."""
    places = sorted(columns)
    ordered: Table = table.transpose([places.index(column) for column in columns])
    return ordered


def noisy_columns(records: PrivateTable | Counter, anchor: AnchorPlan, streams: KeyedStreams) -> list[Floats]:
    """Release the first round: noisy counts of the codes of every column.

    Raises:
        ValueError: the plan's sensitivity is below that of the counts.
    """
    counter = counter_of(records)
    weights = column_weights(counter.cardinalities, anchor, most_records=counter.most_records)
    sensitivity = counter.most_records * math.sqrt(math.fsum(weight**2 for weight in weights.tolist()))
    if not 0 < sensitivity <= anchor.column_sensitivity:
        raise ValueError("the plan's sensitivity is below that of the counts of columns")
    stds = [anchor.noise_std / weight for weight in weights.tolist()]
    exact = exact_columns(counter)
    streams.releases.exact(
        Purpose.ANCHOR_NOISE,
        FIRST_ROUND,
        ((torch.from_numpy(values), std) for values, std in zip(exact, stds, strict=True)),
        sensitivity=sensitivity / anchor.noise_std,
    )
    drawn = streams.normals(Purpose.ANCHOR_NOISE, _COLUMN_STREAM, sum(counter.cardinalities))
    pieces = np.split(drawn, np.cumsum(counter.cardinalities)[:-1])
    noisy = [values + on_grid(piece * std) for values, piece, std in zip(exact, pieces, stds, strict=True)]
    noisy = [without_low_bits(values, std) for values, std in zip(noisy, stds, strict=True)]
    streams.releases.noisy(Purpose.ANCHOR_NOISE, FIRST_ROUND, *(torch.from_numpy(values) for values in noisy))
    return noisy


def noisy_moments(
    records: PrivateTable | Counter,
    layout: MomentLayout,
    anchor: AnchorPlan,
    streams: KeyedStreams,
    *,
    groups: Sequence[Groups] | None = None,
) -> Moments:
    """Release the second round: noisy counts of pairs of columns, or of all combinations of their codes.

    Every cell gets Gaussian noise of `anchor.noise_std` over its table's weight.

    Args:
        layout: which tables; chosen without reading private rows.
        groups: of every column (codes,) the group of each code, chosen likewise; None if every code is its own.

    Raises:
        ValueError: the plan's sensitivity is below that of the tables.
    """
    counter = counter_of(records)
    sensitivity = counter.most_records * layout.sensitivity
    if anchor.table_sensitivity < sensitivity:
        raise ValueError("the plan's sensitivity is below that of the tables")
    exact, weights = exact_moments(counter, layout, groups=groups), layout.pair_weights
    if exact.combinations is not None:
        noisy = _noisy_combinations(exact.combinations, layout, anchor, streams, sensitivity=sensitivity)
        return replace(exact, combinations=noisy)
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
        sensitivity=sensitivity / anchor.noise_std,
    )
    pairs, ones = np.empty_like(exact.pairs), np.empty_like(exact.ones)
    for index in range(layout.slices):
        drawn = streams.normals(Purpose.ANCHOR_NOISE, index, (layout.cells, layout.cells))
        if layout.by_class:
            ones[index] = exact.ones[index] + on_grid(drawn.diagonal() * one_stds)
            ones[index] = without_low_bits(ones[index], one_stds)
        upper = np.triu(on_grid(drawn * (anchor.noise_std / weights)), 1)
        pairs[index] = exact.pairs[index] + upper + upper.T
        pairs[index] = without_low_bits(pairs[index], anchor.noise_std / weights)
        pairs[index, ~layout.counted] = 0.0
    streams.releases.noisy(
        Purpose.ANCHOR_NOISE, SECOND_ROUND, torch.from_numpy(pairs), torch.from_numpy(ones)
    )
    return Moments(pairs=pairs, ones=ones)


def _noisy_combinations(
    exact: Floats, layout: MomentLayout, anchor: AnchorPlan, streams: KeyedStreams, *, sensitivity: float
) -> Floats:
    """Release the one table of a layout of combinations: one axis a column."""
    (weight,) = layout.weights.values()
    std = anchor.noise_std / weight
    streams.releases.exact(
        Purpose.ANCHOR_NOISE,
        SECOND_ROUND,
        ((torch.from_numpy(exact), std),),
        sensitivity=sensitivity / anchor.noise_std,
    )
    noisy: Floats = exact + on_grid(streams.normals(Purpose.ANCHOR_NOISE, 0, exact.shape) * std)
    noisy = without_low_bits(noisy, std)
    streams.releases.noisy(Purpose.ANCHOR_NOISE, SECOND_ROUND, torch.from_numpy(noisy))
    return noisy
