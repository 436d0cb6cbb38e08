"""Groups of codes: what they are of a distribution, how many there are, and that nothing but noisy counts and public facts chooses them."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from core.artifacts.counts import ReleasedCounts
from core.plan.counting_rules import FEWEST_GROUPS, MOST_GROUP_CELLS, groups_wanted
from core.plan.plan import Plan
from models.encoding import PrivateTable
from models.randomness import KeyedStreams, Purpose
from models.tables.anchor import FIRST_ROUND, SECOND_ROUND
from models.tables.code_groups import (
    GROUP_POWER,
    group_codes,
    group_counts,
    sums_of_groups,
)
from models.tables.measurement.counts import released_counts
from models.tables.measurement.measure import Measurement, measure
from models.tables.measurement.second_round import groups_of, layout_of
from tests.models.coded_tables import KEY, without_unit
from tests.models.idpgan.jobs import small_plan
from tests.privacy.seam import Recorder, distance, paid_distances

DISTRIBUTIONS = st.lists(st.one_of(st.just(0.0), st.floats(1e-6, 1.0)), min_size=1, max_size=60).map(
    lambda values: np.array(values) / sum(values) if sum(values) else np.full(len(values), 1 / len(values))
)


@given(distribution=DISTRIBUTIONS, most=st.integers(2, 20), ordered=st.booleans())
def test_groups_hold_every_code_and_are_numbered_without_a_gap(distribution, most, ordered):
    groups = group_codes(distribution, most=most, ordered=ordered)
    assert groups.shape == distribution.shape
    assert np.unique(groups).tolist() == list(range(groups.max() + 1))
    assert sums_of_groups(distribution, groups).sum() == pytest.approx(1.0)


@given(distribution=DISTRIBUTIONS, most=st.integers(2, 20), ordered=st.booleans())
def test_codes_that_are_few_enough_are_their_own_groups_and_others_never_become_many(
    distribution, most, ordered
):
    groups = group_codes(distribution, most=most, ordered=ordered)
    if len(distribution) <= most:
        assert groups.tolist() == list(range(len(distribution)))
    # Each but the last ends because it holds half a share, or because a code of a whole share is next.
    assert groups.max() + 1 <= 3 * most + 1


@given(distribution=DISTRIBUTIONS, most=st.integers(2, 20), ordered=st.booleans(), last_alone=st.booleans())
def test_codes_of_which_none_is_merged_are_their_own_groups(distribution, most, ordered, last_alone):
    """Counts state no groups of such columns, so a reader takes each code for its group."""
    alone = (0, len(distribution) - 1) if last_alone else (0,)
    groups = group_codes(distribution, most=most, ordered=ordered, alone=alone)
    if groups.max() + 1 == len(distribution):
        assert groups.tolist() == list(range(len(distribution)))


@pytest.mark.parametrize("ordered", [True, False])
def test_a_written_column_agrees_with_the_pairs_that_it_is_in(ordered):
    """Its values are as uneven as an insurer's numbers, which a draft declares as special values beside one bin."""
    rng = np.random.default_rng(5)
    distribution = np.array([0.36, 0.25, 0.14, 0.09, 0.07, 0.04, 0.03, 0.02])
    first = rng.permutation(np.repeat(np.arange(8), (distribution * 3000).astype(int)))
    table = PrivateTable(
        codes=np.column_stack([first, rng.integers(0, 3, len(first)), first % 2]).astype(np.int16),
        unit_of_record=np.arange(len(first)),
        cardinalities=(8, 3, 2),
        target_index=2,
        ordered=(ordered, False, False),
        alone=((0, 1, 2, 3, 4, 5, 6), (), ()),
    )
    plan = dataclasses.replace(small_plan(table, critic=False, epsilon=1.0), declared_size=300)
    assert plan.summed is not None
    assert not plan.summed.combinations
    counts = released_counts(measure(table, plan, KeyedStreams(KEY)), table, plan)
    assert counts is not None
    read = ReleasedCounts.from_bytes(counts.to_bytes())
    assert read.group_counts[0] == 8, "no code is merged"
    tables = {found.columns: found for found in read.tables}
    alone = tables[0,].cells * read.step
    for columns, pair in tables.items():
        if columns[0] == 0 and len(columns) > 1:
            summed = pair.cells.sum(axis=tuple(range(1, pair.cells.ndim))) * read.step
            std = math.hypot(pair.noise_std * math.sqrt(pair.cells[0].size), tables[0,].noise_std)
            assert np.abs(summed - alone).max() < 5 * std, columns


@given(distribution=DISTRIBUTIONS, most=st.integers(2, 20))
def test_groups_of_ordered_codes_are_neighbours(distribution, most):
    groups = group_codes(distribution, most=most, ordered=True)
    assert set(np.diff(groups).tolist()) <= {0, 1}


