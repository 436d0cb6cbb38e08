"""Limits of answers about columns that were not counted together: they hold under any dependence of the columns.

Two events of a and b among n records occur together in at least a + b - n and in at most min(a, b) records (Frechet 1935). The limits
start from events of one column, and of two columns that were counted together, widened for the noise of all these counts at once, by
Bonferroni. So they hold the truth of a row in at least 95 of 100 releases.

Combinations that the declared rules exclude (`core.artifacts.asking.zeros`) narrow the limits of two columns: records of the first event
can be outside the second one only in groups that some of the event's own groups allow.

The mean of a group of unknown members is highest if they are the records with the highest values, and a smaller group has a higher one.
"""

import itertools
import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Final

import numpy as np

from core.artifacts.asking.estimates import CONFIDENCE, Estimates, Floats
from core.artifacts.asking.zeros import Zeros
from core.plan.domain.rules.classes import Flags

_BOUNDED: Final = {
    (2, False): 4,  # the total, an event of one column, two events of the other: a share's part and its rest
    (2, True): 11,  # five sums for each of the share's two events, and the event of the other column
    (
        3,
        False,
    ): 10,  # the total, four events of one column, five events of two columns that were counted together
    (3, True): 34,  # the total, those five, and the sums above for every two columns: 11, 11 and 6
}
"""Number of sums over noisy counts that bound a row's part and rest, by number of columns and whether combinations are empty."""

Limits = tuple[float, float]
"""Lower and upper limit."""


