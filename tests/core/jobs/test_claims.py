from uuid import uuid4

import pytest
from sqlalchemy import text

from core.jobs import claims
from core.jobs.errors import IllegalMark, LeaseLost
from core.jobs.states import Cause, JobState
from core.ledger import governance
from core.ledger.reservation import EntryKind
from tests.core.jobs.support import ATTEMPTS, STEPS, cost, plan


def test_claiming_spends_before_anything_else(desk):
    job_id = desk.order()
    claim = desk.claimed(job_id)
    job = desk.job(job_id)
    assert (claim.fence, claim.attempts, claim.plan, claim.steps_begun) == (1, 1, plan(), 0)
    assert (claim.dataset_id, claim.population_id) == (desk.dataset.id, desk.population)
    assert claim.sealed_randomness_key == b"sealed"
    assert job.state == "running"
    assert job.started_at == desk.clock.now()
    assert desk.reservation(job_id).state is EntryKind.SPENT


def test_a_second_delivery_stops_at_the_claim(desk):
    job_id = desk.order()
    desk.claimed(job_id)
    assert desk.claim(job_id) is None
    assert desk.job(job_id).fence == 1


def test_a_silent_worker_is_replaced_without_a_second_spend(desk):
    job_id = desk.order()
    first = desk.claimed(job_id)
    desk.advance(first, "train", 10)
    desk.lease_runs_out()
    second = desk.claimed(job_id)
    assert (second.fence, second.attempts, second.steps_begun) == (2, 2, 10)
    assert second.sealed_randomness_key == first.sealed_randomness_key
    assert desk.spends(job_id) == 1


def test_a_zombie_can_write_nothing(desk):
    job_id = desk.order()
    zombie = desk.claimed(job_id)
    desk.lease_runs_out()
    desk.claimed(job_id)
    for deed in (
        lambda: desk.heartbeat(zombie),
        lambda: desk.advance(zombie, "train", 5),
        lambda: desk.finish(zombie),
        lambda: desk.fail(zombie),
        lambda: desk.fail(zombie, cause=Cause.ROWS),
        lambda: desk.stop(zombie),
    ):
        with pytest.raises(LeaseLost):
            deed()
    job = desk.job(job_id)
    assert (job.state, job.fence, job.steps_begun) == ("running", 2, 0)


def test_a_zombie_of_a_requeued_job_can_write_nothing(desk):
    job_id = desk.order()
    claim = desk.claimed(job_id)
    desk.fail(claim)
    for deed in (
        lambda: desk.heartbeat(claim),
        lambda: desk.advance(claim, "train", 5),
        lambda: desk.finish(claim),
    ):
        with pytest.raises(LeaseLost):
            deed()


def test_nothing_moves_after_the_end(desk):
    claim = desk.claimed(desk.order())
    desk.finish(claim)
    for deed in (
        lambda: desk.advance(claim, "train", 5),
        lambda: desk.finish(claim),
        lambda: desk.fail(claim),
    ):
        with pytest.raises(LeaseLost):
            deed()
    assert desk.claim(claim.job_id) is None


class TestHeartbeat:
    def test_it_keeps_others_out(self, desk):
        claim = desk.claimed(desk.order())
        for _ in range(5):
            desk.clock.advance(seconds=50)
            assert desk.heartbeat(claim) is False
            assert desk.claim(claim.job_id) is None

    def test_a_late_one_is_good_while_nobody_took_over(self, desk):
        claim = desk.claimed(desk.order())
        desk.lease_runs_out()
        desk.heartbeat(claim)
        assert desk.claim(claim.job_id) is None

    def test_it_tells_of_a_cancel(self, desk):
        claim = desk.claimed(desk.order())
        desk.cancel(claim.job_id)
        assert desk.heartbeat(claim) is True
        assert desk.advance(claim, "measure") is True


class TestMarks:
    def test_they_show_progress_and_never_fall(self, desk):
        claim = desk.claimed(desk.order())
        desk.advance(claim, "measure", 0, 1)
        assert desk.job(claim.job_id).steps_begun == 0
        desk.advance(claim, "pretrain", 300, 400)
        assert desk.job(claim.job_id).steps_begun == 0
        desk.advance(claim, "train", 15)
        desk.advance(claim, "train", 5)
        job = desk.job(claim.job_id)
        assert (job.stage, job.step, job.total_steps, job.steps_begun) == ("train", 5, STEPS, 15)

    @pytest.mark.parametrize(
        ("stage", "step", "total"),
        [("dance", 0, 1), ("train", 21, 20), ("train", -1, 20), ("train", 5, 21), ("measure", 2, 1)],
    )
    def test_a_mark_that_the_plan_does_not_have(self, desk, stage, step, total):
        claim = desk.claimed(desk.order())
        with pytest.raises(IllegalMark):
            desk.advance(claim, stage, step, total)


class TestHeldClaim:
    def held(self, desk, job_id, fence):
        with desk.database.read_only() as session:
            return claims.held_claim(session, job_id, fence=fence)

    def test_the_child_gets_the_same_claim(self, desk):
        claim = desk.claimed(desk.order())
        assert self.held(desk, claim.job_id, claim.fence) == claim

    def test_a_stale_fence_gets_none(self, desk):
        claim = desk.claimed(desk.order())
        with pytest.raises(LeaseLost):
            self.held(desk, claim.job_id, claim.fence + 1)
        desk.fail(claim)
        with pytest.raises(LeaseLost):
            self.held(desk, claim.job_id, claim.fence)


