"""Counting a batch of coded records into many tables at once."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.counting.question import WHOLE_RECORD, CountQuestion, Counts, Groups

USUAL_RECORDS: Final = 2**16
"""Records of a batch, if the tables are small."""
MOST_RECORDS: Final = 2**20
"""Records of a batch, however large the tables are. Their weights add up to 2^40, far below 2^53."""
GROUPED_CODES: Final = 2**25
"""Grouped codes of a batch, over all columns and groupings: 128 MiB."""

Axis = tuple[int, int]


class Tally:
    """Sums of weights in every cell of every table.

    Codes are grouped once for each pair of a column and its grouping, however many tables ask for it.
    """

    def __init__(self, questions: Sequence[CountQuestion]) -> None:
        self.totals: list[Counts] = [np.zeros(question.cells, np.int64) for question in questions]
        self._shapes = [question.shape for question in questions]
        self._groupings: list[Groups | None] = []
        place_of: dict[bytes | None, int] = {}
        seen: dict[int, int] = {}
        self._axes = [
            tuple(
                (column, self._grouping(groups, place_of, seen))
                for column, groups in zip(question.columns, question.groups, strict=True)
            )
            for question in questions
        ]

    def _grouping(
        self, groups: Groups | None, place_of: dict[bytes | None, int], seen: dict[int, int]
    ) -> int:
        """Number the groupings; equal ones have the same number."""
        if id(groups) in seen:
            return seen[id(groups)]
        content = None if groups is None else groups.tobytes()
        if content not in place_of:
            place_of[content] = len(self._groupings)
            self._groupings.append(groups)
        seen[id(groups)] = place_of[content]
        return seen[id(groups)]

    @property
    def batch_records(self) -> int:
        """Number of records per pass for the fastest counting: about the number of cells of the largest table."""
        cells = max((len(total) for total in self.totals), default=0)
        axes = len({axis for axes in self._axes for axis in axes})
        return min(max(USUAL_RECORDS, cells), max(1, GROUPED_CODES // max(1, axes)), MOST_RECORDS)

    def add(self, codes: NDArray[np.integer], weights: NDArray[np.float64] | None) -> None:
        """Count a batch of at most `MOST_RECORDS` records.

        Args:
            codes: (records, columns), each below its column's cardinality.
            weights: (records,) whole numbers up to `WHOLE_RECORD`; None where every record counts fully.
        """
        assert len(codes) <= MOST_RECORDS, "sums of a batch stay below 2^53"
        grouped: dict[Axis, Groups] = {}
        for index, (axes, shape) in enumerate(zip(self._axes, self._shapes, strict=True)):
            for axis in axes:
                if axis not in grouped:
                    grouped[axis] = self._grouped(codes, axis)
            cells = grouped[axes[0]]
            for axis, size in zip(axes[1:], shape[1:], strict=True):
                cells = cells * np.int32(size) + grouped[axis]
            self.totals[index] += _summed(cells, weights, len(self.totals[index]))

    def _grouped(self, codes: NDArray[np.integer], axis: Axis) -> Groups:
        """(records,) the groups of a column's codes."""
        column, place = axis
        groups = self._groupings[place]
        own = codes[:, column]
        return own.astype(np.int32) if groups is None else groups.astype(np.int32)[own]

    def answers(self) -> list[Counts]:
        """Return the sums so far, one array for each table, of its shape."""
        return [total.reshape(shape) for total, shape in zip(self.totals, self._shapes, strict=True)]


def _summed(cells: Groups, weights: NDArray[np.float64] | None, size: int) -> Counts:
    """(size,) the records' weights in every cell."""
    if weights is None:
        return np.bincount(cells, minlength=size) * WHOLE_RECORD
    return np.bincount(cells, weights, minlength=size).astype(np.int64)
