import collections

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.counting import tally
from models.counting.memory import MemoryCounter
from models.counting.question import WHOLE_RECORD, CountQuestion
from models.encoding import PrivateTable
from models.tables.anchor import GRID, MomentLayout, exact_columns, exact_moments
from tests.models.coded_tables import small_table, without_unit
from tests.models.counting.questions import all_questions, counted_slowly, question


def weights_of(table: PrivateTable) -> list[int]:
    """What every record counts: an equal part of its unit, rounded down to the grid."""
    records = collections.Counter(table.unit_of_record.tolist())
    return [2**20 // records[unit] for unit in table.unit_of_record.tolist()]


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    units=st.one_of(st.none(), st.integers(1, 40)),
    halved=st.sets(st.integers(0, 3)),
)
def test_counts_are_the_sums_of_the_records_weights(seed, units, halved):
    table = small_table(records=60, units=units, seed=seed)
    asked = all_questions(table.cardinalities, halved=halved)
    for one, answer in zip(asked, MemoryCounter(table).count(asked), strict=True):
        assert answer.dtype == np.int64
        assert answer.shape == one.shape
        np.testing.assert_array_equal(answer, counted_slowly(one, table.codes, weights_of(table)))


@pytest.mark.parametrize("units", [None, 70])
def test_counts_are_the_anchors_moments(units):
    table = small_table(records=500, units=units)
    layout = MomentLayout(cardinalities=table.cardinalities, target_index=table.target_index, by_class=False)
    moments, columns = exact_moments(table, layout), exact_columns(table)
    asked = [one for one in all_questions(table.cardinalities) if len(one.columns) < 3]
    for one, answer in zip(asked, MemoryCounter(table).count(asked), strict=True):
        blocks = [layout.blocks[column] for column in one.columns]
        expected = columns[one.columns[0]] if len(blocks) == 1 else moments.pairs[0, blocks[0], blocks[1]]
        np.testing.assert_array_equal(answer * GRID, expected)


def test_batches_change_nothing(monkeypatch):
    table = small_table(records=400, units=90)
    asked = all_questions(table.cardinalities, halved=[1])
    whole = MemoryCounter(table).count(asked)
    monkeypatch.setattr(tally, "USUAL_RECORDS", 7)
    monkeypatch.setattr(tally, "MOST_RECORDS", 7)
    for one, other in zip(whole, MemoryCounter(table).count(asked), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_unit_counts_as_one_record_at_most():
    table = small_table(records=300, units=40)
    asked = all_questions(table.cardinalities)
    whole = MemoryCounter(table).count(asked)
    for unit in range(table.units):
        rest = MemoryCounter(without_unit(table, unit)).count(asked)
        for one, other in zip(whole, rest, strict=True):
            moved = (one - other).astype(np.float64)
            assert (moved >= 0).all()
            assert 0 < moved.sum() <= WHOLE_RECORD


def test_equal_groupings_are_one_and_different_ones_are_kept_apart():
    table = small_table(records=200)
    asked = [
        question(table.cardinalities, 1, groups={1: [0, 0, 1, 1]}),
        question(table.cardinalities, 1, groups={1: [0, 0, 1, 1]}),
        question(table.cardinalities, 1, groups={1: [1, 0, 0, 0]}),
        question(table.cardinalities, 1),
    ]
    first, again, other, codes = MemoryCounter(table).count(asked)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first, [codes[:2].sum(), codes[2:].sum()])
    np.testing.assert_array_equal(other, [codes[1:].sum(), codes[0]])


def test_tables_wider_than_32_bits_of_codes_are_counted():
    cardinalities = (30000, 30000)
    table = PrivateTable(
        codes=np.array([[29999, 29999], [0, 29999], [29999, 29999]], np.int16), unit_of_record=np.arange(3),
        cardinalities=cardinalities, target_index=None,
    )  # fmt: skip
    groups = np.arange(30000, dtype=np.int32) // 10000
    (answer,) = MemoryCounter(table).count(
        [CountQuestion(columns=(0, 1), groups=(groups, groups), cardinalities=cardinalities)]
    )
    expected = np.zeros((3, 3), np.int64)
    expected[2, 2], expected[0, 2] = 2 * WHOLE_RECORD, WHOLE_RECORD
    np.testing.assert_array_equal(answer, expected)


def test_no_records_count_nothing():
    table = PrivateTable(
        codes=np.empty((0, 2), np.int16), unit_of_record=np.empty(0, np.int64),
        cardinalities=(2, 3), target_index=None,
    )  # fmt: skip
    (answer,) = MemoryCounter(table).count([question(table.cardinalities, 0, 1)])
    np.testing.assert_array_equal(answer, np.zeros((2, 3)))


@pytest.mark.parametrize(
    ("columns", "groups"),
    [
        ((), ()),
        (tuple(range(17)), (None,) * 17),
        ((1, 0), (None, None)),
        ((1, 1), (None, None)),
        ((0,), (np.array([0], np.int32),)),
        ((0,), (np.array([-1, 0, 0], np.int32),)),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(columns, groups):
    with pytest.raises(AssertionError):
        CountQuestion(columns=columns, groups=groups, cardinalities=(3,) * len(columns))