class LimitsOfRows:
    """Limits of the records and the means in the rows of one answer of two or three columns."""

    def __init__(
        self, estimates: Estimates, columns: Sequence[int], zeros: Zeros, *, further: int = 0
    ) -> None:
        """Limit the rows of an answer.

        Args:
            columns: indices of the answer's columns.
            further: number of further sums that are bounded at once.
        """
        self._estimates = estimates
        self._columns = columns
        self._zeros = zeros
        self._tables: dict[tuple[int, int], Floats] = {}
        bounded = _BOUNDED[len(columns), zeros.of_columns(columns) is not None] + further
        self._deviations = NormalDist().inv_cdf(1.0 - (1.0 - CONFIDENCE) / (2 * bounded))
        self._most = self._limits(float(estimates.table(())), estimates.covariance((), {}, {}))[1]

    def records(self, events: Sequence[Sequence[Floats]]) -> list[Limits]:
        """Limit the number of records in every combination of the columns' events.

        Args:
            events: for each column its events, each (groups,) with a positive weight for the groups of the event.
        """
        alone = [
            [self._of_one(column, event) for event in of_column]
            for column, of_column in zip(self._columns, events, strict=True)
        ]
        if len(self._columns) == 2:  # noqa: PLR2004
            return [limits for row in self._of_two((0, 1), events, alone) for limits in row]
        pairs = {
            (first, second): self._of_two((first, second), events, alone)
            for first, second in itertools.combinations(range(3), 2)
        }
        found = []
        for row in itertools.product(*(range(len(of_column)) for of_column in events)):
            low, high = 0.0, math.inf
            for (first, second), limits in pairs.items():
                together = limits[row[first]][row[second]]
                other = 3 - first - second
                low = max(low, together[0] + alone[other][row[other]][0] - self._most)
                high = min(high, together[1])
            found.append((min(low, high), high))
        return found

    def mean(self, column: int, values: Floats, asked: Floats, of_rows: Sequence[Limits]) -> list[Limits]:
        """Limit the mean of a column in rows whose numbers of records are limited.

        Args:
            column: index of the column.
            values: (groups,) the value of each of its groups.
            asked: (groups,) positive for the groups whose records enter the mean.
            of_rows: limits of the number of records that enter it.
        """
        kept = np.flatnonzero(asked > 0)
        kept = kept[np.argsort(values[kept], kind="stable")]
        steps = np.diff(values[kept])
        group = np.arange(len(values))
        below = np.array(
            [self._of_one(column, np.isin(group, kept[:place]))[1] for place in range(1, len(kept))]
        )
        above = np.array(
            [self._of_one(column, np.isin(group, kept[place:]))[1] for place in range(1, len(kept))]
        )
        lowest, highest = float(values[kept[0]]), float(values[kept[-1]])
        found = []
        for least, _ in of_rows:
            if least <= 0.0:
                found.append((lowest, highest))
                continue
            low = highest - float(steps @ np.minimum(below / least, 1.0))
            high = lowest + float(steps @ np.minimum(above / least, 1.0))
            found.append((min(low, high), high))
        return found

    def _of_two(
        self, axes: tuple[int, int], events: Sequence[Sequence[Floats]], alone: Sequence[Sequence[Limits]]
    ) -> list[list[Limits]]:
        """Limits of every combination of the events of two of the columns."""
        columns = self._columns[axes[0]], self._columns[axes[1]]
        empty = self._zeros.of_pair(*columns)
        are_counted = self._estimates.are_counted(columns)
        found = []
        for left, of_left in zip(events[axes[0]], alone[axes[0]], strict=True):
            row = []
            for right, of_right in zip(events[axes[1]], alone[axes[1]], strict=True):
                if empty is None:
                    low, high = max(of_left[0] + of_right[0] - self._most, 0.0), min(of_left[1], of_right[1])
                else:
                    low, high = self._beside(columns, (left > 0, right > 0), ~empty)
                if are_counted:
                    together = self._of_counted(columns, left, right)
                    low, high = max(low, together[0]), min(high, together[1])
                row.append((min(low, high), high))
            found.append(row)
        return found

    def _beside(self, columns: tuple[int, int], events: tuple[Flags, Flags], possible: Flags) -> Limits:
        """Limits of one combination of two events if only some (groups of the first column, groups of the second) are possible."""
        low, high = 0.0, math.inf
        for axis in (0, 1):
            allowed = possible if axis == 0 else possible.T
            own, other = events[axis], events[1 - axis]
            # First the event's own groups with a partner in the other event, then the partners of these groups outside the other event.
            meeting, outside = own & allowed[:, other].any(axis=1), ~other & allowed[own].any(axis=0)
            if not meeting.any():
                return 0.0, 0.0
            high = min(high, self._of_one(columns[axis], meeting)[1])
            least = self._of_one(columns[axis], own)[0]
            if outside.any():
                least -= self._of_one(columns[1 - axis], outside)[1]
            low = max(low, least)
        return min(low, high), high

    def _of_one(self, column: int, event: Floats | Flags) -> Limits:
        """Limits of the number of records in an event of one column."""
        weights = (event > 0).astype(np.float64)
        estimate = float(weights @ self._estimates.margin(column))
        return self._limits(estimate, self._estimates.margin_variance(column, weights))

    def _of_counted(self, columns: tuple[int, int], left: Floats, right: Floats) -> Limits:
        """Limits of the number of records in two events of columns that were counted together."""
        weights = {columns[0]: (left > 0).astype(np.float64), columns[1]: (right > 0).astype(np.float64)}
        estimate = float(weights[columns[0]] @ self._table(columns) @ weights[columns[1]])
        return self._limits(estimate, self._estimates.covariance(columns, weights, weights))

    def _table(self, columns: tuple[int, int]) -> Floats:
        """The counts of two columns that were counted together, estimated once."""
        if columns not in self._tables:
            self._tables[columns] = self._estimates.table(columns)
        return self._tables[columns]

    def _limits(self, estimate: float, variance: float) -> Limits:
        """Limits of a sum over noisy counts, at once with those of the others."""
        off = self._deviations * math.sqrt(variance)
        return max(estimate - off, 0.0), max(estimate + off, 0.0)


def limits_of_share(part: Limits, rest: Limits) -> Limits:
    """Limits of part / (part + rest)."""
    low = part[0] / (part[0] + rest[1]) if part[0] > 0 else 0.0
    high = part[1] / (part[1] + rest[0]) if rest[0] > 0 else 1.0
    return low, high
