import collections
import dataclasses
import itertools
import math
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from core.plan.counting_rules import TARGET_WEIGHT, column_weights, counts_by_class
from core.plan.stages import AnchorPlan, anchor_plan
from models.encoding import PrivateTable
from models.tables.anchor import (
    GRID,
    MomentLayout,
    Moments,
    exact_columns,
    exact_moments,
    noisy_columns,
    noisy_moments,
)
from tests.models.coded_tables import grouped, small_table, streams, without_unit

UNEVEN = (3, 40, 2, 5, 300)


def layout_of(table: PrivateTable, *, by_class: bool) -> MomentLayout:
    return MomentLayout(cardinalities=table.cardinalities, target_index=table.target_index, by_class=by_class)


def plan_of(columns: int, *, multiplier: float = 1.0, weight: float = 1.5) -> AnchorPlan:
    return anchor_plan(columns, diagonal_weight=weight, noise_multiplier=multiplier)


def weighted_columns(table: PrivateTable, plan: AnchorPlan) -> np.ndarray:
    """The first round in units in which every number gets the same noise."""
    weights = column_weights(table.cardinalities, plan)
    return np.concatenate([c * weight for c, weight in zip(exact_columns(table), weights, strict=True)])


def weighted_tables(moments: Moments, layout: MomentLayout) -> np.ndarray:
    """The second round in such units: upper triangle, and columns by class."""
    rows, columns = np.triu_indices(layout.cells, 1)
    pairs = (moments.pairs * layout.pair_weights)[:, rows, columns].ravel()
    ones = (moments.ones * layout.one_weights).ravel() if layout.by_class else np.zeros(0)
    return np.concatenate([pairs, ones])


def random_groups(table: PrivateTable, seed: int) -> PrivateTable:
    """The table with some codes of every column but the target merged."""
    rng = np.random.default_rng(seed)
    groups = [
        np.arange(codes) if column == table.target_index else np.unique(rng.integers(0, 3, codes), return_inverse=True)[1]
        for column, codes in enumerate(table.cardinalities)
    ]  # fmt: skip
    return grouped(table, tuple(groups))


@pytest.mark.parametrize("by_class", [True, False])
@pytest.mark.parametrize("columns", [1, 2, 3, 5])
@pytest.mark.parametrize("weight", [1.0, 1.5, 4.0])
def test_the_sensitivity_of_both_rounds_is_the_plans_whatever_the_groups(by_class, columns, weight):
    plan, cardinalities = plan_of(columns, weight=weight), UNEVEN[:columns]
    first = math.sqrt(math.fsum(column_weights(cardinalities, plan) ** 2))
    assert first <= plan.column_sensitivity
    assert first == pytest.approx(plan.column_sensitivity, rel=1e-9)
    second = MomentLayout(cardinalities=cardinalities, target_index=0, by_class=by_class).sensitivity
    assert second <= plan.table_sensitivity
    assert second == pytest.approx(plan.table_sensitivity, rel=1e-9)


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    units=st.one_of(st.none(), st.integers(1, 40)),
    by_class=st.booleans(),
    weight=st.sampled_from([1.0, 1.5, 3.0]),
)
def test_a_unit_moves_each_round_by_at_most_its_sensitivity(seed, units, by_class, weight):
    """A unit has one record where `units` is None, all sixty where it is one, and any number between."""
    table, plan = small_table(records=60, units=units, seed=seed), plan_of(4, weight=weight)
    unit = seed % table.units
    whole, other = random_groups(table, seed), random_groups(without_unit(table, unit), seed)
    layout = layout_of(whole, by_class=by_class)
    rounds = (
        (weighted_columns(table, plan) - weighted_columns(without_unit(table, unit), plan), plan.column_sensitivity),
        (
            weighted_tables(exact_moments(whole, layout), layout) - weighted_tables(exact_moments(other, layout), layout),
            plan.table_sensitivity,
        ),
    )  # fmt: skip
    for moved, bound in rounds:
        assert np.linalg.norm(moved) <= bound
        if (table.unit_of_record == unit).sum() == 1:
            assert np.linalg.norm(moved) == pytest.approx(bound, rel=1e-9), (
                "one record uses all of the sensitivity"
            )