def test_silent_workers_are_enough_at_some_point_and_charged_in_full(desk):
    job_id = desk.order()
    for _ in range(ATTEMPTS):
        desk.advance(desk.claimed(job_id), "train", 5)
        desk.lease_runs_out()
    assert desk.claim(job_id) is None
    job = desk.job(job_id)
    assert (job.state, job.failure_code, job.sealed_randomness_key) == ("failed", "training-failed", None)
    assert desk.reservation(job_id).state is EntryKind.SPENT
    assert desk.spends(job_id) == 1


def test_silent_workers_before_the_first_step_leave_no_charge_for_steps(desk):
    job_id = desk.order()
    for _ in range(ATTEMPTS):
        desk.advance(desk.claimed(job_id), "pretrain", 5)
        desk.lease_runs_out()
    assert desk.claim(job_id) is None
    job, reservation = desk.job(job_id), desk.reservation(job_id)
    assert (job.state, job.failure_code, job.sealed_randomness_key) == ("failed", "training-failed", None)
    assert (reservation.state, reservation.in_force) == (EntryKind.SETTLED, cost(plan(), 0))


def test_silent_workers_before_the_first_step_are_charged_in_full_where_nothing_precedes_the_steps(desk):
    job_id = desk.order(plan(anchor=False))
    for _ in range(ATTEMPTS):
        desk.claimed(job_id)
        desk.lease_runs_out()
    assert desk.claim(job_id) is None
    reservation = desk.reservation(job_id)
    assert (reservation.state, reservation.in_force) == (EntryKind.SPENT, cost(plan(anchor=False)))


def test_attempts_are_counted_from_the_last_step_that_no_attempt_had_begun_before(desk):
    job_id = desk.order()
    for step in range(1, 3 * ATTEMPTS):
        claim = desk.claimed(job_id)
        desk.advance(claim, "train", step)
        assert desk.job(job_id).attempts == 1
        desk.lease_runs_out()
    for attempts in range(2, ATTEMPTS + 1):
        claim = desk.claimed(job_id)
        desk.advance(claim, "pretrain", 5)
        desk.advance(claim, "train", step)
        assert desk.job(job_id).attempts == attempts, "what was done before is no progress"
        desk.lease_runs_out()
    assert desk.claim(job_id) is None


class TestAlteredPlans:
    def alter(self, desk, job_id, **values):
        with desk.database.transaction() as session:
            for column, value in values.items():
                statement = text(
                    f"UPDATE jobs SET {column} = CAST(:value AS {'json' if column == 'plan' else 'text'})"
                )
                session.execute(statement, {"value": value})

    @pytest.mark.parametrize(
        "change",
        [
            {"plan_digest": "0" * 64},
            {"plan": "{}"},
        ],
    )
    def test_they_are_never_run(self, desk, change):
        job_id = desk.order()
        self.alter(desk, job_id, **change)
        assert desk.claim(job_id) is None
        job = desk.job(job_id)
        assert (job.state, job.failure_code) == ("failed", "plan-altered")
        assert desk.reservation(job_id).state is EntryKind.VOIDED

    def test_not_even_with_a_matching_digest(self, desk):
        import json

        job_id, cheap = desk.order(plan(0.5)), plan(2.0)
        self.alter(desk, job_id, plan=json.dumps(cheap.to_json()), plan_digest=cheap.digest())
        assert desk.claim(job_id) is None
        assert desk.job(job_id).failure_code == "plan-altered"

    def test_after_a_claim_they_stay_spent(self, desk):
        job_id = desk.order()
        desk.claimed(job_id)
        desk.lease_runs_out()
        self.alter(desk, job_id, plan_digest="0" * 64)
        assert desk.claim(job_id) is None
        assert desk.reservation(job_id).in_force == cost(plan())


def test_a_claim_that_is_rolled_back_spends_nothing(desk):
    job_id = desk.order()

    def claim_and_die():
        with desk.database.transaction() as session:
            claims.claim(session, job_id, clock=desk.clock, lease_seconds=60, max_attempts=ATTEMPTS)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        claim_and_die()
    assert desk.job(job_id).state == JobState.QUEUED
    assert desk.reservation(job_id).state is EntryKind.RESERVED
    assert desk.claimed(job_id).fence == 1


def test_a_claim_of_a_job_that_never_was(desk):
    with pytest.raises(LeaseLost):
        desk.heartbeat(claims_of_nobody(desk))


def claims_of_nobody(desk):
    from dataclasses import replace

    return replace(desk.claimed(desk.order()), job_id=uuid4())


def test_a_job_of_a_frozen_dataset_waits_unspent_and_starts_once_it_is_unfrozen(desk):
    job = desk.order()
    with desk.database.transaction() as session:
        governance.freeze(session, desk.population, by="admin", reason="an investigation", clock=desk.clock)
    assert desk.claim(job) is None
    assert desk.job(job).state == "queued"
    assert desk.job(job).attempts == 0
    assert desk.reservation(job).state is EntryKind.RESERVED
    with desk.database.transaction() as session:
        governance.unfreeze(session, desk.population, by="admin", reason="all is well", clock=desk.clock)
    assert desk.claim(job) is not None
    assert desk.reservation(job).state is EntryKind.SPENT


def test_a_training_that_has_spent_is_resumed_though_its_dataset_is_frozen(desk):
    job = desk.order()
    desk.claim(job)
    with desk.database.transaction() as session:
        governance.freeze(session, desk.population, by="admin", reason="an investigation", clock=desk.clock)
    desk.lease_runs_out()
    assert desk.claim(job) is not None
    assert desk.reservation(job).state is EntryKind.SPENT
