"""Stays counted in the place of discharges: what a record touches, whichever way rows are counted, and the rows of a release."""

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
from tests.models.default_order import planned, released

ROWS = 4000
KEY = bytes(range(32))
DATE: dict[str, Any] = {"kind": "date", "lower": "2022-01-01", "upper": "2023-12-31"}
DIFFERENCE = {"from": "admitted", "upper": 40, "bins": 41}


def declared(**keys: object) -> dict[str, Any]:
    columns = [
        DATE | {"name": "admitted"},
        DATE | {"name": "discharged", "null": "category"} | keys,
        {"name": "urgent", "kind": "boolean"},
    ]
    return {"schema": "understudy.domain/1", "target": None, "privacy_unit": None, "columns": columns}


DOMAIN = TableDomain.from_json(declared(difference=DIFFERENCE))


def stays() -> pa.RecordBatch:
    """Two days for the urgent, mostly a week for the others; some are still there."""
    rng = np.random.default_rng(1)
    urgent = rng.random(ROWS) < 0.4
    stay = np.where(
        urgent, rng.integers(1, 4, ROWS), np.where(rng.random(ROWS) < 0.8, 7, rng.integers(5, 30, ROWS))
    )
    admitted = 18_993 + rng.integers(0, 690, ROWS)
    discharged = np.where(rng.random(ROWS) < 0.05, np.nan, admitted + stay)
    return batch_of(DOMAIN, [admitted.astype(np.float64), discharged, urgent.astype(np.float64)])


def questions() -> list[CountQuestion]:
    cells = DOMAIN.cardinalities
    places = [(0,), (1,), (2,), *itertools.combinations(range(3), 2)]
    return [
        CountQuestion(
            columns=columns,
            groups=(None,) * len(columns),
            cardinalities=tuple(cells[place] for place in columns),
        )
        for columns in places
    ]


def test_stored_rows_hold_the_dates_and_are_counted_as_coded_ones():
    batch = stays()
    assert batch.schema == storage_schema(DOMAIN), "distances are stored nowhere"
    assert DOMAIN.ordered == (True, True, False)
    assert codes_alone(DOMAIN) == ((), (41,), ())
    streamed = StreamedCounter(Shards(batch, [1000, 1017]), DOMAIN, key=KEY).count(questions())
    memory = MemoryCounter(coded_table([batch], DOMAIN)).count(questions())
    for one, other in zip(streamed, memory, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_record_touches_one_cell_of_every_table_as_without_differences():
    whole = stays()
    own = TableDomain.from_json(declared(bins=41))
    for place in (0, 1, 2017, ROWS - 1):
        fewer = (
            pa.Table.from_batches([whole.slice(0, place), whole.slice(place + 1)])
            .combine_chunks()
            .to_batches()[0]
        )
        both = (MemoryCounter(coded_table([batch], DOMAIN)).count(questions()) for batch in (whole, fewer))
        for one, other in zip(*both, strict=True):
            moved = np.abs(one - other)
            assert np.count_nonzero(moved) == 1
            assert moved.sum() == one.sum() / ROWS, "one record"
    with_difference, without = (planned(domain, records=ROWS) for domain in (DOMAIN, own))
    assert own.cardinalities[1] == DOMAIN.cardinalities[1]
    assert with_difference.mechanism == without.mechanism, "the same charge"


def test_drawn_stays_have_the_distribution_of_the_rows_and_that_of_the_urgent():
    document = declared(difference=DIFFERENCE)
    made = released(document, stays(), key=KEY, draws=20_000)
    assert made.schema == storage_schema(DOMAIN)
    real, drawn = (coded_table([batch], DOMAIN).codes for batch in (stays(), made))
    for urgent in (0, 1):
        distributions = [
            np.bincount(codes[codes[:, 2] == urgent, 1], minlength=42) / (codes[:, 2] == urgent).sum()
            for codes in (real, drawn)
        ]
        # Independent dates within bins of three weeks are about 0.7 off.
        assert np.abs(distributions[0] - distributions[1]).sum() / 2 < 0.1
    left = [
        (end - start).days
        for start, end in zip(
            made.column("admitted").to_pylist(), made.column("discharged").to_pylist(), strict=True
        )
        if end is not None
    ]
    assert 0 <= min(left) <= max(left) <= 40
