"""Counts of earlier releases, combined with a job's own: weighted by precision, with the noise that is stated, and public."""

import dataclasses
import hashlib

import numpy as np
import pytest
from scipy.stats import chi2

from core.artifacts.counts import ReleasedCounts
from core.plan.plan import Plan
from core.plan.reuse_rules import EarlierCounts, with_reuse
from models.encoding import PrivateTable
from models.idpgan.synthesizer import IdpganSynthesizer
from models.randomness import KeyedStreams, Purpose
from models.synthesizer import NullHost
from models.tables.anchor import FIRST_ROUND, SCREENING, SECOND_ROUND, exact_columns, exact_moments
from models.tables.measurement.counts import released_counts
from models.tables.measurement.measure import measure
from models.tables.measurement.reuse import require_usable
from models.tables.measurement.second_round import layout_of
from tests.models.coded_tables import KEY, small_table, streams, without_unit
from tests.models.idpgan.jobs import Killed, StubbornHost, generator_bytes, small_plan
from tests.models.tables import test_screening as screened
from tests.models.tables.test_grouping import wide_table
from tests.privacy.seam import Recorder, distance, paid_distances

TABLE = small_table()


def plan_of(table=TABLE, *, epsilon=2.0, declared_size=400, **options) -> Plan:
    made = small_plan(table, epsilon=epsilon, **{"critic": False} | options)
    return dataclasses.replace(made, declared_size=declared_size)


def counts_of(table, plan, number, earlier=()) -> ReleasedCounts:
    counts = released_counts(measure(table, plan, streams(number), earlier=earlier), table, plan)
    assert counts is not None
    return counts


def reusing(table, plan, *earlier: tuple[Plan, ReleasedCounts]) -> Plan:
    """The plan that takes these over."""
    left = [
        EarlierCounts(
            release_id=f"00000000-0000-4000-8000-{number:012d}",
            plan=one,
            counts_sha256=hashlib.sha256(counts.to_bytes()).hexdigest(),
        )
        for number, (one, counts) in enumerate(earlier)
    ]
    return with_reuse(plan, left, table)


def few_combinations() -> PrivateTable:
    """A table of which all combinations of codes are counted."""
    rng = np.random.default_rng(3)
    return PrivateTable(
        codes=rng.integers(0, 2, (400, 4)).astype(np.int16),
        unit_of_record=np.arange(400),
        cardinalities=(2, 2, 2, 2),
        target_index=3,
    )


@pytest.mark.parametrize(
    "table",
    [TABLE, small_table(target=False), few_combinations()],
    ids=["target", "none", "few combinations"],
)
def test_every_cell_is_the_mean_weighted_by_precision(table):
    first, second = (
        plan_of(table, epsilon=one, declared_size=4000) for one in (9.0, 7.0)
    )  # no codes are merged
    before, alone = counts_of(table, first, 1), counts_of(table, second, 2)
    plan = reusing(table, second, (first, before))
    require_usable(plan, [before], cardinalities=table.cardinalities, target_index=table.target_index)
    together = counts_of(table, plan, 2, earlier=[before])
    assert [one.columns for one in together.tables] == [one.columns for one in alone.tables]
    for one, old, new in zip(together.tables, before.tables, alone.tables, strict=True):
        precisions = old.noise_std**-2, new.noise_std**-2
        assert one.noise_std**-2 == pytest.approx(sum(precisions))
        mean = (old.cells * before.step * precisions[0] + new.cells * alone.step * precisions[1]) / sum(
            precisions
        )
        assert one.cells * together.step == pytest.approx(mean, abs=2 * alone.step)


def test_pairs_are_not_combined_with_combinations_of_codes():
    table = few_combinations()
    own = plan_of(table)
    assert own.anchor.combinations
    pairs = dataclasses.replace(own, anchor=dataclasses.replace(own.anchor, combinations=False))
    for first, second in ((pairs, own), (own, pairs)):
        before = counts_of(table, first, 1)
        plan = reusing(table, second, (first, before))
        assert [one.tables for one in plan.reused] == [None], "columns alone"
        require_usable(plan, [before], cardinalities=table.cardinalities, target_index=table.target_index)
        together = counts_of(table, plan, 2, earlier=[before])
        alone = counts_of(table, second, 2)
        assert [one.columns for one in together.tables] == [one.columns for one in alone.tables]
        assert together.tables[0].noise_std < alone.tables[0].noise_std
        assert together.tables[-1].noise_std == pytest.approx(alone.tables[-1].noise_std)


