"""Best linear unbiased estimates from all noisy tables at once, with their exact covariances.

Tables share margins: the pairs of `age` also contain its one-way counts. Every table over the columns S is
the sum of one component for each subset A of S (analysis of variance): the margin on A, centred along every
column of A and spread evenly over the others. With independent noise of one variance per table the components
are uncorrelated, so the generalised least squares estimate of component A is the average over all tables that
contain A, weighted by inverse variance:

    Var of a cell of the margin on A of a table T  =  Var(T) * (cells of T) / (cells of A)

This is the reconstruction of ResidualPlanner (Xiao, He, Zhang and Kifer 2023, arXiv 2305.08175, section 4)
for tables that were not measured residual by residual. Only products of one vector per column are needed,
whose covariances factor.

Tables of several columns count groups of codes if a column has more codes than groups. Questions over several
columns are answered in groups; the one-way table of such a column counts codes and enters those answers only
through the total.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from core.artifacts.counts import CountTable, Groups, ReleasedCounts
from core.plan.domain.table import TableDomain

CONFIDENCE: Final = 0.95
DEVIATIONS: Final = 1.959963984540054
"""Standard deviations either side of the mean that contain 95 % of a Gaussian."""

Floats = npt.NDArray[np.float64]
Weights = Mapping[int, Floats]
"""Weights of codes, (codes,) by column; columns without weights are summed over."""


class Estimates:
    """Estimates of one release's counts."""

    def __init__(self, counts: ReleasedCounts) -> None:
        self._groups = counts.groups
        merged = [
            count < codes for count, codes in zip(counts.group_counts, counts.cardinalities, strict=True)
        ]
        self._merged = frozenset(column for column, is_merged in enumerate(merged) if is_merged)
        fine = [table for table in counts.tables if self._is_of_codes(table.columns)]
        rest = [table for table in counts.tables if not self._is_of_codes(table.columns)]
        self._by_code = _Tables(counts, counts.cardinalities, fine)
        self._by_group = _Tables(counts, counts.group_counts, rest)

    def _is_of_codes(self, columns: Sequence[int]) -> bool:
        return len(columns) == 1 and columns[0] in self._merged

    def _tables_of(self, columns: Sequence[int]) -> "_Tables":
        return self._by_code if self._is_of_codes(columns) else self._by_group

    def groups(self, columns: Sequence[int]) -> dict[int, Groups]:
        """Return, by column, (codes,) the group of each code in a table of these columns."""
        if len(columns) == 1:
            return {column: np.arange(len(self._groups[column])) for column in columns}
        return {column: self._groups[column] for column in columns}

    def are_counted(self, columns: Sequence[int]) -> bool:
        """Whether some table contains all of these columns."""
        return bool(self._tables_of(columns).tables(columns))

    def are_counted_with(self, column: int | None) -> bool:
        """Whether tables of three columns contain this one."""
        if column is None:
            return False
        return any(len(table.columns) > 2 for table in self._by_group.tables((column,)))  # noqa: PLR2004

    def counted_with(self, column: int) -> set[int]:
        """Return the indices of the columns that were counted together with this one."""
        return {other for table in self._by_group.tables((column,)) for other in table.columns} - {column}

    def margin(self, column: int) -> Floats:
        """Estimate the counts of a counted column's groups, in records."""
        if self._by_group.tables((column,)):
            return self._by_group.table((column,))
        merged: Floats = np.zeros(int(self._groups[column].max()) + 1)
        np.add.at(merged, self._groups[column], self._by_code.table((column,)))
        return merged

    def margin_variance(self, column: int, weights: Floats) -> float:
        """Variance of a weighted sum over `margin`, in squared records."""
        if self._by_group.tables((column,)):
            return self._by_group.variance((column,), weights)
        return self._by_code.variance((column,), weights[self._groups[column]])

    def table(self, columns: Sequence[int]) -> Floats:
        """Estimate the counts of every combination of groups of jointly counted columns, in records; one axis per column."""
        return self._tables_of(columns).table(columns)

    def covariance(self, columns: Sequence[int], left: Weights, right: Weights) -> float:
        """Covariance of two weighted sums over the estimated table of jointly counted columns, in squared records."""
        return self._tables_of(columns).covariance(columns, left, right)

    def variance(self, columns: Sequence[int], weights: npt.ArrayLike) -> float:
        """Variance of a weighted sum over the estimated table of jointly counted columns, in squared records.

        Args:
            weights: arbitrary, for every combination of groups; one axis per column, in the given order.
        """
        return self._tables_of(columns).variance(columns, weights)


