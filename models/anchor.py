"""The moment anchor: one noisy release of all one-way and two-way counts (idpgan.md, section 7).

For one-hot records `X`, the matrix `X^T X` holds the one-way counts on its diagonal and the two-way counts of every
pair of columns off it. Where a target with few classes is declared, the statistic is taken per class, so it holds
the three-way counts with the target as well, at the same sensitivity: a record touches the cells of its own class
only. It then touches `k - 1` diagonal cells, each standing for the one-way count (weight `w`) and for the pair with
the target (weight 1) at once, so of weight `sqrt(w^2 + 1)`, one count of its class (weight `w`), and the
`(k - 1)(k - 2) / 2` pairs of other columns. Where a target is declared but counts are not per class, pairs with it have
`TARGET_WEIGHT` times the squared weight of the others, and all squared weights still average one. Either way the squared
L2 sensitivity is

    w^2 k + k (k - 1) / 2

A unit with `m` records contributes `floor(2^20 / m) / 2^20` of each of its records, at most their average, whose norm
is no larger. All sums are integers in units of the public grid 2^-20, so they depend on no order; the noise is
rounded to the same grid.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from core.synthesis.stages import AnchorPlan
from models.encoding import PrivateTable, block_starts
from models.randomness import KeyedStreams, Purpose

GRID = 2.0**-20
"""Public grid of sums and noise, in records; the noise is larger by five orders of magnitude."""
LARGEST_STATISTIC = 2**24
"""Cells of the statistic (classes times squared cells) above which it is not taken."""
MOST_CLASSES = 16
"""Classes of the target up to which the statistic is taken per class."""
SIGNAL_PER_CLASS = 20.0
"""Least declared units per class, in standard deviations of one count's noise, for a statistic per class."""
TARGET_WEIGHT = 8.0
"""Squared weight of a pair with the target over that of another pair, where counts are not taken per class."""
_LABEL_STREAM = 2**32  # the noise of the class counts; slices use the steps below

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentLayout:
    """Which counts the statistic holds; public.

    Args:
        cardinalities: codes of every column.
        target_index: the target, or None.
        by_class: whether the counts are taken per class of the target.
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
        """Codes of every column inside the matrices."""
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
    def blocks(self) -> tuple[slice, ...]:
        """The cells of every column inside the matrices."""
        starts = block_starts(self.feature_cardinalities)
        return tuple(slice(int(a), int(b)) for a, b in itertools.pairwise(starts))

    def diagonal_factor(self, diagonal_weight: float) -> float:
        """Weight of a diagonal cell relative to a pair's cell; see the module docstring."""
        return math.sqrt(diagonal_weight**2 + 1.0) if self.by_class else diagonal_weight

    def pair_weight(self, first: int, second: int) -> float:
        """Weight of the cells of a pair of columns, by their places in the table; squared weights of all pairs average one."""
        if self.by_class or self.target_index is None:
            return 1.0
        columns = len(self.features)
        squared = columns / (2 * TARGET_WEIGHT + columns - 2)
        return math.sqrt(squared * TARGET_WEIGHT if self.target_index in (first, second) else squared)

    @property
    def cell_weights(self) -> Floats:
        """(cells, cells) weights of the cells of all pairs; one inside the diagonal blocks, where nothing is released."""
        weights = np.ones((self.cells, self.cells))
        for (column, block), (other, across) in itertools.combinations(
            zip(self.features, self.blocks, strict=True), 2
        ):
            weights[block, across] = weights[across, block] = self.pair_weight(column, other)
        return weights

    def sensitivity(self, diagonal_weight: float) -> float:
        """L2 sensitivity of the weighted statistic under adding or removing one unit, counted cell by cell."""
        columns = len(self.features)
        squared = columns * self.diagonal_factor(diagonal_weight) ** 2
        squared += math.fsum(
            self.pair_weight(*pair) ** 2 for pair in itertools.combinations(self.features, 2)
        )
        return math.sqrt(squared + (diagonal_weight**2 if self.by_class else 0.0))


def moment_layout(
    cardinalities: tuple[int, ...], target_index: int | None, *, declared_size: int, noise_std: float
) -> MomentLayout:
    """Decide by public facts whether the statistic is taken per class.

    Args:
        cardinalities: codes of every column.
        target_index: the target, or None.
        declared_size: declared number of units.
        noise_std: standard deviation of the noise on one pair's count.
    """
    if target_index is None or len(cardinalities) == 1:
        return MomentLayout(cardinalities=cardinalities, target_index=target_index, by_class=False)
    classes = cardinalities[target_index]
    small = classes * (sum(cardinalities) - classes) ** 2 <= LARGEST_STATISTIC
    strong = declared_size >= SIGNAL_PER_CLASS * noise_std * classes
    by_class = classes <= MOST_CLASSES and small and strong
    return MomentLayout(cardinalities=cardinalities, target_index=target_index, by_class=by_class)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moments:
    """Counts, exact or noisy, in records.

    Args:
        pairs: (slices, cells, cells) float64, symmetric, zero inside the diagonal blocks.
        ones: (slices, cells) float64, the diagonal.
        classes: (slices,) float64 class counts; empty unless taken per class.
    """

    pairs: Floats
    ones: Floats
    classes: Floats


