"""The expected error of counts of synthetic rows, from public facts only and before any budget is spent.

The error of a count over some columns is the total variation distance of its shares from those of the real
rows: half the sum of absolute differences, 0 to 1. The prediction is its mean over all columns, pairs and
triples of columns, for as many drawn rows as declared units. It has three sources:

*Noise of columns*, `t`. The standard deviation of a share is known: that of the plan's noise over the column's weight and the
declared size, less what the sums of the second round add to it by inverse variance. A column's distribution
is the projection of its noisy shares onto the simplex (Duchi et al. 2008), so the error is a sum of moments
of truncated normal variables. It depends on the distribution, which is private; a typical one is assumed,
whose shares fall with the power `SKEW` of their rank, of many codes with `SKEW_OF_MANY`. Errors of columns add up in pairs, because misplaced
mass is misplaced in every pair: `A = 1 - (1 - t_1)(1 - t_2)`.

*Dependence hidden by noise or grouping*, `R`. Typical columns are `D = DEPENDENCE log2(codes of the smaller
one)` away from independence. Merging codes into `g` groups hides `(2 / g)^2` of it on each side. The rest,
`V`, is shrunk by the rule of James and Stein, whose error is about `V b / sqrt(V^2 + b^2)` if the noise of
the free cells of a pair has the root sum of squares `b / SEEN`.

*Drawing rows*, `q`. A share `p` of `n` rows is off by `sqrt(2 p / (pi n))`, summed over the cells of typical
distributions; at most one.

    one-way     sqrt(t^2 + (f q)^2)        f is `BALANCED` where draws are balanced, column by column
    two-way     sqrt(A^2 + R^2 + q^2)
    three-way   sqrt(A^2 + (R_12 + R_13 + R_23)^2 + q^2)

If all combinations of codes are counted, a pair's noise is that of its sums over them. If a screening chooses pairs, the
noise is that of a typical fraction of them, `CHOSEN_PAIRS`; the loss of the other pairs is assumed to be no larger. If only pairs with the target are counted, the dependence of all
others is lost. `SKEW`, `SKEW_OF_MANY`, `DEPENDENCE`, `SMOOTHED`, `SEEN`, `BALANCED`, `UNBALANCED` and `CHOSEN_PAIRS` are typical of public tables, not of the rows at hand (docs/rules-study.md compares predictions with
measurements). The error of the released counts depends on nothing private: it is the mean absolute value of a
normal variable, `sqrt(2 / pi)` standard deviations for each cell, halved and divided by the declared size.
"""

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from core.plan.counting_rules import (
    column_weights,
    counts_by_class,
    counts_target_alone,
    groups_wanted,
    noise_of_tables,
    smoothed_weight,
    table_weights,
    without_order,
)
from core.plan.reused_counts import ReusedTables
from core.plan.stages import AnchorPlan
from core.values import OrAbsent, Value

MANY_CODES = 100
"""Codes of a column whose shares fall as those of many codes do."""
SKEW, SKEW_OF_MANY = 1.5, 1.0
"""Exponents of the power law by which the shares of a typical column fall with their rank; the second, Zipf's law, from `MANY_CODES` on."""
DEPENDENCE = 0.03
"""Total variation distance of a typical pair of columns from independence, per binary logarithm of the
smaller number of codes."""
SMOOTHED = 0.25
"""Fraction of a column's error that smoothing removes if noise hides most of its counts (`smoothed_weight`)."""
SEEN = 2.0
"""The dependence of which half survives (in squares), relative to the root sum of squares of the noise of a
pair's free cells."""
BALANCED, UNBALANCED = 0.12, 0.7
"""Fraction of a column's sampling error that drawing leaves, where draws are balanced and where they are not."""
BALANCED_ROWS, BALANCED_CODES = 2**17, 1024
"""Rows and codes of all columns up to which draws are balanced (`core.artifacts.sampling.balanced_sampling`)."""
CHOSEN_PAIRS = 0.3
"""Fraction of the pairs without the target that a screening typically chooses."""
TRIPLED_COLUMNS = 24
"""Maximum number of columns whose triples are averaged; of more, a subset evenly spaced in the order of their
codes."""