class _Tables:
    """Estimates from all tables over the same cells, whose number is given for every column."""

    def __init__(self, counts: ReleasedCounts, cells: tuple[int, ...], tables: Sequence[CountTable]) -> None:
        self._counts = counts
        self._cells = cells
        self._of_cells = tables
        # Cached, because all tables enter the total, and all tables of a column enter its margin.
        self._margins: dict[tuple[int, ...], Floats] = {}
        self._variances: dict[tuple[int, ...], float] = {}
        self._holding: defaultdict[int, set[int]] = defaultdict(set)
        for number, table in enumerate(tables):
            for column in table.columns:
                self._holding[column].add(number)

    def table(self, columns: Sequence[int]) -> Floats:
        """See `Estimates.table`."""
        ordered = sorted(columns)
        shape = [self._cells[column] for column in ordered]
        estimate = np.zeros(shape)
        for part in _subsets(ordered):
            others = math.prod(self._cells[column] for column in ordered if column not in part)
            spread = [self._cells[column] if column in part else 1 for column in ordered]
            estimate += self._part(part).reshape(spread) / others
        return estimate.transpose([ordered.index(column) for column in columns])

    def covariance(self, columns: Sequence[int], left: Weights, right: Weights) -> float:
        """See `Estimates.covariance`."""
        factors: dict[int, tuple[float, float]] = {}
        """Per column, the factor if it is in a component, and the factor if it is not."""
        for column in columns:
            cells = self._cells[column]
            ones = np.ones(cells)
            a, b = left.get(column, ones), right.get(column, ones)
            along = float(a.sum() * b.sum())
            factors[column] = float(a @ b) - along / cells, along / cells**2
        total = 0.0
        for part in _subsets(columns):
            product = self._variance(part)
            for column, (inside, outside) in factors.items():
                product *= inside if column in part else outside
            total += product
        return max(total, 0.0) if left is right else total

    def variance(self, columns: Sequence[int], weights: npt.ArrayLike) -> float:
        """See `Estimates.variance`."""
        whole = np.asarray(weights)
        total = 0.0
        for part in _subsets(range(len(columns))):
            rest = tuple(axis for axis in range(len(columns)) if axis not in part)
            along = _centred(whole.mean(axis=rest))
            total += self._variance(tuple(sorted(columns[axis] for axis in part))) * float((along**2).sum())
        return total

    def _part(self, part: tuple[int, ...]) -> Floats:
        """The centred margin on some columns, from all tables that contain them."""
        if len(part) > 1:
            return self._centred_margin(part)
        if part not in self._margins:
            self._margins[part] = self._centred_margin(part)
        return self._margins[part]

    def _centred_margin(self, part: tuple[int, ...]) -> Floats:
        total = np.zeros([self._cells[column] for column in part])
        for table in self.tables(part):
            rest = tuple(axis for axis, column in enumerate(table.columns) if column not in part)
            total += table.cells.sum(axis=rest, dtype=np.int64) / self._margin_variance(table, part)
        return _centred(total * (self._counts.step * self._variance(part)))

    def _variance(self, part: tuple[int, ...]) -> float:
        """Variance of every cell of that margin before centring."""
        if part not in self._variances:
            weights = (1.0 / self._margin_variance(table, part) for table in self.tables(part))
            self._variances[part] = 1.0 / math.fsum(weights)
        return self._variances[part]

    def _margin_variance(self, table: CountTable, part: Sequence[int]) -> float:
        cells = math.prod(self._cells[column] for column in part)
        return self._counts.variance(table) * table.cells.size / cells

    def tables(self, columns: Sequence[int]) -> list[CountTable]:
        """Return the tables that contain all of these columns; all tables for no columns."""
        if not columns:
            return list(self._counts.tables)
        numbers = set.intersection(*(self._holding[column] for column in columns))
        return [self._of_cells[number] for number in sorted(numbers)]


def _centred(table: Floats) -> Floats:
    """Subtract the mean along every axis."""
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def _subsets(columns: Sequence[int]) -> list[tuple[int, ...]]:
    ordered = sorted(columns)
    return [part for size in range(len(ordered) + 1) for part in itertools.combinations(ordered, size)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnPrecision:
    """The precision of the counts of one column.

    Attributes:
        name: the column, or a pattern of it such as `seen.weekday`.
        values: number of its codes, with one for missing values if they are allowed.
        standard_error: of the count of one code, in records; None if the column was not counted.
    """

    name: str
    values: int
    standard_error: float | None


def column_precisions(domain: TableDomain, estimates: Estimates) -> tuple[ColumnPrecision, ...]:
    """Return the precision of every modelled column and then of every pattern of dates and times, in the order of their codes.

    All codes of a column have the same precision.
    """
    found = []
    for place, column in enumerate(domain.coded):
        values = column.cardinality
        error = None
        if estimates.are_counted((place,)):
            one = np.zeros(values)
            one[0] = 1.0
            error = math.sqrt(estimates.covariance((place,), {place: one}, {place: one}))
        found.append(ColumnPrecision(name=column.name, values=values, standard_error=error))
    return tuple(found)