def test_a_unit_of_equal_records_counts_like_one_record_up_to_the_grid():
    once = PrivateTable(
        codes=np.array([[1, 0]], dtype=np.int16), unit_of_record=np.zeros(1, dtype=np.int64),
        cardinalities=(2, 2), target_index=None,
    )  # fmt: skip
    thrice = PrivateTable(
        codes=np.repeat(once.codes, 3, axis=0), unit_of_record=np.zeros(3, dtype=np.int64),
        cardinalities=(2, 2), target_index=None,
    )  # fmt: skip
    layout = layout_of(once, by_class=False)
    counts = [
        [*exact_columns(table), exact_moments(table, layout).pairs] for table in (once, thrice)
    ]  # fmt: skip
    for one, three in zip(*counts, strict=True):
        assert one.any()
        assert (three <= one).all()
        assert np.abs(three - one).max() <= 3 * GRID


def test_counts_of_columns_are_those_of_a_plain_loop():
    table = small_table(records=50)
    for column, counts in enumerate(exact_columns(table)):
        expected = [
            sum(row[column] == code for row in table.codes) for code in range(table.cardinalities[column])
        ]
        assert counts.tolist() == expected  # fmt: skip


@pytest.mark.parametrize("by_class", [True, False])
def test_counts_are_those_of_a_plain_loop(by_class):
    table = small_table(records=50)
    layout = layout_of(table, by_class=by_class)
    exact = exact_moments(table, layout)
    for i, j in itertools.combinations(range(len(layout.features)), 2):
        for index in range(layout.slices):
            rows = table.codes if not by_class else table.codes[table.codes[:, 2] == index]
            counts = np.zeros((layout.feature_cardinalities[i], layout.feature_cardinalities[j]))
            for row in rows:
                counts[row[layout.features[i]], row[layout.features[j]]] += 1
            assert (exact.pairs[index, layout.blocks[i], layout.blocks[j]] == counts).all()
    assert exact.ones.sum() == (50 * len(layout.features) if by_class else 0)


def test_the_statistic_does_not_depend_on_the_order_of_records():
    table = small_table(units=70)
    order = np.random.default_rng(1).permutation(len(table.codes))
    shuffled = dataclasses.replace(
        table, codes=table.codes[order], unit_of_record=table.unit_of_record[order]
    )
    layout = layout_of(table, by_class=True)
    one, other = exact_moments(table, layout), exact_moments(shuffled, layout)
    assert one.pairs.tobytes() == other.pairs.tobytes()
    assert one.ones.tobytes() == other.ones.tobytes()
    for mine, theirs in zip(exact_columns(table), exact_columns(shuffled), strict=True):
        assert mine.tobytes() == theirs.tobytes()


def test_a_record_counts_in_the_group_of_its_code():
    table = small_table(records=50)
    groups = (np.array([1, 0, 1]), np.array([0, 0, 1, 1]), np.arange(2), np.array([2, 0, 1, 1, 2]))
    merged = grouped(table, groups)
    assert merged.cardinalities == (2, 2, 2, 3)
    for code, group in zip(table.codes.tolist(), merged.codes.tolist(), strict=True):
        assert group == [of_codes[each] for of_codes, each in zip(groups, code, strict=True)]
    assert (merged.unit_of_record == table.unit_of_record).all()
    assert merged.target_index == table.target_index


