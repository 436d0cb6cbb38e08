import collections

import numpy as np
import pyarrow as pa
import pytest

from core.plan.domain.codec import decode
from core.plan.domain.schema import storage_schema
from core.plan.domain.table import TableDomain
from models.coding import coded_table
from models.counting import tally, units
from models.counting.memory import MemoryCounter
from models.counting.question import WHOLE_RECORD
from models.counting.streamed import JointCounter, StreamedCounter, count_shard
from models.counting.units import record_weights, unit_tags, weights_among
from tests.models.counting.questions import all_questions
from tests.models.counting.shards import Shards

KEY = bytes(range(32))
COLUMNS = [
    {"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 100, "bins": 5},
    {"name": "ward", "kind": "categorical", "categories": ["a", "b", "c"], "null": "category"},
    {"name": "sick", "kind": "boolean"},
]


def domain(*, with_units: bool) -> TableDomain:
    columns = [*COLUMNS, *([{"name": "patient", "kind": "unit"}] if with_units else [])]
    return TableDomain.from_json(
        {
            "schema": "understudy.domain/1",
            "target": "sick",
            "privacy_unit": "patient" if with_units else None,
            "columns": columns,
        }
    )


def rows(*, with_units: bool, records: int = 700, patients: int = 90, seed: int = 0) -> pa.RecordBatch:
    rng = np.random.default_rng(seed)
    declared = domain(with_units=with_units)
    codes = np.column_stack([rng.integers(0, codes, records) for codes in declared.cardinalities])
    values = list(decode(declared, codes.astype(np.int16), rng).columns)
    if with_units:
        owners = rng.integers(0, patients, records) ** 2 // patients  # few patients have many records
        values.append(pa.array([f"patient {owner}" for owner in owners]))
    return pa.RecordBatch.from_arrays(values, schema=storage_schema(declared))


@pytest.mark.parametrize("with_units", [False, True])
@pytest.mark.parametrize("cuts", [[], [1], [100, 100, 640]])
@pytest.mark.parametrize("at_once", [10, 10**6])
def test_a_stream_counts_what_a_table_in_memory_counts(monkeypatch, with_units, cuts, at_once):
    monkeypatch.setattr(units, "RECORDS_AT_ONCE", at_once)
    monkeypatch.setattr(tally, "USUAL_RECORDS", 64)
    declared, stored = domain(with_units=with_units), rows(with_units=with_units)
    asked = all_questions(declared.cardinalities, halved=[0])
    expected = MemoryCounter(coded_table([stored], declared)).count(asked)
    counter = StreamedCounter(Shards(stored, cuts), declared, key=KEY)
    assert (counter.cardinalities, counter.target_index, counter.most_records) == (
        declared.cardinalities,
        2,
        1,
    )
    for _round in range(2):
        for answer, wanted in zip(counter.count(asked), expected, strict=True):
            assert answer.dtype == np.int64
            np.testing.assert_array_equal(answer, wanted)


def test_shards_add_up_in_any_order():
    declared, stored = domain(with_units=False), rows(with_units=False)
    asked = all_questions(declared.cardinalities)
    shards = Shards(stored, [50, 200, 201])
    parts = [count_shard(shards.read(shard), declared, asked, None) for shard in (2, 0, 3, 1)]
    for place, wanted in enumerate(StreamedCounter(shards, declared, key=KEY).count(asked)):
        np.testing.assert_array_equal(sum(part[place] for part in parts), wanted)


@pytest.mark.parametrize("bound", [None, 3])
def test_the_counts_of_owners_add_up_and_a_unit_moves_them_by_no_more_than_those_of_one(bound):
    declared = domain(with_units=True)
    asked = all_questions(declared.cardinalities)
    owners = [rows(with_units=True, records=300, seed=seed) for seed in (1, 2)]  # with the same patients
    counters = [
        StreamedCounter(Shards(each, [100]), declared, key=bytes([place]) * len(KEY), bound=bound)
        for place, each in enumerate(owners)
    ]
    joint = JointCounter(counters)
    assert joint.most_records == (bound or 1)
    found = joint.count(asked)
    for total, *parts in zip(found, *(counter.count(asked) for counter in counters), strict=True):
        np.testing.assert_array_equal(total, sum(parts))
    patients = owners[1].column("patient").to_pylist()
    left = owners[1].filter(pa.array([patient != "patient 1" for patient in patients]))
    assert left.num_rows < owners[1].num_rows
    fewer = StreamedCounter(Shards(left, [100]), declared, key=bytes([1]) * len(KEY), bound=bound)
    for total, less in zip(found, JointCounter([counters[0], fewer]).count(asked), strict=True):
        assert 0 < np.abs(total - less).sum() <= joint.most_records * WHOLE_RECORD


@pytest.mark.parametrize("bound", [1, 3, 10**6])
def test_a_bound_lets_so_many_records_of_a_unit_count_fully(bound):
    stored = rows(with_units=True)
    patients = stored.column(3).to_pylist()
    weights = np.concatenate(record_weights(Shards(stored, [10, 300]), "patient", key=KEY, bound=bound))
    assert set(weights.tolist()) <= {0, WHOLE_RECORD}
    held = collections.Counter(patients)
    kept = collections.Counter(
        patient for patient, weight in zip(patients, weights.tolist(), strict=True) if weight
    )
    assert kept == {patient: min(count, bound) for patient, count in held.items()}


def test_which_records_count_depends_on_no_other_unit_and_no_value():
    stored = rows(with_units=True)
    patients = np.array(stored.column(3).to_pylist())
    rest = patients != "patient 0"
    whole = np.concatenate(record_weights(Shards(stored, [30]), "patient", key=KEY, bound=2))
    alone = np.concatenate(
        record_weights(Shards(stored.filter(pa.array(rest)), [7, 9]), "patient", key=KEY, bound=2)
    )
    np.testing.assert_array_equal(whole[rest], alone)


def test_every_record_of_a_unit_is_as_likely_to_count():
    """32,000 units of five records, two of which count: each place is taken in 40 % of them, within 5.5 standard errors."""
    names = pa.array(np.repeat([f"u{number}" for number in range(32_000)], 5))
    weights = weights_among(unit_tags(names, KEY), 2).reshape(-1, 5) / WHOLE_RECORD
    assert (weights.sum(axis=1) == 2).all()
    np.testing.assert_allclose(weights.mean(axis=0), 0.4, atol=5.5 * np.sqrt(0.24 / 32_000))
    pairs = weights.T @ weights / len(weights)
    np.testing.assert_allclose(pairs[~np.eye(5, dtype=bool)], 0.1, atol=5.5 * np.sqrt(0.09 / 32_000))


def test_another_job_takes_other_records():
    names = pa.array(np.repeat([f"u{number}" for number in range(50)], 9))
    assert (weights_among(unit_tags(names, KEY), 1) != weights_among(unit_tags(names, bytes(32)), 1)).any()
