"""Workers, cancels and upkeep against each other, with real connections."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from core.dp.filters import admit
from core.errors import UnderstudyError
from core.jobs.errors import LeaseLost
from core.jobs.leases import Claim
from core.jobs.states import ENDED, Cause
from core.ledger import ledger_queries
from core.ledger.reservation import EntryKind, fold_into
from tests.core.jobs.support import STEPS, cost, plan

EXPECTED_STATE = {
    "queued": {EntryKind.RESERVED, EntryKind.SPENT},
    "running": {EntryKind.SPENT},
    "succeeded": {EntryKind.SPENT},
    "failed": {EntryKind.SPENT, EntryKind.SETTLED},
    "cancelled": {EntryKind.VOIDED, EntryKind.SETTLED},
}


def at_once(*tasks):
    gate = threading.Barrier(len(tasks))

    def run(task):
        gate.wait()
        try:
            return task()
        except UnderstudyError as error:
            return error

    with ThreadPoolExecutor(len(tasks)) as pool:
        return list(pool.map(run, tasks))


def test_a_message_delivered_many_times_is_claimed_once(desk):
    job_id = desk.order()
    outcomes = at_once(*[lambda: desk.claim(job_id)] * 20)
    assert sum(isinstance(outcome, Claim) for outcome in outcomes) == 1
    assert desk.job(job_id).fence == 1
    assert desk.spends(job_id) == 1


def test_a_silent_worker_is_replaced_once(desk):
    job_id = desk.order()
    zombie = desk.claimed(job_id)
    desk.lease_runs_out()
    outcomes = at_once(*[lambda: desk.claim(job_id)] * 20)
    (claim,) = [outcome for outcome in outcomes if isinstance(outcome, Claim)]
    assert claim.fence == zombie.fence + 1
    assert desk.spends(job_id) == 1


@pytest.mark.parametrize("_round", range(5))
def test_a_cancel_meets_a_claim(desk, _round):
    job_id = desk.order()
    claim, state = at_once(lambda: desk.claim(job_id), lambda: desk.cancel(job_id))
    if claim is None:
        assert state == "cancelled"
        assert desk.reservation(job_id).state is EntryKind.VOIDED
    else:
        assert state == "running"
        assert desk.reservation(job_id).state is EntryKind.SPENT
        desk.stop(claim)
        assert desk.reservation(job_id).state is EntryKind.SETTLED


@pytest.mark.parametrize("_round", range(5))
def test_a_mark_meets_a_takeover_and_is_either_charged_or_refused(desk, _round):
    job_id = desk.order()
    zombie = desk.claimed(job_id)
    desk.advance(zombie, "train", 5)
    desk.lease_runs_out()
    marked, _ = at_once(lambda: desk.advance(zombie, "train", 15), lambda: desk.cancel(job_id))
    charged = desk.reservation(job_id).in_force
    assert charged == cost(plan(), 5 if isinstance(marked, LeaseLost) else 15)


def test_two_workers_cannot_both_publish(desk):
    job_id = desk.order()
    zombie = desk.claimed(job_id)
    desk.lease_runs_out()
    heir = desk.claimed(job_id)
    outcomes = at_once(*[lambda claim=claim: desk.finish(claim) for claim in (zombie, heir, zombie, heir)])
    assert sum(isinstance(outcome, LeaseLost) for outcome in outcomes) == 3


def test_two_upkeeps_send_a_lost_message_once(desk):
    jobs = {desk.order(plan(0.25)) for _ in range(6)}
    desk.clock.advance(seconds=61)
    sent = [job for batch in at_once(*[desk.overdue] * 4) for job in batch]
    assert sorted(sent) == sorted(jobs)


def walk(desk, jobs, seed):
    """One participant: random words about random jobs; returns the codes of the errors it met."""
    rng = np.random.default_rng(seed)
    held, met = [], set()
    for _ in range(12):
        job_id = jobs[rng.integers(len(jobs))]
        try:
            match rng.integers(7):
                case 0:
                    jobs.append(desk.order(plan(0.25)))
                case 1:
                    desk.cancel(job_id)
                case 2 if held:
                    desk.advance(held[-1], "train", int(rng.integers(STEPS + 1)))
                case 3 if held:
                    desk.fail(held.pop(), cause=list(Cause)[rng.integers(len(Cause))])
                case 4 if held:
                    claim = held.pop()
                    desk.stop(claim) if desk.heartbeat(claim) else desk.finish(claim)
                case 5 if rng.random() < 0.3:
                    desk.lease_runs_out()
                case _:
                    claim = desk.claim(job_id)
                    held.extend([claim] if claim else [])
        except UnderstudyError as error:
            met.add(error.code)
    return met


@pytest.mark.parametrize("seed", range(3))
def test_random_walks_keep_every_promise(desk, seed):
    jobs = [desk.order(plan(0.25)) for _ in range(3)]
    met = at_once(*[lambda walker=walker: walk(desk, jobs, [seed, walker]) for walker in range(8)])
    assert set().union(*met) <= {"budget-refused", "lease-lost", "job-ended", "not-cancelled"}
    shown = desk.statement()
    with desk.database.read_only() as session:
        assert ledger_queries.verify_chain(session, desk.population).intact
    reservations = {}
    for entry in shown.movements:
        fold_into(reservations, entry.movement)
        assert admit(shown.summary.cap, [each.in_force for each in reservations.values()]).admitted
    assert set(reservations) == set(jobs)
    for job_id in jobs:
        job = desk.job(job_id)
        assert reservations[job_id].state in EXPECTED_STATE[job.state]
        assert (job.sealed_randomness_key is None) == (job.state in ENDED)
        if job.fence > 0 and job.state == "cancelled" and job.stage is not None:
            assert reservations[job_id].in_force == cost(plan(0.25), job.steps_begun)