def test_the_noise_has_the_planned_deviation_on_every_column_and_table():
    """Sums of squares over the planned variance are chi-square: sixteen two-sided tests, false alarms 1e-6 together.

    Of each 1,800 numbers or more are drawn: a deviation 17 % off is 10 deviations of the sum of squares off.
    """
    table, plan, drawn = small_table(), plan_of(4, multiplier=3.0), collections.defaultdict(list)
    squares = np.array(table.cardinalities) ** (2 / 3)
    for key in range(900):
        for column, noisy in enumerate(noisy_columns(table, plan, streams(key))):
            weight = plan.column_sensitivity * math.sqrt(squares[column] / squares.sum())
            drawn["column", column].append((noisy - exact_columns(table)[column]) * weight)
    for by_class in (True, False):
        layout = layout_of(table, by_class=by_class)
        exact = exact_moments(table, layout)
        sizes = dict(zip(layout.features, layout.feature_cardinalities, strict=True))
        tables = [c for size in ((1, 2) if by_class else (2,)) for c in itertools.combinations(sizes, size)]
        shares = [
            math.sqrt(math.prod(sizes[c] for c in each)) * (TARGET_WEIGHT if not by_class and 2 in each else 1.0)
            for each in tables
        ]  # fmt: skip
        blocks = dict(zip(layout.features, layout.blocks, strict=True))
        for key in range(300):
            noisy = noisy_moments(table, layout, plan, streams(key))
            for columns, share in zip(tables, shares, strict=True):
                weight = math.sqrt(len(tables) * share / sum(shares))
                if len(columns) == 1:
                    noise = (noisy.ones - exact.ones)[:, blocks[columns[0]]]
                else:
                    noise = (noisy.pairs - exact.pairs)[:, blocks[columns[0]], blocks[columns[1]]]
                drawn[by_class, columns].append(noise.ravel() * weight)
    assert len(drawn) == 4 + 6 + 6
    for kind, parts in drawn.items():
        noise = np.concatenate(parts) / plan.noise_std
        low, high = chi2.ppf([1e-6 / 32, 1 - 1e-6 / 32], noise.size)
        assert noise.size >= 1800
        assert low <= np.square(noise).sum() <= high, kind


def test_the_release_is_symmetric_on_the_grid_replayable_and_empty_inside_the_diagonal_blocks():
    table = small_table()
    layout, plan = layout_of(table, by_class=True), plan_of(4, multiplier=2.0)
    columns, noisy = noisy_columns(table, plan, streams()), noisy_moments(table, layout, plan, streams())
    again = noisy_moments(table, layout, plan, streams())
    assert noisy.pairs.tobytes() == again.pairs.tobytes()
    for one, other in zip(columns, noisy_columns(table, plan, streams()), strict=True):
        assert one.tobytes() == other.tobytes()
    assert (noisy.pairs == noisy.pairs.transpose(0, 2, 1)).all()
    for numbers in (noisy.pairs, noisy.ones, *columns):
        assert (numbers / GRID == np.rint(numbers / GRID)).all()
    for block in layout.blocks:
        assert not noisy.pairs[:, block, block].any()


def test_an_empty_table_is_released_like_any_other():
    table = PrivateTable(
        codes=np.zeros((0, 2), dtype=np.int16), unit_of_record=np.zeros(0, dtype=np.int64),
        cardinalities=(2, 3), target_index=0,
    )  # fmt: skip
    plan = plan_of(2)
    noisy = noisy_moments(table, layout_of(table, by_class=True), plan, streams())
    assert np.isfinite(noisy.pairs).all()
    assert noisy.ones.all()
    assert [counts.all() for counts in noisy_columns(table, plan, streams())] == [True, True]


def test_a_plan_with_too_small_a_sensitivity_is_refused():
    table = small_table()
    short = dataclasses.replace(plan_of(4), table_sensitivity=1.0)
    with pytest.raises(ValueError, match="sensitivity"):
        noisy_moments(table, layout_of(table, by_class=True), short, streams())