def test_the_stated_noise_is_that_of_the_combined_counts():
    """False alarm: 1e-6 for each of two sides."""
    first, second = plan_of(epsilon=1.0), plan_of(epsilon=0.5)
    whitened: list[np.ndarray] = []
    for number in range(60):
        before = counts_of(TABLE, first, 2 * number)
        plan = reusing(TABLE, second, (first, before))
        found = measure(TABLE, plan, streams(2 * number + 1), earlier=[before]).counted
        assert found is not None
        layout = layout_of(found.groups, TABLE, plan)
        exact = exact_moments(TABLE, layout, groups=found.groups)
        tables = {one.columns: one for one in counts_of(TABLE, plan, 2 * number + 1, [before]).tables}
        for place, (noisy, true) in enumerate(zip(found.columns, exact_columns(TABLE), strict=True)):
            whitened.append((noisy - true) / tables[place,].noise_std)
        known = plan.known
        assert known is not None
        upper = np.triu((found.moments.pairs - exact.pairs) * layout.pair_weights / known.noise_std, 1)
        whitened.append(upper[upper != 0])
    values = np.concatenate([each.ravel() for each in whitened])
    assert chi2.ppf(1e-6, len(values)) < (values**2).sum() < chi2.isf(1e-6, len(values))


def test_the_groups_of_earlier_pairs_are_kept_and_other_groups_give_columns_alone():
    table = wide_table()
    first = plan_of(table, epsilon=8.0, declared_size=600)
    before = counts_of(table, first, 1)
    plan = reusing(table, first, (first, before))
    counted = measure(table, plan, streams(2), earlier=[before]).counted
    assert counted is not None
    assert [each.tolist() for each in counted.groups] == [each.tolist() for each in before.groups]
    other = counts_of(table, first, 3)
    assert [each.tolist() for each in other.groups] != [each.tolist() for each in before.groups]
    plan = reusing(table, first, (first, before), (first, other))
    assert [one.tables is None for one in plan.reused] == [False, True]
    require_usable(plan, [before, other], cardinalities=table.cardinalities, target_index=1)
    both = counts_of(table, plan, 2, earlier=[before, other])
    own = counts_of(table, reusing(table, first, (first, before)), 2, earlier=[before])
    assert both.tables[0].noise_std == pytest.approx(own.tables[0].noise_std * (2 / 3) ** 0.5)
    assert both.tables[-1].noise_std == own.tables[-1].noise_std


@pytest.mark.parametrize("units", [None, 20], ids=["one record a unit", "three"])
def test_neighbours_with_the_same_earlier_counts_have_one_layout_and_the_sensitivity_that_was_paid(units):
    table = wide_table(units=units)
    first = plan_of(table, epsilon=8.0, declared_size=600)
    before = counts_of(table, first, 1)
    plan, recorder = reusing(table, first, (first, before)), Recorder()
    counted = measure(table, plan, KeyedStreams(KEY, releases=recorder), earlier=[before]).counted
    assert counted is not None
    layout, paid = layout_of(counted.groups, table, plan), paid_distances(plan)
    assert paid == paid_distances(first), "what is taken over costs nothing"
    for unit in range(0, table.units, 7):
        other, heard = without_unit(table, unit), Recorder()
        other = dataclasses.replace(other, ordered=table.ordered)
        again = measure(other, plan, KeyedStreams(KEY, releases=heard), earlier=[before]).counted
        assert again is not None
        assert layout_of(again.groups, other, plan) == layout
        for place in (FIRST_ROUND, SECOND_ROUND):
            name = (int(Purpose.ANCHOR_NOISE), place)
            assert 0.0 < distance(heard.heard[name].exact, recorder.heard[name].exact) <= paid[name]
            assert heard.heard[name].sensitivity == recorder.heard[name].sensitivity <= paid[name]


def test_pairs_that_a_screening_chose_are_counted_again_and_no_others():
    table = screened.table_of()
    first = screened.plan_of(table)
    found = measure(table, first, streams(1)).counted
    before = counts_of(table, first, 1)
    assert found is not None
    assert found.pairs is not None
    assert 0 < len(found.pairs) < 15, "some of those beside the target"
    plan, recorder = reusing(table, screened.plan_of(table, epsilon=0.5), (first, before)), Recorder()
    require_usable(plan, [before], cardinalities=table.cardinalities, target_index=table.target_index)
    keyed = KeyedStreams(KEY, releases=recorder)
    again = measure(table, plan, keyed, earlier=[before]).counted
    assert again is not None
    assert again.pairs == found.pairs
    assert {place for _purpose, place in recorder.heard} == {FIRST_ROUND, SECOND_ROUND}, "no screening"
    assert (int(Purpose.ANCHOR_NOISE), SCREENING) not in paid_distances(plan)
    spent = recorder.heard[int(Purpose.ANCHOR_NOISE), SECOND_ROUND].sensitivity
    assert spent == pytest.approx(paid_distances(plan)[int(Purpose.ANCHOR_NOISE), SECOND_ROUND], rel=1e-9)
    own = counts_of(table, dataclasses.replace(plan, reused=()), 2)
    together = counts_of(table, plan, 2, earlier=[before])
    assert len(own.tables) == 7 + 21
    assert {one.columns for one in together.tables} == {one.columns for one in before.tables}