@given(distribution=DISTRIBUTIONS, most=st.integers(2, 20))
def test_groups_of_codes_without_order_are_of_like_share(distribution, most):
    groups = group_codes(distribution, most=most, ordered=False)
    if len(distribution) > most:
        ranges = sorted(
            (distribution[groups == group].min(), distribution[groups == group].max())
            for group in set(groups.tolist())
        )
        assert all(low <= high for (_, low), (high, _) in itertools.pairwise(ranges))  # fmt: skip


@given(distribution=DISTRIBUTIONS, most=st.integers(2, 20), ordered=st.booleans())
def test_a_code_with_the_weight_of_a_group_has_no_company_of_any_weight(distribution, most, ordered):
    groups = group_codes(distribution, most=most, ordered=ordered)
    weights = distribution**GROUP_POWER
    for code in np.flatnonzero(weights >= (1.0 + 1e-9) * weights.sum() / most):
        company = np.flatnonzero(groups == groups[code])
        assert distribution[company].sum() == pytest.approx(distribution[code]), (
            "a code that nobody has may stand beside it"
        )


def test_heavy_codes_stand_alone_and_light_ones_fill_groups_about_evenly():
    distribution = np.array([0.01] * 20 + [0.6] + [0.01] * 20)
    groups = group_codes(distribution, most=10, ordered=True)
    assert (groups == groups[20]).sum() == 1
    assert sums_of_groups(distribution, groups) == pytest.approx([*[0.05] * 4, 0.6, *[0.05] * 4])
    shuffled = np.random.default_rng(0).permutation(41)
    apart = group_codes(distribution[shuffled], most=10, ordered=False)
    assert sorted(sums_of_groups(distribution[shuffled], apart)) == pytest.approx([*[0.05] * 8, 0.6])


def test_rare_codes_make_more_groups_than_their_share():
    distribution = np.array([0.9, *[0.01] * 10])
    assert len(set(group_codes(distribution, most=6, ordered=True)[1:].tolist())) >= 3


@settings(max_examples=40)
@given(st.lists(st.floats(0.5, 1.5), min_size=200, max_size=300), st.integers(2, 20), st.booleans())
def test_groups_of_many_light_codes_have_near_even_weights(values, most, ordered):
    distribution = np.array(values) / sum(values)
    groups = group_codes(distribution, most=most, ordered=ordered)
    roots = np.sqrt(distribution)
    weights = sums_of_groups(roots, groups)
    assert abs(len(weights) - most) <= 2
    # A group stops within one code of its weight; only the last has what is left.
    assert (np.abs(weights[:-1] - roots.sum() / most) <= roots.max()).all()


def test_the_number_of_groups_grows_with_the_records_over_the_noise():
    def wanted(**changed):
        facts = {"size": 100_000, "noise_std": 100.0, "columns": 10, "slices": 1} | changed
        return groups_wanted(**facts)

    assert wanted() == 25  # 0.8 sqrt(1000)
    assert wanted(size=400_000) == 51
    assert wanted(noise_std=400.0) == 13
    assert wanted(size=1) == FEWEST_GROUPS
    assert wanted(size=10**12) == MOST_GROUP_CELLS // 10
    assert wanted(size=10**12, slices=16) == MOST_GROUP_CELLS // 40


def test_codes_without_an_order_get_up_to_twice_as_many_groups_where_there_are_enough():
    def wanted(size, *, ordered):
        return groups_wanted(size=size, noise_std=100.0, columns=10, slices=1, ordered=ordered)

    assert [wanted(size, ordered=True) for size in (5_000, 10_000, 22_500, 40_000, 1_000_000)] == [
        6,
        8,
        12,
        16,
        80,
    ]
    assert [wanted(size, ordered=False) for size in (5_000, 10_000, 22_500, 40_000, 1_000_000)] == [
        6,
        8,
        18,
        32,
        160,
    ]


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("slices", [1, 2, 16])
@pytest.mark.parametrize("columns", [2, 37, 500])
def test_groups_of_all_columns_fit_the_room_however_many_records_there_are(columns, slices, ordered):
    most = groups_wanted(size=10**12, noise_std=1e-3, columns=columns, slices=slices, ordered=ordered)
    assert most == FEWEST_GROUPS or slices * (columns * most) ** 2 <= MOST_GROUP_CELLS**2
    if slices == 1:
        assert columns * most <= MOST_GROUP_CELLS


