"""Weekday and month counted beside a date's bins: whichever way rows are counted, and up to the rows of a release."""

import itertools
from typing import Any

import numpy as np
import pyarrow as pa

from core.plan.domain.codec import batch_of
from core.plan.domain.schema import storage_schema
from core.plan.domain.table import TableDomain
from models.coding import coded_table
from models.counting.memory import MemoryCounter
from models.counting.question import CountQuestion
from models.counting.streamed import StreamedCounter
from models.encoding import codes_alone
from tests.models.counting.shards import Shards
from tests.models.default_order import released

ROWS = 6000
KEY = bytes(range(32))
DATE: dict[str, Any] = {
    "name": "admitted", "kind": "date", "lower": "2015-01-01", "upper": "2022-12-31", "null": "category",
}  # fmt: skip


def declared(*patterns: str) -> dict[str, Any]:
    columns = [DATE | {"patterns": list(patterns)}, {"name": "urgent", "kind": "boolean"}]
    return {"schema": "understudy.domain/1", "target": None, "privacy_unit": None, "columns": columns}


def visits() -> pa.RecordBatch:
    """Hardly anybody comes on a Sunday, few in summer; the urgent come at any time."""
    rng = np.random.default_rng(1)
    domain = TableDomain.from_json(declared())
    days = rng.integers(16436, 19358, 4 * ROWS).astype(np.float64)
    urgent = rng.random(4 * ROWS) < 0.3
    sunday = (days + 3) % 7 == 6
    month = days.astype("datetime64[D]").astype("datetime64[M]").astype(int) % 12
    come = urgent | ((rng.random(4 * ROWS) < np.where(sunday, 0.05, 0.8)) & (month != 6))
    days, urgent = days[come][:ROWS], urgent[come][:ROWS]
    assert len(days) == ROWS
    days[rng.random(ROWS) < 0.02] = np.nan
    return batch_of(domain, [days, urgent.astype(np.float64)])


def test_codes_of_patterns_are_ordered_and_missing_ones_stay_alone():
    domain = TableDomain.from_json(declared("weekday", "month"))
    assert domain.ordered == (True, False, True, True)
    assert codes_alone(domain) == ((32,), (), (7,), (12,))


def test_stored_rows_are_counted_as_coded_ones():
    domain = TableDomain.from_json(declared("weekday", "month"))
    batch = visits()
    assert batch.schema == storage_schema(domain), "patterns are stored nowhere"
    table = coded_table([batch], domain)
    asked = [
        CountQuestion(
            columns=pair,
            groups=(None, None),
            cardinalities=tuple(table.cardinalities[place] for place in pair),
        )
        for pair in itertools.combinations(range(4), 2)
    ]
    streamed = StreamedCounter(Shards(batch, [1000, 1017]), domain, key=KEY).count(asked)
    for one, other in zip(streamed, MemoryCounter(table).count(asked), strict=True):
        np.testing.assert_array_equal(one, other)


def shares(batch: pa.RecordBatch, place: int, *, urgent: bool) -> np.ndarray:
    domain = TableDomain.from_json(declared("weekday", "month"))
    codes = coded_table([batch], domain).codes
    codes = codes[codes[:, 1] == urgent]
    counted = np.bincount(codes[:, place], minlength=domain.cardinalities[place])
    return counted / counted.sum()


def test_drawn_dates_have_the_weekdays_and_months_of_the_rows_and_those_of_urgent_visits():
    real, made = visits(), released(declared("weekday", "month"), visits(), key=KEY, draws=20_000)
    assert made.schema == storage_schema(TableDomain.from_json(declared()))
    for place, most in ((2, 0.05), (3, 0.08)):
        for urgent in (False, True):
            truth = shares(real, place, urgent=urgent)
            assert np.abs(shares(made, place, urgent=urgent) - truth).sum() / 2 < most
    # Drawn evenly within bins of three months, a seventh of the visits that are not urgent would be on Sundays.
    assert shares(made, 2, urgent=False)[6] < 0.05
    assert shares(made, 2, urgent=True)[6] > 0.1