@pytest.mark.parametrize("epsilon", [0.7, 6.0], ids=["all together", "by class"])
def test_the_stated_noise_of_screened_pairs_is_that_of_the_combined_counts(epsilon):
    """False alarm: 1e-6 for each of two sides."""
    table = screened.table_of()
    first, whitened = screened.plan_of(table, epsilon=epsilon, anchor_screening_share=0.08), []
    for number in range(12):
        before = counts_of(table, first, 2 * number)
        plan = reusing(table, screened.plan_of(table, epsilon=epsilon / 2), (first, before))
        assert plan.kept_groups is not None
        assert plan.kept_groups.by_class is (epsilon > 1)
        found = measure(table, plan, streams(2 * number + 1), earlier=[before]).counted
        assert found is not None
        layout = layout_of(found.groups, table, plan, pairs=found.pairs)
        exact, known = exact_moments(table, layout, groups=found.groups), plan.known
        assert known is not None
        upper = np.triu((found.moments.pairs - exact.pairs) * layout.pair_weights / known.noise_std, 1)
        assert np.count_nonzero(upper) == layout.slices * np.count_nonzero(np.triu(layout.counted, 1))
        whitened.append(upper[upper != 0])
    values = np.concatenate(whitened)
    assert chi2.ppf(1e-6, len(values)) < (values**2).sum() < chi2.isf(1e-6, len(values))


def test_screened_counts_that_lack_a_pair_with_the_target_are_refused():
    table = screened.table_of()
    first = screened.plan_of(table)
    before = counts_of(table, first, 1)
    plan = reusing(table, first, (first, before))
    less = dataclasses.replace(before, tables=tuple(one for one in before.tables if one.columns != (0, 6)))
    assert len(less.tables) == len(before.tables) - 1
    with pytest.raises(ValueError, match="lack a table"):
        require_usable(plan, [less], cardinalities=table.cardinalities, target_index=6)


@pytest.mark.parametrize("options", [{}, {"generator": "mixture"}], ids=["network", "mixture"])
def test_a_job_that_was_killed_leaves_the_same_bytes(options):
    first = plan_of(epsilon=1.0)
    before = counts_of(TABLE, first, 1)
    plan = reusing(TABLE, plan_of(epsilon=1.0, **options), (first, before))

    def fit(host):
        return IdpganSynthesizer(earlier=[before]).fit(TABLE, plan, streams(2), host)

    whole = generator_bytes(fit(NullHost()))
    host = StubbornHost(kill_at=3)
    with pytest.raises(Killed):
        fit(host)
    assert generator_bytes(fit(StubbornHost(host.state))) == whole
    alone = IdpganSynthesizer().fit(TABLE, dataclasses.replace(plan, reused=()), streams(2), NullHost())
    assert generator_bytes(alone) != whole


@pytest.mark.parametrize("place", [0, -1], ids=["column", "pair"])
def test_counts_that_are_less_precise_than_the_plan_says_are_refused(place):
    """As those would be of a version of the software that shares noise out otherwise."""
    first = plan_of(epsilon=8.0)
    before = counts_of(TABLE, first, 1)
    plan = reusing(TABLE, first, (first, before))
    facts = {"cardinalities": TABLE.cardinalities, "target_index": TABLE.target_index}
    require_usable(plan, [before], **facts)
    tables = list(before.tables)
    tables[place] = dataclasses.replace(tables[place], noise_std=1.01 * tables[place].noise_std)
    with pytest.raises(ValueError, match="another precision"):
        require_usable(plan, [dataclasses.replace(before, tables=tuple(tables))], **facts)


def test_counts_that_are_not_those_of_the_plan_are_refused():
    first = plan_of(epsilon=8.0)
    before = counts_of(TABLE, first, 1)
    plan = reusing(TABLE, first, (first, before))
    facts = {"cardinalities": TABLE.cardinalities, "target_index": TABLE.target_index}
    for earlier, why in (
        ([], "not as many"),
        ([before, before], "not as many"),
        ([dataclasses.replace(before, tables=before.tables[:-1])], "lack a table"),
        ([dataclasses.replace(before, tables=before.tables[1:])], "other columns"),
        ([dataclasses.replace(before, cardinalities=(3, 4, 2, 6))], "other columns"),
    ):
        with pytest.raises(ValueError, match=why):
            require_usable(plan, earlier, **facts)
    merged = tuple(
        groups if place == 2 else np.maximum(groups - 1, 0) for place, groups in enumerate(before.groups)
    )
    twice = reusing(TABLE, first, (first, before), (first, before))
    with pytest.raises(ValueError, match="different groups"):
        require_usable(twice, [before, dataclasses.replace(before, groups=merged)], **facts)