_MEAN_ABSOLUTE = math.sqrt(2 / math.pi)
_HALVINGS = 60
_NOT_COUNTED = 1e9
"""Noise of a pair that is not counted, as a share: it hides everything."""
_DIGITS = 3
Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class CountError(Value):
    """Mean total variation distances, 0 to 1; None if the table has too few columns."""

    one_way: float
    two_way: float | None
    three_way: float | None

    @classmethod
    def of(cls, one_way: Floats, two_way: Floats, three_way: Floats) -> Self:
        """Return the means of the errors of columns, pairs and triples."""
        means = [
            rounded(float(np.minimum(errors, 1.0).mean())) if len(errors) else None
            for errors in (two_way, three_way)
        ]
        return cls(
            one_way=rounded(float(np.minimum(one_way, 1.0).mean())), two_way=means[0], three_way=means[1]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedError(Value):
    """Error of the released counts, 0 to 1: noise only."""

    one_way: float
    two_way: float | None
    """Expected error of pairs of groups; None with one column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured(Value):
    """The counts that an anchor releases."""

    columns: int
    tables: int
    """Number of counted pairs (by class: also of columns within classes); 1 if all combinations are counted; of a graphical model
    the marginals of all rounds at most."""
    screened: bool
    """Whether `tables` is a typical number, because noisy distances from independence choose the pairs."""
    by_class: bool
    """Whether the tables are counted within each class of the target."""
    combinations: bool
    """Whether one table counts all combinations of the codes of all columns."""
    most_groups: int
    """Groups into which a column's codes are merged for the tables, except the target's; an uneven column may get a few more."""
    adaptive: OrAbsent[bool] = None
    """True of a graphical model, whose tables are chosen by noisy scores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedError(CountError):
    """The counts of an anchor, and the error of as many synthetic rows as declared, for columns of typical dependence."""

    if_independent: CountError
    """The same for independent columns: noise and sampling only."""
    released_counts: ReleasedError
    measured: Measured


def expected_error(
    anchor: AnchorPlan,
    *,
    cardinalities: tuple[int, ...],
    ordered: tuple[bool, ...],
    target_index: int | None,
    declared_size: int,
    most_records: int = 1,
    kept: ReusedTables | None = None,
) -> ExpectedError:
    """Return what an anchor will count and its expected error; see the module.

    Args:
        anchor: of the plan; `Plan.known` if it reuses counts.
        cardinalities: codes of every modelled column; the maximum for a column whose codes are learnt.
        ordered: of every modelled column, whether its codes have an order.
        declared_size: declared number of units, each assumed to have one record.
        most_records: how many records of a unit count fully.
        kept: the earlier pairs whose groups the plan keeps; None if it makes its own.
    """
    counting = _Counting(anchor, cardinalities, ordered, target_index, declared_size, most_records, kept)
    pairs, released = counting.pair_noise, counting.cells * counting.pair_stds
    released = released[counting.pair_stds < _NOT_COUNTED]
    typical = _error(counting, DEPENDENCE)
    return ExpectedError(
        one_way=typical.one_way,
        two_way=typical.two_way,
        three_way=typical.three_way,
        if_independent=_error(counting, 0.0),
        released_counts=ReleasedError(
            one_way=rounded(mean_noise(counting.codes * counting.column_stds)),
            two_way=rounded(mean_noise(released)) if len(pairs) else None,
        ),
        measured=Measured(
            columns=len(cardinalities),
            tables=counting.tables,
            screened=counting.screened,
            by_class=counting.by_class,
            combinations=anchor.combinations,
            most_groups=int(max(counting.groups[place] for place in counting.merged))
            if counting.merged
            else 1,
        ),
    )


def typical_tables(columns: int, target_index: int | None) -> int:
    """Return how many tables are counted if a screening chooses a typical fraction of the pairs; at least one.

    Args:
        target_index: the target, whose pairs are always counted, or None.
    """
    required = 0 if target_index is None else columns - 1
    possible = columns * (columns - 1) // 2
    return max(1, required + round(CHOSEN_PAIRS * (possible - required)))


def mean_noise(cells_times_std: Floats) -> float:
    """Mean over tables of half the summed absolute error of all cells; at most 1."""
    return float(np.minimum(_MEAN_ABSOLUTE / 2 * cells_times_std, 1.0).mean())


def rounded(value: float) -> float:
    """Round to the number of significant digits."""
    return float(f"{value:.{_DIGITS}g}")


class _Counting:
    """Noise of every table that an anchor releases, as shares of the declared size. Arrays of pairs are in the order of `combinations`."""

    def __init__(
        self,
        anchor: AnchorPlan,
        cardinalities: tuple[int, ...],
        ordered: tuple[bool, ...],
        target_index: int | None,
        declared_size: int,
        most_records: int,
        kept: ReusedTables | None,
    ) -> None:
        self.combinations = anchor.combinations
        self.by_class = not self.combinations and (
            counts_by_class(
                cardinalities, target_index, declared_size=declared_size, noise_std=anchor.noise_std
            )
            if kept is None
            else kept.by_class
        )
        self.target = target_index
        self.size = declared_size
        slices = cardinalities[target_index] if self.by_class and target_index is not None else 1
        possible = len(cardinalities) * (len(cardinalities) - 1) // 2
        self.screened = anchor.screening_sensitivity > 0 or (kept is not None and kept.screened)
        alone = kept is None and counts_target_alone(
            len(cardinalities),
            target_index,
            anchor,
            declared_size=declared_size,
            most_records=most_records,
        )
        self.tables = 1 if self.combinations else possible
        noise_std = anchor.noise_std
        if alone or self.screened:
            self.tables = (
                len(cardinalities) - 1 if alone else typical_tables(len(cardinalities), target_index)
            )
            noise_std = noise_of_tables(anchor, self.tables, most_records=most_records)

        def most(*, ordered: bool) -> int:
            if kept is not None:
                return kept.most_groups if ordered else round(without_order(kept.most_groups))
            return groups_wanted(
                size=declared_size,
                noise_std=noise_std,
                columns=len(cardinalities),
                slices=slices,
                ordered=ordered,
            )

        columns = range(len(cardinalities))
        self.merged = [place for place in columns if place != target_index]
        counts = tuple(
            codes if place == target_index or self.combinations else min(codes, most(ordered=ordered[place]))
            for place, codes in enumerate(cardinalities)
        )
        self.weights = table_weights(
            counts,
            target_index=target_index,
            by_class=self.by_class,
            pairs=() if alone else None,
            squares=self.tables if alone else None,
            combinations=self.combinations,
        )
        self.codes: Floats = np.array(cardinalities, dtype=np.float64)
        self.groups: Floats = np.array(counts, dtype=np.float64)
        unit = anchor.noise_std / declared_size
        self.column_stds: Floats = unit / column_weights(cardinalities, anchor, most_records=most_records)
        self.first, self.second = np.triu_indices(len(cardinalities), 1)
        self.layers = np.ones(len(self.first))
        """Classes in which a pair is counted; its shares are their sums."""
        self.own_stds = np.full(len(cardinalities), np.inf)
        """Noise of the counts of single columns within classes; infinite if there are none."""
        if self.by_class:
            with_target = (self.first == target_index) | (self.second == target_index)
            self.layers[~with_target] = slices
        self.stds = self._table_stds(noise_std / declared_size)
        self.slices = slices

    def _table_stds(self, std: float) -> Floats:
        """(columns, columns) noise of a cell of every table of two columns, of which `own_stds` is filled in too.

        Args:
            std: noise of a cell of a table of weight one.
        """
        stds = np.full((len(self.codes), len(self.codes)), _NOT_COUNTED)
        for table, weight in self.weights.items():
            if self.combinations:
                summed = math.prod(self.groups) / np.outer(self.groups, self.groups)
                stds = std / weight * np.sqrt(summed)
            elif len(table) == 1:
                self.own_stds[table[0]] = std / weight
            else:
                stds[table] = std / weight
        if self.by_class:
            assert self.target is not None, "the classes are the target's"
            stds[self.target, :] = stds[:, self.target] = self.own_stds
        smaller: Floats = np.minimum(stds, stds.T)
        return smaller

    @property
    def pair_stds(self) -> Floats:
        """(pairs,) noise of a cell within a class."""
        of_pairs: Floats = self.stds[self.first, self.second]
        return of_pairs

    @property
    def cells(self) -> Floats:
        """(pairs,) number of cells of the groups of both columns, in all classes."""
        cells: Floats = self.layers * self.groups[self.first] * self.groups[self.second]
        return cells

    @property
    def pair_noise(self) -> Floats:
        """(pairs,) root sum of squares of the noise of all free cells."""
        free = self.layers * (self.groups[self.first] - 1) * (self.groups[self.second] - 1)
        noise: Floats = np.sqrt(free) * self.pair_stds
        return noise

    @cached_property
    def one_way_errors(self) -> Floats:
        """(columns,) errors of typical distributions."""
        kinds, places = np.unique(np.stack([self.codes, self._one_way_stds()]), axis=1, return_inverse=True)
        errors = [
            one_way_error(int(codes), std) * (1.0 - SMOOTHED * smoothed_weight(1.0 / (codes * std)))
            for codes, std in kinds.T.tolist()
        ]
        return np.array(errors)[places.reshape(-1)]

    def _one_way_stds(self) -> Floats:
        """(columns,) noise of the share of a code, after combining all tables by inverse variance.

        The sum of a group is known from the first round and from the margins of its pairs; its split among
        the codes of the group only from the first round.
        """
        inside = 1.0 / (self.groups[None, :] * self.stds**2)
        if self.by_class:
            inside[:, self.target] = 0.0
        np.fill_diagonal(inside, 0.0)
        if self.combinations:
            # All pairs of a column are sums of one table, so together they say no more of it than one does.
            inside = np.diag(inside.max(axis=1))
        within_class = inside.sum(axis=1) + 1.0 / self.own_stds**2
        precision = within_class / self.slices
        if self.by_class:
            features = [place for place in range(len(self.codes)) if place != self.target]
            precision[self.target] = (within_class[features] / self.groups[features]).sum()
        codes_of_group, squares = self.codes / self.groups, self.column_stds**2
        of_group = 1.0 / (1.0 / (codes_of_group * squares) + precision)
        stds: Floats = np.sqrt(squares * (1.0 - 1.0 / codes_of_group) + of_group / codes_of_group**2)
        return stds


def _error(counting: _Counting, dependence: float) -> CountError:
    """The error of synthetic rows for a given dependence, per binary logarithm of the smaller number of codes of a pair."""
    first, second = counting.first, counting.second
    columns = counting.one_way_errors
    roots = np.array([np.sqrt(typical_distribution(int(codes))).sum() for codes in counting.codes])
    balanced = counting.size <= BALANCED_ROWS and counting.codes.sum() <= BALANCED_CODES
    left = BALANCED if balanced else UNBALANCED
    one_way = np.hypot(columns, left * sampling_error(roots, counting.size))
    hidden = np.where(counting.groups < counting.codes, (2.0 / counting.groups) ** 2, 0.0)
    distance = dependence * np.log2(
        np.maximum(np.minimum(counting.codes[first], counting.codes[second]), 1.0)
    )
    seen = distance * (1.0 - hidden[first]) * (1.0 - hidden[second])
    known = SEEN * counting.pair_noise
    shrunk = seen * known / np.maximum(np.hypot(seen, known), 1e-300)
    missed = np.hypot(shrunk, distance - seen)
    two_way = np.hypot(
        np.hypot(1.0 - (1.0 - columns[first]) * (1.0 - columns[second]), missed),
        sampling_error(roots[first] * roots[second], counting.size),
    )
    matrix = np.zeros((len(columns), len(columns)))
    matrix[first, second] = matrix[second, first] = missed
    chosen = evenly_spaced(counting.codes)
    triples = chosen[all_triples(len(chosen))]
    three_way = np.hypot(
        np.hypot(
            1.0 - np.prod(1.0 - columns[triples], axis=1),
            sum(matrix[triples[:, a], triples[:, b]] for a, b in ((0, 1), (0, 2), (1, 2))),
        ),
        sampling_error(np.prod(roots[triples], axis=1), counting.size),
    )
    return CountError.of(one_way, two_way, three_way)


def evenly_spaced(codes: Floats) -> Places:
    """Places of all columns, or of a representative subset in the order of their codes."""
    columns = np.argsort(codes, kind="stable")
    if len(columns) > TRIPLED_COLUMNS:
        columns = columns[np.linspace(0, len(columns) - 1, TRIPLED_COLUMNS).round().astype(np.intp)]
    return columns


def all_triples(columns: int) -> Places:
    """(triples, 3) all triples of so many columns."""
    return np.array(list(itertools.combinations(range(columns), 3)), dtype=np.intp).reshape(-1, 3)


def sampling_error(roots: Floats, size: int) -> Floats:
    """The error of sampling rows from a distribution with this sum of square roots of shares; it tends to one for many cells."""
    off: Floats = _MEAN_ABSOLUTE / 2 * roots / math.sqrt(size)
    return off / (1.0 + off)


def typical_distribution(codes: int) -> Floats:
    """(codes,) shares."""
    skew = SKEW_OF_MANY if codes >= MANY_CODES else SKEW
    shares = np.arange(1, codes + 1, dtype=np.float64) ** -skew
    distribution: Floats = shares / shares.sum()
    return distribution


def one_way_error(codes: int, std: float) -> float:
    """Return the expected error of a typical distribution whose noisy shares are projected onto the simplex."""
    if codes == 1:
        return 0.0
    return projected_error(typical_distribution(codes), np.ones(codes), std * math.sqrt(1.0 - 1.0 / codes))


def projected_error(shares: Floats, numbers: Floats, std: float) -> float:
    """Return the expected error of a distribution whose noisy shares are projected onto the simplex.

    The projection subtracts the same amount from every share and clips at zero. The amount is approximated by
    its mean, at which the expected shares sum to one. It varies with the mean of the noise, so a share keeps
    `1 - 1 / codes` of the noise's variance. For a normal variable `X` of mean `p - amount`, the expectation
    of `|max(X, 0) - p|` is `E|X - p| - E max(-X, 0)`.

    Args:
        shares: of different cells.
        numbers: how many cells have each share.
        std: of the noise of a share that is left by the projection.
    """
    low, high = -1.0 - 8 * std, 1.0 + 8 * std
    amount = 0.0
    for _ in range(_HALVINGS):
        amount = (low + high) / 2
        above = float((numbers * _positive_part(shares - amount, std)).sum()) > 1.0
        low, high = (amount, high) if above else (low, amount)
    off = float(_positive_part(np.array([amount, -amount]), std).sum())
    return float((numbers * (off - _positive_part(amount - shares, std))).sum()) / 2


def _positive_part(means: Floats, std: float) -> Floats:
    """The expectation of the positive part of normal variables."""
    scaled = means / std
    parts: Floats = means * ndtr(scaled) + std * np.exp(-(scaled**2) / 2) / math.sqrt(2 * math.pi)
    return parts
