"""Stored rows to the coded table."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from core.plan.domain.images import ImageDomain
from core.plan.domain.schema import storage_schema
from core.plan.domain.table import TableDomain
from models.coding import coded_images, coded_table
from models.counting.memory import MemoryCounter
from models.encoding import codes_alone
from models.tables.code_groups import group_codes

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


def image_batch(
    domain: ImageDomain, pixels: np.ndarray, labels: list[int], persons: list[str]
) -> pa.RecordBatch:
    columns = [
        pa.array([image.tobytes() for image in pixels], pa.binary(domain.values)),
        pa.array(labels, pa.int16()),
    ]
    if domain.privacy_unit is not None:
        columns.append(pa.array(persons, pa.string()))
    return pa.RecordBatch.from_arrays(columns, schema=storage_schema(domain))


def images_of(unit: str | None) -> ImageDomain:
    return ImageDomain(height=4, width=5, channels=3, labels=("a", "b"), privacy_unit=unit)


def test_images_keep_their_pixels_labels_and_order():
    domain = images_of(None)
    pixels = np.random.default_rng(3).integers(0, 256, (5, 4, 5, 3), dtype=np.uint8)
    batches = [
        image_batch(domain, pixels[:3], [1, 0, 1], []),
        image_batch(domain, pixels[:0], [], []),
        image_batch(domain, pixels[2:], [1, 0, 0], []).slice(1),
    ]
    found = coded_images(batches, domain)
    assert (found.pixels == pixels).all()
    assert found.labels.tolist() == [1, 0, 1, 0, 0]
    assert found.unit_of_record.tolist() == [0, 1, 2, 3, 4]
    assert (found.classes, found.shape, found.labels.dtype) == (2, (4, 5, 3), np.int16)


def test_images_of_one_person_have_one_number_in_any_batch():
    domain = images_of("who")
    pixels = np.zeros((2, 4, 5, 3), np.uint8)
    batches = [
        image_batch(domain, pixels, [0, 1], ["x", "y"]),
        image_batch(domain, pixels, [0, 1], ["z", "x"]),
    ]
    assert coded_images(batches, domain).unit_of_record.tolist() == [0, 1, 2, 0]


def test_no_images_are_images_too():
    found = coded_images([], images_of("who"))
    assert (found.pixels.shape, found.units) == ((0, 4, 5, 3), 0)


def test_special_and_missing_values_of_ordered_columns_stay_alone():
    domain = TableDomain.from_json(
        {
            "schema": "understudy.domain/1",
            "target": None,
            "privacy_unit": None,
            "columns": [
                {"name": "dose", "kind": "numeric", "type": "integer", "lower": 1, "upper": 9, "specials": [-2, -1], "null": "category"},
                {"name": "grade", "kind": "ordinal", "levels": ["low", "middle", "high"], "null": "category"},
                {"name": "ward", "kind": "categorical", "categories": ["A", "B"], "null": "category"},
                {"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 9},
            ],
        }
    )  # fmt: skip
    assert domain.ordered == (True, True, False, True)
    assert codes_alone(domain) == ((0, 1, 11), (3,), (), ())
    table = coded_table([], domain)
    assert (table.ordered, table.alone) == (domain.ordered, codes_alone(domain))
    distribution = np.full(12, 1 / 12)
    groups = group_codes(distribution, most=3, ordered=True, alone=table.alone[0])
    for code in table.alone[0]:
        assert (groups == groups[code]).sum() == 1
    assert groups[2] == groups[3]
    assert sorted(set(groups.tolist())) == list(range(groups.max() + 1))


def test_what_rules_forbid_follows_from_the_domain_alone():
    domain = TableDomain.from_json(
        {
            "schema": "understudy.domain/1",
            "columns": [
                {"name": "sick", "kind": "categorical", "categories": ["no", "yes"]},
                {"name": "ward", "kind": "categorical", "categories": ["A", "B", "C"]},
            ],
            "rules": [{"kind": "impossible", "columns": ["sick", "ward"], "combinations": [["no", "B"]]}],
        }
    )
    rows = pa.RecordBatch.from_pydict({"sick": ["no", "yes", "no"], "ward": ["B", "A", "C"]})
    for batches in ([], [rows]):
        table = coded_table(batches, domain)
        for source in (table, MemoryCounter(table)):
            ((pair, cells),) = source.forbidden().items()
            assert pair == (0, 1)
            assert cells.tolist() == [[False, True, False], [False, False, False]]
