"""Counts of records that are held in memory."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from models.counting.question import WHOLE_RECORD, Counter, CountQuestion, Counts
from models.counting.tally import Tally
from models.encoding import PrivateTable


class MemoryCounter:
    """Answers from a coded table; see `models.counting.question.Counter`.

    Args:
        table: the private records. A unit with `m` of them contributes `floor(2^20 / m)` units of the grid of each, at
            most the average of its records; where the table bounds a unit's records, each of them counts fully.
    """

    def __init__(self, table: PrivateTable) -> None:
        self.cardinalities = table.cardinalities
        self.target_index = table.target_index
        self.ordered, self.alone = table.ordered, table.alone
        self.forbidden = table.forbidden
        self.most_records = table.record_bound or 1
        self._codes = table.codes
        self._weights = None if table.record_bound else average_weights(table.unit_of_record)

    def count(self, questions: Sequence[CountQuestion]) -> list[Counts]:
        """Count the records of every cell of every table."""
        tally = Tally(questions)
        for start in range(0, len(self._codes), tally.batch_records):
            batch = slice(start, start + tally.batch_records)
            tally.add(self._codes[batch], None if self._weights is None else self._weights[batch])
        return tally.answers()


def counter_of(records: PrivateTable | Counter) -> Counter:
    """The counter of these records; a table in memory gets a `MemoryCounter`."""
    return MemoryCounter(records) if isinstance(records, PrivateTable) else records


def average_weights(unit_of_record: NDArray[np.int64]) -> NDArray[np.float64]:
    """(records,) the weight of every record, in whole units of the grid: the records of a unit together count at most one."""
    if not len(unit_of_record):
        return np.zeros(0)
    weight_of_unit = WHOLE_RECORD // np.maximum(np.bincount(unit_of_record), 1)
    return weight_of_unit.astype(np.float64)[unit_of_record]
