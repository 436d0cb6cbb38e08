"""The one-run instrument: its bound is valid, it sees what is there, and a full job's canaries are read as designed."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from models.encoding import PrivateTable
from models.idpgan.training import Training
from models.randomness import KeyedStreams
from models.synthesizer import NullHost
from tests.audits.full_job import Canaries, Insider, run
from tests.audits.jobs import CARDINALITIES, tiny_plan
from tests.audits.one_run import audit, ceiling, epsilon_lower, p_value


def test_the_ceiling_is_what_a_thousand_right_guesses_prove():
    """(e^x / (1 + e^x))^1000 = 0.05 at x = 5.809."""
    assert ceiling(delta=0.0, canaries=1000, confidence=0.95) == pytest.approx(5.809, abs=0.001)
    assert ceiling(delta=1e-6, canaries=1000, confidence=0.95) < 5.809


def test_without_delta_the_p_value_is_a_binomial_tail():
    found = p_value(epsilon=1.0, delta=0.0, canaries=500, guesses=100, right=80)
    assert found == pytest.approx(stats.binom.sf(79, 100, np.e / (1 + np.e)))
    assert p_value(epsilon=1.0, delta=1e-3, canaries=500, guesses=100, right=80) > found


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_randomised_response_is_measured_and_never_overstated(epsilon):
    """A sound mechanism of exactly that epsilon; over seeds the bound lies above with probability 1e-6."""
    rng = np.random.default_rng(4)
    included = rng.random(1000) < 0.5
    truthful = rng.random(1000) < np.exp(epsilon) / (1 + np.exp(epsilon))
    sureness = np.where(included == truthful, 1.0, -1.0)
    (found,) = audit(sureness, included, delta=0.0, confidence=1 - 1e-6, shares=(1.0,))
    assert 0.2 * epsilon < found.epsilon <= epsilon


def test_guessing_at_random_proves_nothing():
    assert epsilon_lower(delta=0.0, canaries=1000, guesses=1000, right=500, confidence=0.95) == 0.0


def test_several_shares_are_paid_for():
    included = np.ones(100, dtype=bool)
    alone = audit(np.ones(100), included, delta=0.0, confidence=0.95, shares=(1.0,))
    among = audit(np.ones(100), included, delta=0.0, confidence=0.95, shares=(0.5, 1.0))
    assert among[-1].epsilon < alone[-1].epsilon


@pytest.mark.parametrize("anchor", [True, False], ids=["anchor-and-critic", "critic-alone"])
def test_an_insider_reads_the_canaries_of_a_job_that_lost_its_noise(anchor):
    """Nine guesses in ten are right by counts and gradients, where chance gives one in two (3e-3 for 12 of 12)."""
    rng = np.random.default_rng(0)
    crowd = np.column_stack([rng.integers(0, size - 1, 40) for size in CARDINALITIES]).astype(np.int16)
    others = PrivateTable(
        codes=crowd, unit_of_record=np.arange(40), cardinalities=CARDINALITIES, target_index=None
    )
    plan = tiny_plan(
        epsilon=28.0, size=52, steps=2, anchor=anchor, **({"pretraining_steps": 1} if anchor else {})
    )
    quiet = tuple(replace(block, noise_multiplier=1e-2) for block in plan.blocks)
    plan = replace(plan, blocks=quiet, anchor=plan.anchor and replace(plan.anchor, noise_multiplier=1e-2))
    canaries = Canaries(
        codes=np.array([(2, 2, 1), (2, 0, 1), (0, 2, 1), (2, 1, 0)], dtype=np.int16),
        included=np.array([True, False, True, False]),
        others=others,
    )
    sureness = run(canaries, plan, bytes(32), every=1, make_streams=KeyedStreams)
    assert ((sureness > 0) == canaries.included).all()


@pytest.mark.parametrize(
    ("target", "screening", "combinations"),
    [(None, 0.0, True), (None, 0.0, False), (2, 0.0, False), (None, 0.25, False)],
    ids=["combinations", "pairs", "by class", "chosen pairs"],
)
def test_an_insider_reads_all_that_both_rounds_of_counts_say(target, screening, combinations):
    """A canary's information is the squared mu of both rounds, and with hardly any noise its coin is what the counts say."""
    rng = np.random.default_rng(0)
    others = PrivateTable(
        codes=np.column_stack([rng.integers(0, size, 40) for size in CARDINALITIES]).astype(np.int16),
        unit_of_record=np.arange(40), cardinalities=CARDINALITIES, target_index=target,
    )  # fmt: skip
    options = {"critic": False, "pretraining_steps": 1, "anchor_screening_share": screening}
    plan = tiny_plan(epsilon=28.0, size=200, target=target, **options)
    plan = replace(plan, anchor=replace(plan.anchor, noise_multiplier=1e-3, combinations=combinations))
    canaries = Canaries(
        codes=np.array([(2, 2, 1), (2, 0, 1), (0, 2, 1), (2, 1, 0)], dtype=np.int16),
        included=np.array([True, False, True, False]),
        others=others,
    )
    insider = Insider(canaries, plan, KeyedStreams(bytes(32)), every=1)
    Training(canaries.table(), plan, KeyedStreams(bytes(32), releases=insider), NullHost()).run()
    rounds = 1 - screening
    assert np.diag(insider.information) == pytest.approx(
        np.full(4, rounds * plan.anchor.noise_multiplier**-2)
    )
    found = np.linalg.solve(insider.information, insider.score)
    assert found == pytest.approx(canaries.included.astype(float), abs=0.02)
