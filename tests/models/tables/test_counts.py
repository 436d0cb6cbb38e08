"""The counts that a training leaves for its bundle are the released moments, table by table, and nothing else."""

import dataclasses
import itertools

import numpy as np
import pytest

from core.plan.counting_rules import column_weights
from core.plan.stages import anchor_plan
from models.idpgan.synthesizer import IdpganSynthesizer
from models.synthesizer import NullHost
from models.tables.anchor import MomentLayout, noisy_columns, noisy_moments
from models.tables.code_groups import group_counts
from models.tables.estimation.targets import Counted
from models.tables.measurement.counts import count_tables
from models.tables.measurement.second_round import groups_of, layout_of
from tests.models.coded_tables import grouped, small_table, streams
from tests.models.idpgan.jobs import Killed, StubbornHost, small_plan


@pytest.mark.parametrize("by_class", [True, False])
@pytest.mark.parametrize("target", [0, 2, 3])
def test_every_table_is_the_released_one_with_its_columns_in_order(by_class, target):
    table = dataclasses.replace(small_table(), target_index=target)
    groups = tuple(
        np.arange(c) if i == target else np.arange(c) // 2 for i, c in enumerate(table.cardinalities)
    )
    layout = MomentLayout(cardinalities=group_counts(groups), target_index=target, by_class=by_class)
    anchor = anchor_plan(4, diagonal_weight=1.5, noise_multiplier=10.0)
    merged = grouped(table, groups)
    counted = Counted(
        columns=tuple(noisy_columns(table, anchor, streams())),
        groups=groups,
        moments=noisy_moments(merged, layout, anchor, streams()),
    )
    counts = count_tables(counted, layout, anchor, declared_size=400)
    sliced = {target} if by_class else set()
    expected = [
        tuple(sorted(sliced | set(chosen)))
        for size in ((1, 2) if by_class else (2,))
        for chosen in itertools.combinations([c for c in range(4) if c not in sliced], size)
    ]
    first, second = counts.tables[:4], counts.tables[4:]
    assert [one.columns for one in first] == [(0,), (1,), (2,), (3,)]
    assert sorted(one.columns for one in second) == sorted(expected)
    assert [each.tolist() for each in counts.groups] == [each.tolist() for each in groups]
    weights = column_weights(table.cardinalities, anchor)
    for rows, tables in ((table, first), (merged, second)):
        full = np.zeros(rows.cardinalities)
        np.add.at(full, tuple(rows.codes.T.astype(int)), 1)
        for one in tables:
            features = tuple(c for c in one.columns if c not in sliced)
            weight = weights[one.columns[0]] if tables is first else layout.weights[features]
            assert one.noise_std == pytest.approx(anchor.noise_std / weight)
            exact = full.sum(tuple(c for c in range(4) if c not in one.columns))
            whitened = (one.cells * counts.step - exact) / one.noise_std
            assert np.abs(whitened).max() < 6, (
                "six deviations, as noise has: the cells stand where they belong"
            )
            assert counts.step <= one.noise_std / 512


def test_a_training_leaves_the_counts_of_its_anchor():
    table, plan = small_table(), small_plan(small_table(), critic=False)
    trained = IdpganSynthesizer().fit(table, plan, streams(), NullHost())
    columns = noisy_columns(table, plan.anchor, streams())
    groups = groups_of(columns, table, plan)
    layout = layout_of(groups, table, plan)
    moments = noisy_moments(grouped(table, groups), layout, plan.anchor, streams())
    expected = count_tables(
        Counted(columns=tuple(columns), groups=groups, moments=moments),
        layout,
        plan.anchor,
        declared_size=400,
    )
    assert trained.counts.to_bytes() == expected.to_bytes()


def test_a_plan_without_an_anchor_leaves_none():
    table = small_table()
    plan = small_plan(table, anchor=False)
    assert IdpganSynthesizer().fit(table, plan, streams(), NullHost()).counts is None


@pytest.mark.parametrize("kill_at", [0, 7, 15])
def test_a_resumed_training_leaves_the_same_counts(kill_at):
    table = small_table()
    plan = small_plan(table)
    undisturbed = IdpganSynthesizer().fit(table, plan, streams(), NullHost()).counts.to_bytes()
    host = StubbornHost(kill_at=kill_at)
    with pytest.raises(Killed):
        IdpganSynthesizer().fit(table, plan, streams(), host)
    resumed = IdpganSynthesizer().fit(table, plan, streams(), StubbornHost(host.state))
    assert resumed.counts.to_bytes() == undisturbed
