"""Stored rows to the coded table."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from core.domain.schema import storage_schema
from core.domain.table import TableDomain
from workers.coding import coded_table

COLUMNS = [{"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 9}]
PLAIN = TableDomain.from_json(
    {"schema": "understudy.domain/1", "target": "age", "privacy_unit": None, "columns": COLUMNS}
)
BY_PERSON = TableDomain.from_json(
    {
        "schema": "understudy.domain/1",
        "target": None,
        "privacy_unit": "person",
        "columns": [*COLUMNS, {"name": "person", "kind": "unit"}],
    }
)


def batch(domain: TableDomain, ages: list[int], persons: list[str]) -> pa.RecordBatch:
    columns = [pa.array(ages, pa.int64())]
    if domain.privacy_unit is not None:
        columns.append(pa.array(persons, pa.string()))
    return pa.RecordBatch.from_arrays(columns, schema=storage_schema(domain))


def test_without_a_unit_column_every_record_is_its_own_unit():
    table = coded_table([batch(PLAIN, [3, 1], []), batch(PLAIN, [4], [])], PLAIN)
    assert table.codes[:, 0].tolist() == [3, 1, 4]
    assert table.unit_of_record.tolist() == [0, 1, 2]
    assert table.target_index == 0


def test_a_table_without_rows_is_a_table():
    for domain in (PLAIN, BY_PERSON):
        table = coded_table([], domain)
        assert table.codes.shape == (0, 1)
        assert table.units == 0


@given(st.lists(st.lists(st.sampled_from(["ann", "bob", "", "ünal"]), max_size=6), max_size=4))
def test_units_are_numbered_by_first_appearance_whatever_the_batches(pieces):
    table = coded_table([batch(BY_PERSON, [1] * len(piece), piece) for piece in pieces], BY_PERSON)
    persons = [person for piece in pieces for person in piece]
    order = list(dict.fromkeys(persons))
    assert table.unit_of_record.tolist() == [order.index(person) for person in persons]
    assert table.unit_of_record.dtype == np.int64
    assert table.units == len(order)
