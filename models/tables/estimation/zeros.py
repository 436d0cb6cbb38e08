"""Structural zeros: cells of pairs that the declared rules between columns leave empty, in the targets. Public, free of charge.

What the noise says of such a cell is known to be noise, so it is dropped. Independence becomes quasi-independence: the distribution of the
form `a_g b_h` on the cells that are possible that has the margins of the columns (Bishop, Fienberg and Holland 1975, chapter 5). It is
found by scaling rows and columns in turn. Where no distribution on the possible cells has these margins, because they are noisy, the scaling
ends at two distributions, one with the rows' margins and one with the columns'; both keep the rules, and so does their average, whose
margins replace those that contradict each other.

An order `a <= b` of close values leaves nearly a diagonal, which scaling approaches slowly: it would stop at distributions whose first column is
too small and whose second is too large. Where possible cells are those of an order (`Order`), it is known at once whether
margins contradict each other, and Newton's method goes on where scaling stops.

A pair of groups is empty only if all pairs of their codes are forbidden.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from core.plan.domain.forbidden import Pair, whole_groups
from models.tables.anchor import MomentLayout
from models.tables.code_groups import Groups

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]
Forbidden = Mapping[Pair, Flags]

_SCALINGS = 200
_TOLERANCE = 1e-9
"""Distance from the margins, as a share of all records, at which scaling stops."""
_NEWTON_STEPS, _LONGEST_STEP, _RIDGE = 60, 2.0, 1e-10
_MOST_OF_NEWTON = 256
"""Rows and columns together up to which Newton's method goes on where scaling has not ended: it solves that many equations a step."""
_SWEEPS = 5
"""Rounds in which all pairs adjust their shared margins."""
_SMALLEST_EIGENVALUE = 1e-9
"""Relative to the largest eigenvalue: below it a sum of rows follows from the others."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Pattern:
    """Possible cells of the tables of two columns.

    Args:
        possible: (slices, rows, columns).
    """

    possible: Flags

    @cached_property
    def left(self) -> Floats:
        """(slices, rows, columns) which part of a cell's variance centring leaves: the diagonal of its projection."""
        rows = self.possible.shape[1]
        parts = []
        for inverse in self._inverses:
            own = np.diagonal(inverse)
            parts.append(1.0 - own[:rows, None] - own[rows:] - 2.0 * inverse[:rows, rows:])
        return np.where(self.possible, np.maximum(parts, 0.0), 0.0)

    @cached_property
    def _inverses(self) -> list[Floats]:
        """Inverse of the normal equations of row and column effects, of every slice."""
        made: dict[bytes, Floats] = {}
        keys = [slice_.tobytes() for slice_ in self.possible]
        for key, slice_ in zip(keys, self.possible, strict=True):
            if key not in made:
                made[key] = _inverse(slice_.astype(np.float64))
        return [made[key] for key in keys]

    def centred(self, tables: Floats) -> Floats:
        """The nearest tables on the possible cells whose rows and columns sum to zero; (slices, rows, columns)."""
        kept = np.where(self.possible, tables, 0.0)
        rows = kept.shape[1]
        for index, inverse in enumerate(self._inverses):
            effects = inverse @ np.concatenate([kept[index].sum(axis=1), kept[index].sum(axis=0)])
            kept[index] -= effects[:rows, None] + effects[rows:]
        return np.where(self.possible, kept, 0.0)

    def fitted(self, tables: Floats, rows: Floats, columns: Floats) -> tuple[Floats, Floats]:
        """Scale tables to margins, the cells that are not possible being empty.

        Args:
            tables: (slices, rows, columns), not negative.
            rows: (slices, rows) sums that are wanted.
            columns: (slices, columns).

        Returns:
            The tables with the sums of the rows, and those with the sums of the columns; one distribution where there is one.
        """
        by_columns = np.where(self.possible, tables, 0.0)
        by_rows = by_columns
        for _ in range(_SCALINGS):
            by_rows = by_columns * _ratio(rows, by_columns.sum(axis=2))[:, :, None]
            sums = by_rows.sum(axis=1)
            by_columns = by_rows * _ratio(columns, sums)[:, None, :]
            if np.abs(sums - columns).sum() < _TOLERANCE:
                return by_rows, by_columns
        if self.order is not None and sum(self.possible.shape[1:]) <= _MOST_OF_NEWTON:
            by_columns = np.stack([_by_newton(*one) for one in zip(by_columns, rows, columns, strict=True)])
            by_rows = by_columns * _ratio(rows, by_columns.sum(axis=2))[:, :, None]
        return by_rows, by_columns

    @cached_property
    def order(self) -> "Order | None":
        """The possible cells as an order, or None if they are none: of two rows, one must allow what the other allows."""
        if (self.possible != self.possible[0]).any():
            return None
        rows = np.argsort(-self.possible[0].sum(axis=1), kind="stable")
        columns = np.argsort(self.possible[0].sum(axis=0), kind="stable")
        sorted_cells = self.possible[0][rows][:, columns]
        if (sorted_cells[1:] > sorted_cells[:-1]).any():
            return None
        return Order(rows=rows, columns=columns, reach=sorted_cells.sum(axis=0))