def bounded(bound: int, *, seed: int = 0) -> PrivateTable:
    """A table whose units have one to `bound` records, each of which counts fully."""
    rng = np.random.default_rng(seed)
    owners = np.repeat(np.arange(20), rng.integers(1, bound + 1, 20))
    owners[-bound:] = owners[-1]  # one has as many as it may
    _, owners = np.unique(owners, return_inverse=True)
    table = small_table(records=len(owners), seed=seed)
    return PrivateTable(
        codes=table.codes, unit_of_record=owners.astype(np.int64), cardinalities=table.cardinalities,
        target_index=table.target_index, record_bound=int(np.bincount(owners).max()),
    )  # fmt: skip


@pytest.mark.parametrize("by_class", [True, False])
@pytest.mark.parametrize("bound", [1, 2, 7])
def test_a_unit_of_a_bounded_table_moves_the_statistic_by_at_most_so_many_records(bound, by_class):
    table = bounded(bound)
    alike = PrivateTable(
        codes=np.repeat(table.codes[:1], len(table.codes), axis=0), unit_of_record=table.unit_of_record,
        cardinalities=table.cardinalities, target_index=table.target_index, record_bound=table.record_bound,
    )  # fmt: skip
    layout, most = layout_of(table, by_class=by_class), table.record_bound
    paid = anchor_plan(4, diagonal_weight=1.5, noise_multiplier=1.0, most_records=most)
    one = plan_of(4)
    first, second = [], []
    for each in (table, alike):
        for unit in range(each.units):
            rest = without_unit(each, unit)
            first.append(np.linalg.norm(weighted_columns(each, one) - weighted_columns(rest, one)))
            tables = [weighted_tables(exact_moments(records, layout), layout) for records in (each, rest)]
            second.append(np.linalg.norm(tables[0] - tables[1]))
    for moved, bound_of_plan in ((first, paid.column_sensitivity), (second, paid.table_sensitivity)):
        assert max(moved) <= bound_of_plan
        assert max(moved) == pytest.approx(bound_of_plan, rel=1e-9)


@pytest.mark.parametrize("paid", [2, 3])
def test_a_plan_that_paid_for_fewer_records_of_a_unit_is_refused(paid):
    table = bounded(3)
    layout = layout_of(table, by_class=True)
    plan = anchor_plan(4, diagonal_weight=1.0, noise_multiplier=1.0, most_records=paid)
    with nullcontext() if paid == 3 else pytest.raises(ValueError, match="sensitivity"):
        noisy_moments(table, layout, plan, streams())
    # The weights of columns are what was paid for over the records of a unit, so the first round is never above it.
    one = column_weights(table.cardinalities, plan, most_records=table.record_bound)
    assert 3 * np.linalg.norm(one) <= plan.column_sensitivity


def test_the_layout_is_chosen_by_public_facts_alone():
    def by_class(**changed):
        facts = {
            "cardinalities": (3, 4, 2),
            "target_index": 2,
            "declared_size": 100_000,
            "noise_std": 50.0,
        } | changed
        cardinalities, target = facts.pop("cardinalities"), facts.pop("target_index")
        return counts_by_class(cardinalities, target, **facts)

    assert by_class()
    assert not by_class(target_index=None)
    assert not by_class(cardinalities=(2,), target_index=0), "nothing but the classes to count"
    assert not by_class(declared_size=21_213), "too few units for a class's counts to show above the noise"
    assert by_class(declared_size=21_214)  # 150 * 50 * 2 sqrt(2)
    assert not by_class(cardinalities=(3, 4, 17), declared_size=10**9), "too many classes"


def test_a_plan_of_before_there_were_rounds_is_refused_before_rows_are_read():
    old = AnchorPlan(noise_multiplier=1.0, sensitivity=4.0, diagonal_weight=1.5)

    class Unread:
        cardinalities, target_index, most_records = (3, 4), None, 1
        ordered, alone = (False, False), ((), ())

        def count(self, questions: object) -> list[np.ndarray]:
            raise AssertionError("rows are not to be read")

    with pytest.raises(ValueError, match="sensitivity"):
        noisy_columns(Unread(), old, streams())
