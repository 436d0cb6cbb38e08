"""Conditions on fake rows: the engine reads them, says which values they allow, and compares rows with them. Needs the extra ``offline``."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import pyarrow as pa

from core.artifacts.sampling.condition_values import Interval
from core.artifacts.sampling.conditions import Condition, table_condition
from core.artifacts.sampling.value_conditions import Conditions, Ordered, requested_conditions
from core.plan.domain.codec import decode_column, encode, numbers_of
from core.plan.domain.columns.kinds import LabelColumn, Modelled, TimeColumn
from core.plan.domain.schema import arrow_type, sample_schema
from core.plan.domain.table import TableDomain
from understudy.documents import Json
from understudy.local.ledger.accounts import answered

Row = Mapping[str, Any]


class DummyConditions:
    """Conditions on rows of a domain of which nothing is learnt."""

    def __init__(self, domain: TableDomain, wanted: Conditions, condition: Condition) -> None:
        self._domain = domain
        self._wanted = wanted
        self._condition = condition
        self._rng = np.random.default_rng()

    @classmethod
    def read(cls, domain: Json, where: Json) -> Self:
        """Read conditions as a service does.

        Raises:
            InvalidInput: the domain breaks a rule, there is no such column, or it cannot have such values.
        """
        with answered():
            read = TableDomain.from_json(domain)
            wanted = requested_conditions(where, read)
            return cls(read, wanted, wanted.codes(read))

    def values(self, rows: int) -> list[dict[str, Any]]:
        """Draw for each row a value of each restricted column that it may have; a distance or a pattern is left to `met`."""
        drawn = {
            column.name: self._values(column, rows)
            for column in self._domain.modelled
            if any(
                column.name in part for part in (self._wanted.fixed, self._wanted.words, self._wanted.spans)
            )
        }
        return [{name: values[row] for name, values in drawn.items()} for row in range(rows)]

    def _values(self, column: Modelled, rows: int) -> list[Any]:
        if not isinstance(column, LabelColumn) and column.name in self._wanted.spans:
            return self._numbers(column, *self._wanted.spans[column.name], rows)
        words = self._wanted.words.get(column.name)
        several = [self._wanted.fixed[column.name]] if words is None else words
        codes = [_code(self._domain, column.name, value) for value in several]
        drawn: list[Any] = decode_column(column, self._rng.choice(codes, rows), self._rng).to_pylist()
        return drawn

    def _numbers(self, column: Ordered, spans: list[Interval], is_missing: bool, rows: int) -> list[Any]:
        """Values drawn uniformly within an interval of several, each as likely; a special value where it holds nothing else."""
        unit = column.seconds_per_unit if isinstance(column, TimeColumn) else 1
        lows, highs = np.array(spans)[self._rng.integers(len(spans), size=rows)].T / unit
        uniforms = self._rng.random(rows)
        if column.grid is None:
            first, last = np.maximum(lows, column.lower), np.minimum(highs, column.upper)
            numbers, is_empty = first + uniforms * (last - first), first > last
        else:
            first = column.grid.first_at_or_above(lows)
            after = column.grid.first_at_or_above(np.nextafter(highs, np.inf))
            ticks = first + (uniforms * (after - first)).astype(np.int64)
            numbers = column.grid.points(np.minimum(ticks, column.grid.ticks - 1))
            is_empty = first >= after
        for special in column.specials:
            numbers[is_empty & (lows <= special) & (special <= highs)] = special
        missing = is_missing & (self._rng.integers(len(spans) + 1, size=rows) == 0)
        kind = arrow_type(column)
        whole = pa.int32() if pa.types.is_date32(kind) else pa.int64()
        array = pa.array(numbers, mask=missing)
        if not pa.types.is_floating(kind):
            array = array.cast(whole).cast(kind)
        drawn: list[Any] = array.to_pylist()
        return drawn

    def met(self, rows: Sequence[Row]) -> list[dict[str, Any]]:
        """Return the rows that meet the conditions."""
        batch = pa.RecordBatch.from_pylist([*rows], schema=sample_schema(self._domain))
        codes = encode(self._domain, batch)
        mask = self._condition.met_by(codes)
        if self._condition.label is not None:
            mask &= codes[:, self._domain.target_index] == self._condition.label
        batch = batch.filter(pa.array(mask))
        values = [
            np.zeros(batch.num_rows) if isinstance(column, LabelColumn) else numbers_of(column, values)
            for column, values in zip(self._domain.modelled, batch.columns, strict=True)
        ]
        met: list[dict[str, Any]] = self._wanted.met_by(batch, values, self._domain).to_pylist()
        return met


def _code(domain: TableDomain, name: str, value: object) -> int:
    """The code to which a column is fixed by a value."""
    condition = table_condition(domain, {name: value})
    code = next(iter(condition.others.values()), condition.label)
    assert code is not None, "one column is fixed"
    return code
