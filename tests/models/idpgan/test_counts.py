"""The counts that a training leaves for its bundle are the released moments, table by table, and nothing else."""

import itertools

import numpy as np
import pytest

from core.synthesis.stages import AnchorPlan
from models.anchor import MomentLayout, moment_layout, noisy_moments
from models.idpgan.counts import count_tables
from models.idpgan.synthesizer import IdpganSynthesizer
from models.synthesizer import NullHost
from tests.models.idpgan.jobs import Killed, StubbornHost, small_plan
from tests.models.tables import small_table, streams


@pytest.mark.parametrize("by_class", [True, False])
@pytest.mark.parametrize("target", [0, 2, 3])
def test_every_table_is_the_released_one_with_its_columns_in_order(by_class, target):
    table = small_table()
    layout = MomentLayout(cardinalities=table.cardinalities, target_index=target, by_class=by_class)
    anchor = AnchorPlan(noise_multiplier=0.5, sensitivity=100.0, diagonal_weight=1.5)
    moments = noisy_moments(table, layout, anchor, streams())
    counts = count_tables(moments, layout, anchor, declared_size=400)
    columns = range(4)
    sliced = {target} if by_class else set()
    sizes = (0, 1, 2) if by_class else (1, 2)
    expected = {
        tuple(sorted(sliced | set(chosen)))
        for size in sizes
        for chosen in itertools.combinations([c for c in columns if c not in sliced], size)
    }
    assert {one.columns for one in counts.tables} == expected
    assert len(counts.tables) == len(expected)
    full = np.zeros(table.cardinalities)
    np.add.at(full, tuple(table.codes.T.astype(int)), 1)
    stds = {0: 50 / 1.5, 1: 50 / np.sqrt(1.5**2 + 1), 2: 50.0} if by_class else {1: 50 / 1.5, 2: 50.0}
    for one in counts.tables:
        std = stds[len(one.columns) - len(sliced)]
        if not by_class and len(one.columns) == 2:
            std /= layout.pair_weight(*one.columns)
        assert one.noise_std == pytest.approx(std)
        exact = full.sum(tuple(c for c in columns if c not in one.columns))
        whitened = (one.cells * counts.step - exact) / std
        assert np.abs(whitened).max() < 6, "six deviations, as noise has: the cells stand where they belong"
        assert counts.step <= std / 512


def test_a_training_leaves_the_counts_of_its_anchor():
    table, plan = small_table(), small_plan(small_table(), critic=False)
    trained = IdpganSynthesizer().fit(table, plan, streams(), NullHost())
    layout = moment_layout(
        table.cardinalities, table.target_index, declared_size=400, noise_std=plan.anchor.noise_std
    )
    moments = noisy_moments(table, layout, plan.anchor, streams())
    expected = count_tables(moments, layout, plan.anchor, declared_size=400)
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
