"""The queries that an anchor may ask of private rows, tables of counts over a few columns, and who answers them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from core.plan.counting_rules import MOST_TOGETHER
from models.encoding import Forbidden

MOST_CELLS: Final = 2**31 - 1
"""Cells of a table of counts, so that a cell's number has 32 bits; such a table would fill 16 GiB."""
WHOLE_RECORD: Final = 2**20
"""The weight of a record that counts fully, in units of the public grid (`models.tables.anchor.GRID`)."""

Counts = NDArray[np.int64]
Groups = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountQuestion:
    """One table of counts; public.

    Args:
        columns: a few places among the modelled columns, increasing.
        groups: for each of them (codes,) the group of every code, from 0 without a gap; None asks for the codes
            themselves.
    """

    columns: tuple[int, ...]
    groups: tuple[Groups | None, ...]
    cardinalities: tuple[int, ...]

    def __post_init__(self) -> None:
        assert 1 <= len(self.columns) <= MOST_TOGETHER, "a few columns"
        assert all(a < b for a, b in zip(self.columns, self.columns[1:], strict=False)), "columns increase"
        assert len(self.groups) == len(self.cardinalities) == len(self.columns), (
            "groups and codes of every column"
        )
        for groups, codes in zip(self.groups, self.cardinalities, strict=True):
            assert groups is None or groups.shape == (codes,), "every code has a group"
            assert groups is None or groups.min(initial=0) >= 0, "groups are not negative"
        assert self.cells <= MOST_CELLS, "a table of counts fits into memory"

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells per axis."""
        return tuple(
            codes if groups is None else int(groups.max(initial=-1)) + 1
            for groups, codes in zip(self.groups, self.cardinalities, strict=True)
        )

    @property
    def cells(self) -> int:
        """Cells of the table."""
        return math.prod(self.shape)


class Counter(Protocol):
    """Answers count queries about private rows: the only place where the anchor reads them.

    Args:
        target_index: the column that is predicted from the others, or None; public.
        ordered: whether the codes of each column have an order in which neighbours are alike; public.
        alone: codes of each column that are never merged with others; public.
        forbidden: computes the cells of two columns that the declared rules leave empty; public.
        most_records: the most records of a unit that count fully; public. One unit more or less moves every answer by at
            most as much as so many records: 1 where the records of a unit together count one.
    """

    cardinalities: tuple[int, ...]
    target_index: int | None
    ordered: tuple[bool, ...]
    alone: tuple[tuple[int, ...], ...]
    forbidden: Forbidden
    most_records: int

    def count(self, questions: Sequence[CountQuestion]) -> list[Counts]:
        """Count the records of every cell of every table.

        A record counts by its unit's weighting, in whole units of the public grid. Sums of integers are exact, so they do
        not depend on the order of the rows, the batches or the shards.

        Returns:
            One int64 array for each question, of its `shape`. Private: it may only leave with noise.
        """
        ...