def wide_table(*, units: int | None = None) -> PrivateTable:
    """Forty codes in order and ninety without one, of sixty records: a table whose groups hang on single records."""
    rng = np.random.default_rng(3)
    owner = np.arange(60) if units is None else np.sort(rng.integers(0, units, 60))
    codes = np.column_stack([rng.integers(0, size, 60) for size in (40, 2, 90)])
    return PrivateTable(
        codes=codes.astype(np.int16),
        unit_of_record=np.unique(owner, return_inverse=True)[1].astype(np.int64),
        cardinalities=(40, 2, 90),
        target_index=1,
        ordered=(True, False, False),
    )


def plan_of(table: PrivateTable) -> Plan:
    """With counts by class, in fewer groups than there are codes."""
    return dataclasses.replace(small_plan(table, critic=False, epsilon=16.0), declared_size=600)


class FirstRoundKept(Recorder):
    """Puts a recorded first round in place of the new one."""

    def __init__(self, columns: tuple[Tensor, ...]) -> None:
        super().__init__()
        self._columns = columns

    def noisy(self, purpose: int, step: int, *released: Tensor) -> None:
        if (purpose, step) == (Purpose.ANCHOR_NOISE, FIRST_ROUND):
            for each, kept in zip(released, self._columns, strict=True):
                each.copy_(kept)
        super().noisy(purpose, step, *released)


@pytest.mark.parametrize("units", [None, 20, 2], ids=["one record a unit", "three", "thirty"])
def test_neighbours_with_one_noisy_first_round_have_one_layout_and_a_second_round_within_its_sensitivity(
    units,
):
    table = wide_table(units=units)
    plan, recorder = plan_of(table), Recorder()
    counted = measure(table, plan, KeyedStreams(KEY, releases=recorder)).counted
    layout, paid = layout_of(counted.groups, table, plan), paid_distances(plan)
    assert layout.by_class
    one, other = layout.feature_cardinalities
    assert 2 <= one < 40, "codes are merged"
    assert 2 <= other < 90, "codes are merged"
    first, second = (int(Purpose.ANCHOR_NOISE), FIRST_ROUND), (int(Purpose.ANCHOR_NOISE), SECOND_ROUND)
    for unit in range(table.units):
        other, heard = without_unit(table, unit), FirstRoundKept(recorder.heard[first].noisy)
        other = dataclasses.replace(other, ordered=table.ordered)
        again = measure(other, plan, KeyedStreams(KEY, releases=heard)).counted
        for mine, theirs in zip(counted.groups, again.groups, strict=True):
            assert mine.tolist() == theirs.tolist()
        assert layout_of(again.groups, other, plan) == layout
        for name in (first, second):
            assert 0.0 < distance(heard.heard[name].exact, recorder.heard[name].exact) <= paid[name]
            assert heard.heard[name].sensitivity == recorder.heard[name].sensitivity <= paid[name]


def test_the_groups_of_a_table_hang_on_its_noisy_counts_and_on_public_facts_alone():
    table = wide_table()
    plan = plan_of(table)
    columns = measure(table, plan, KeyedStreams(KEY)).counted.columns
    groups = groups_of(columns, table, plan)
    nobody = dataclasses.replace(table, codes=table.codes[:0], unit_of_record=table.unit_of_record[:0])
    for mine, theirs in zip(groups, groups_of(columns, nobody, plan), strict=True):
        assert mine.tolist() == theirs.tolist()
    fewer = groups_of(columns, table, dataclasses.replace(plan, declared_size=120))
    assert max(group_counts(fewer)) < max(group_counts(groups)), "the declared size counts"


def test_where_several_records_of_a_unit_count_their_noisy_number_counts_and_not_that_of_units():
    table = dataclasses.replace(wide_table(units=20), record_bound=60)
    plan = plan_of(table)
    few, many = (
        [np.full(codes, records / codes) for codes in table.cardinalities] for records in (600.0, 60_000.0)
    )
    groups = group_counts(groups_of(few, table, plan))
    assert group_counts(groups_of(few, table, dataclasses.replace(plan, declared_size=120))) == groups
    assert max(group_counts(groups_of(many, table, plan))) > max(groups)
    nobody = dataclasses.replace(table, codes=table.codes[:0], unit_of_record=table.unit_of_record[:0])
    assert group_counts(groups_of(few, nobody, plan)) == groups, "not the exact number"
    single = wide_table()
    assert group_counts(groups_of(many, single, plan)) == group_counts(groups_of(few, single, plan))


def test_a_resumed_measurement_has_the_groups_of_the_first():
    table = wide_table()
    measured = measure(table, plan_of(table), KeyedStreams(KEY))
    restored = Measurement.restore(measured.tensors(), table)
    for mine, theirs in (
        (measured.counted.groups, restored.counted.groups),
        (measured.counted.columns, restored.counted.columns),
    ):
        assert [each.tolist() for each in mine] == [each.tolist() for each in theirs]
    assert restored.counted.moments.pairs.tobytes() == measured.counted.moments.pairs.tobytes()