@dataclass(frozen=True, kw_only=True, eq=False)
class Order:
    """Possible cells such that, in some order, each column allows the rows of the column before it and perhaps further ones.

    A rule `a <= b` leaves such cells: each value of `b` allows all smaller ones of `a`. Some distribution on them has given margins if up to every
    column the rows that it allows have at least the share of these columns (Hall's condition).

    Args:
        rows: (rows,) places of the rows in order.
        columns: (columns,) places of the columns in order.
        reach: (columns,) how many rows each allows, in order.
    """

    rows: Places
    columns: Places
    reach: Places

    def agreed(self, rows: Floats, columns: Floats, trust: float) -> tuple[Floats, Floats]:
        """Return margins that some distribution has: where running sums contradict each other, both become their weighted mean.

        Args:
            rows: (slices, rows) shares.
            columns: (slices, columns).
            trust: the weight of the rows, between 0 and 1.
        """
        of_rows = np.cumsum(rows[:, self.rows], axis=1)
        of_columns = np.cumsum(columns[:, self.columns], axis=1)
        allowed = np.where(self.reach > 0, of_rows[:, np.maximum(self.reach - 1, 0)], 0.0)
        missing = np.maximum(of_columns - allowed, 0.0)
        raised = of_rows.copy()
        for column, reach in enumerate(self.reach.tolist()):
            if reach:
                raised[:, reach - 1] = np.maximum(
                    raised[:, reach - 1], allowed[:, column] + (1.0 - trust) * missing[:, column]
                )
        lowered = of_columns - np.where(self.reach > 0, trust, 1.0) * missing
        made_rows, made_columns = np.empty_like(rows), np.empty_like(columns)
        made_rows[:, self.rows] = self._between(rows[:, self.rows], of_rows, raised)
        made_columns[:, self.columns] = np.diff(lowered, axis=1, prepend=0.0)
        return np.maximum(made_rows, 0.0), np.maximum(made_columns, 0.0)

    def _between(self, rows: Floats, before: Floats, after: Floats) -> Floats:
        """Scale the rows between two ends of columns to the new running sums at these."""
        ends = np.unique(np.append(self.reach[self.reach > 0], rows.shape[1])) - 1
        old = np.diff(before[:, ends], axis=1, prepend=0.0)
        new = np.diff(after[:, ends], axis=1, prepend=0.0)
        part = np.searchsorted(ends, np.arange(rows.shape[1]))
        return rows * _ratio(new, old)[:, part]


@dataclass(frozen=True, kw_only=True, eq=False)
class Zeros:
    """The possible cells of a layout's tables, by the declared rules.

    Args:
        ones: (slices, cells) which groups are possible within each class.
        pairs: by two places among the features, the larger first: which cells are possible.
    """

    ones: Flags
    pairs: Mapping[Pair, Pattern]

    def impossible(self, layout: MomentLayout) -> Flags:
        """(slices, cells, cells) the cells that are empty."""
        found = np.zeros((layout.slices, layout.cells, layout.cells), dtype=np.bool_)
        for (i, j), pattern in self.pairs.items():
            block, other = layout.blocks[i], layout.blocks[j]
            found[:, block, other] = ~pattern.possible
            found[:, other, block] = ~pattern.possible.transpose(0, 2, 1)
        return found

    def margins(self, ones: Floats, variances: Floats, distribution: Floats, layout: MomentLayout) -> Floats:
        """Make the shares of groups such that some distribution on the possible cells of every pair has them.

        Args:
            ones: (slices, cells), positive.
            variances: (slices, cells) of their noise.
            distribution: (slices,) what the shares of every column sum to.
        """
        made = np.where(self.ones, ones, 0.0)
        _rescale(made, distribution, layout.blocks)
        for _ in range(_SWEEPS):
            before = made.copy()
            for (i, j), pattern in self.pairs.items():
                block, other = layout.blocks[i], layout.blocks[j]
                trust = _trust(variances[:, block], variances[:, other])
                if pattern.order is not None:
                    agreed = pattern.order.agreed(made[:, block], made[:, other], trust)
                    made[:, block], made[:, other] = agreed
                    _rescale(made, distribution, (block, other))
                    continue
                product = made[:, block, None] * made[:, None, other] / distribution[:, None, None]
                by_rows, by_columns = pattern.fitted(product, made[:, block], made[:, other])
                distribution_of_both = trust * by_rows + (1.0 - trust) * by_columns
                # A class for which the rules leave no possible record keeps its shares; nothing can satisfy them.
                some = distribution_of_both.sum(axis=(1, 2)) > 0
                made[some, block] = distribution_of_both[some].sum(axis=2)
                made[some, other] = distribution_of_both[some].sum(axis=1)
                _rescale(made, distribution, (block, other))
            if np.abs(made - before).max() < _TOLERANCE:
                break
        return made


