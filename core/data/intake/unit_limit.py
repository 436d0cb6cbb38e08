"""Limit on the privacy units of an upload, relative to the declared size.

Sampling uses the declared size, so a table several times larger would have batches several times too large.
They could exceed the public cap on one sampled batch (core.plan.defaults), and whether a job fails would
depend on the number of units. Within this limit the expected batch is at most twice the planned one, and
exceeding the cap - over four times the planned one - has a probability below exp(-300) in any step
(Chernoff's bound), for every plan. Only the owner learns of the refusal, at upload time.
"""

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.data.errors import TooManyUnits

UNITS_PER_DECLARED: Final = 2
_FLUSH: Final = 1 << 20


class UnitLimit:
    """Counts the privacy units of an upload, in 8 bytes each, up to the limit.

    Args:
        unit_column: Column of the privacy unit; None if each record is its own unit.
    """

    def __init__(self, *, declared_size: int, unit_column: str | None) -> None:
        self._limit = UNITS_PER_DECLARED * declared_size
        self._unit_column = unit_column
        self._records = 0
        self._known = np.empty(0, dtype=np.int64)
        self._fresh: list[np.typing.NDArray[np.int64]] = []
        self._fresh_count = 0

    def see(self, batch: pa.RecordBatch) -> None:
        """Count the accepted rows of one block.

        Raises:
            TooManyUnits: The limit is exceeded.
        """
        if self._unit_column is None:
            self._records += batch.num_rows
        else:
            units = pc.unique(batch.column(self._unit_column)).to_pylist()
            # Python's keyed 64-bit hash: a collision only counts two units as one.
            self._fresh.append(np.fromiter(map(hash, units), dtype=np.int64, count=len(units)))
            self._fresh_count += len(units)
            if self._fresh_count > _FLUSH:
                self._merge()
        self._check(max(self._records, len(self._known)))

    def finish(self) -> None:
        """Check the units not yet counted.

        Raises:
            TooManyUnits: The limit is exceeded.
        """
        self._merge()
        self._check(max(self._records, len(self._known)))

    def _merge(self) -> None:
        self._known = np.unique(np.concatenate([self._known, *self._fresh]))
        self._fresh, self._fresh_count = [], 0

    def _check(self, units: int) -> None:
        if units > self._limit:
            raise TooManyUnits(
                f"The upload contains more than {UNITS_PER_DECLARED} times as many privacy units as the"
                " dataset declares.",
                remedy="Declare a new dataset whose declared_size is about the number of records (or people) it has.",
            )
