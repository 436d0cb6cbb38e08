"""What leaves a training is its generator, and a certificate only if what ran is what was charged."""

import logging

import pytest

from core.artifacts.errors import ExecutionDiffers
from models.idpgan.generator import make_generator
from models.idpgan.synthesizer import IdpganSynthesizer
from models.randomness import KeyedStreams, Purpose
from models.release_recorder import CertificateRecorder
from models.synthesizer import NullHost
from tests.models.coded_tables import KEY, small_table
from tests.models.idpgan.jobs import small_plan
from workers.child import CHARGED_IN_FULL, Outcome


def test_nothing_but_the_generator_leaves_a_training():
    table = small_table()
    plan = small_plan(table)
    trained = IdpganSynthesizer().fit(table, plan, KeyedStreams(KEY), NullHost())
    bare = make_generator(table, plan.options).state_dict()
    assert {name: values.shape for name, values in trained.network.state_dict().items()} == {
        name: values.shape for name, values in bare.items()
    }


def test_a_training_that_released_something_else_is_not_certified():
    table = small_table()
    plan = small_plan(table, anchor=False)
    whole, short = CertificateRecorder(plan), CertificateRecorder(plan)
    IdpganSynthesizer().fit(table, plan, KeyedStreams(KEY, releases=whole), NullHost())
    assert whole.executed().to_json()
    short.noisy(Purpose.LABEL_NOISE, 0)
    for step in range(plan.steps - 1):
        short.noisy(Purpose.GRADIENT_NOISE, step)
    with pytest.raises(ExecutionDiffers):
        short.executed()


def test_a_training_says_nothing(caplog, capfd):
    table = small_table()
    with caplog.at_level(logging.DEBUG):
        IdpganSynthesizer().fit(table, small_plan(table, anchor=False), KeyedStreams(KEY), NullHost())
    assert caplog.records == []
    assert tuple(capfd.readouterr()) == ("", "")


def test_failures_that_rows_may_cause_have_one_word():
    assert len(CHARGED_IN_FULL) == 3
    assert {outcome.public for outcome in CHARGED_IN_FULL} == {Outcome.DATA}
    assert all(outcome.public is outcome for outcome in Outcome if outcome not in CHARGED_IN_FULL)