def zeros_of(forbidden: Forbidden, groups: Sequence[Groups], layout: MomentLayout) -> Zeros | None:
    """The empty cells of a layout's tables by what rules forbid; None where they leave none empty.

    Args:
        forbidden: by two columns, (codes, codes) the cells that are forbidden.
    """
    places = {column: place for place, column in enumerate(layout.features)}
    ones = np.ones((layout.slices, layout.cells), dtype=np.bool_)
    pairs: dict[Pair, Flags] = {}
    for (first, second), cells in forbidden.items():
        possible = ~whole_groups(cells, groups[first], groups[second])
        if possible.all():
            continue
        if layout.by_class and layout.target_index in (first, second):
            column, by_label = (second, possible) if first == layout.target_index else (first, possible.T)
            ones[:, layout.blocks[places[column]]] &= by_label
        else:
            # Of features the later one comes first, as in the loops over blocks.
            pairs[places[second], places[first]] = possible.T
    for block in layout.blocks:
        ones[~ones[:, block].any(axis=1), block] = (
            True  # a class without any value: its table says nothing else
        )
    made = {}
    for i, block in enumerate(layout.blocks):
        for j, other in enumerate(layout.blocks[:i]):
            cells = ones[:, block, None] & ones[:, None, other] & pairs.get((i, j), True)
            cells[~cells.any(axis=(1, 2))] = True
            if not cells.all():
                made[i, j] = Pattern(possible=cells)
    return Zeros(ones=ones, pairs=made) if made or not ones.all() else None


def _inverse(possible: Floats) -> Floats:
    normal = np.block(
        [[np.diag(possible.sum(axis=1)), possible], [possible.T, np.diag(possible.sum(axis=0))]]
    )
    values, vectors = np.linalg.eigh(normal)
    some = values > _SMALLEST_EIGENVALUE * values[-1]
    inverse: Floats = (vectors[:, some] / values[some]) @ vectors[:, some].T
    return inverse


def _by_newton(table: Floats, rows: Floats, columns: Floats) -> Floats:
    """Scale a table to margins that some distribution on its cells has.

    Scaling in turn reaches it slowly where that distribution has further zeros.

    Newton's method on the logarithms of the factors of rows and columns, whose convex loss is the sum of the table less that of
    the factors times the margins. A step that would change a factor by more than the square of e is shortened.
    """
    count = len(rows)
    for _ in range(_NEWTON_STEPS):
        of_rows, of_columns = table.sum(axis=1), table.sum(axis=0)
        gradient = np.concatenate([of_rows - rows, of_columns - columns])
        if np.abs(gradient).sum() < _TOLERANCE:
            break
        hessian = np.block([[np.diag(of_rows), table], [table.T, np.diag(of_columns)]])
        hessian[np.diag_indices_from(hessian)] += _RIDGE
        step = np.linalg.solve(hessian, -gradient)
        step *= min(1.0, _LONGEST_STEP / float(np.abs(step).max()))
        table = table * np.exp(step[:count, None] + step[count:])
    return table


def _ratio(wanted: Floats, found: Floats) -> Floats:
    return np.divide(wanted, found, out=np.zeros_like(wanted), where=found > 0)


def _rescale(ones: Floats, distribution: Floats, blocks: Sequence[slice]) -> None:
    """Make the shares of every column sum to those of the slices, in place."""
    for block in blocks:
        ones[:, block] *= (distribution / ones[:, block].sum(axis=1))[:, None]


def _trust(rows: Floats, columns: Floats) -> float:
    """The weight of the row margins against the column margins: by inverse variance."""
    return float(columns.mean() / (rows.mean() + columns.mean()))
