"""Combinations of two columns' groups that the declared rules or the calendar exclude. Public, free of privacy cost.

Counts of such a combination are known to be noise. A rule is a belief of its author; records that break it are not refused. So a rule that the
counts contradict (`core.artifacts.asking.rules_check`) excludes nothing here.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from core.artifacts.asking.estimates import Estimates
from core.artifacts.asking.rules_check import RulesCheck
from core.plan.domain.forbidden import Pair, forbidden_by_calendar, forbidden_by_rule, whole_groups
from core.plan.domain.rules.classes import Flags
from core.plan.domain.table import TableDomain


@dataclass(frozen=True, kw_only=True, eq=False)
class Zeros:
    """The empty combinations of every two columns.

    Attributes:
        pairs: by the indices of two columns, the smaller first, (groups of the first, groups of the second), true if empty.
    """

    pairs: Mapping[Pair, Flags]

    @classmethod
    def of(cls, domain: TableDomain, estimates: Estimates, check: RulesCheck) -> Self:
        """Find the empty combinations, without the rules that the counts contradict."""
        kept = [
            by_pair
            for by_pair, checked in zip(forbidden_by_rule(domain), check.rules, strict=True)
            if not checked.contradictions
        ]
        found: dict[Pair, Flags] = {}
        for by_pair in (forbidden_by_calendar(domain), *kept):
            for pair, cells in by_pair.items():
                found[pair] = found[pair] | cells if pair in found else cells
        pairs = {}
        for (first, second), cells in sorted(found.items()):
            groups = estimates.groups((first, second))
            empty = whole_groups(cells, groups[first], groups[second])
            if empty.any():
                pairs[first, second] = empty
        return cls(pairs=pairs)

    def of_pair(self, first: int, second: int) -> Flags | None:
        """Return the empty combinations of two columns, (groups of the first, groups of the second); None if there are none."""
        found = self.pairs.get((min(first, second), max(first, second)))
        return found if found is None or first < second else found.T

    def of_columns(self, columns: Sequence[int]) -> Flags | None:
        """Return the empty combinations of several columns, with one axis per column; None if there are none."""
        empty: Flags | None = None
        for axes in itertools.combinations(range(len(columns)), 2):
            of_two = self.of_pair(*(columns[axis] for axis in axes))
            if of_two is not None:
                rest = tuple(axis for axis in range(len(columns)) if axis not in axes)
                spread = np.expand_dims(of_two, rest)
                empty = spread if empty is None else empty | spread
        return empty


NO_ZEROS: Final = Zeros(pairs={})
"""No combination is known to be empty."""