def exact_moments(table: PrivateTable, layout: MomentLayout) -> Moments:
    """The statistic of private rows, exact on the grid. Private: nothing may read it but `noisy_moments`."""
    records = np.bincount(table.unit_of_record, minlength=1)[table.unit_of_record]
    shares = np.floor((1.0 / GRID) / records) if len(records) else np.zeros(0)
    codes = table.codes.astype(np.int64)
    label = np.zeros(len(codes), dtype=np.int64)
    if layout.by_class:
        label = codes[:, layout.target_index]
    columns = [codes[:, column] for column in layout.features]
    sizes, blocks = layout.feature_cardinalities, layout.blocks
    pairs = np.zeros((layout.slices, layout.cells, layout.cells))
    ones = np.zeros((layout.slices, layout.cells))
    for i, place in enumerate(blocks):
        row = label * sizes[i] + columns[i]
        ones[:, place] = _counted(row, shares, (layout.slices, sizes[i]))
        for j, other in enumerate(blocks[:i]):
            table_of_pair = _counted(row * sizes[j] + columns[j], shares, (layout.slices, sizes[i], sizes[j]))
            pairs[:, place, other] = table_of_pair
            pairs[:, other, place] = table_of_pair.transpose(0, 2, 1)
    classes = _counted(label, shares, (layout.slices,)) if layout.by_class else np.zeros(0)
    return Moments(pairs=pairs * GRID, ones=ones * GRID, classes=classes * GRID)


def _counted(cells: npt.NDArray[np.int64], shares: Floats, shape: tuple[int, ...]) -> Floats:
    """Sums of the records' shares in every cell: integers below 2^53, so exact in any order."""
    sums = np.bincount(cells, weights=shares, minlength=math.prod(shape)).astype(np.float64)
    return sums.reshape(shape)


def noisy_moments(
    table: PrivateTable, layout: MomentLayout, anchor: AnchorPlan, streams: KeyedStreams
) -> Moments:
    """Release the statistic once: the only place where the anchor touches private rows.

    Every cell gets Gaussian noise of `anchor.noise_std` over the cell's weight.

    Raises:
        ValueError: the plan's sensitivity is below the statistic's, or the statistic is too large.
    """
    if anchor.sensitivity < layout.sensitivity(anchor.diagonal_weight):
        raise ValueError("the plan's sensitivity is below that of the statistic")
    if layout.slices * layout.cells**2 > LARGEST_STATISTIC:
        raise ValueError("the domain has too many codes for an anchor")
    exact, weights = exact_moments(table, layout), layout.cell_weights
    one_std = anchor.noise_std / layout.diagonal_factor(anchor.diagonal_weight)
    class_std = anchor.noise_std / anchor.diagonal_weight
    streams.releases.exact(
        Purpose.ANCHOR_NOISE,
        0,
        (
            (torch.from_numpy(values), std)
            for values, std in (
                (np.triu(exact.pairs * weights), anchor.noise_std),
                (exact.ones, one_std),
                (exact.classes, class_std),
            )
        ),
        sensitivity=layout.sensitivity(anchor.diagonal_weight) / anchor.noise_std,
    )
    pairs, ones = np.empty_like(exact.pairs), np.empty_like(exact.ones)
    for index in range(layout.slices):
        drawn = streams.normals(Purpose.ANCHOR_NOISE, index, (layout.cells, layout.cells))
        ones[index] = exact.ones[index] + _on_grid(drawn.diagonal() * one_std)
        upper = np.triu(_on_grid(drawn * (anchor.noise_std / weights)), 1)
        pairs[index] = exact.pairs[index] + upper + upper.T
        for block in layout.blocks:
            pairs[index, block, block] = 0.0
    drawn = streams.normals(Purpose.ANCHOR_NOISE, _LABEL_STREAM, len(exact.classes))
    noisy = Moments(pairs=pairs, ones=ones, classes=exact.classes + _on_grid(drawn * class_std))
    released = (torch.from_numpy(values) for values in (noisy.pairs, noisy.ones, noisy.classes))
    streams.releases.noisy(Purpose.ANCHOR_NOISE, 0, *released)
    return noisy


def _on_grid(noise: Floats) -> Floats:
    return np.rint(noise / GRID) * GRID
