"""The task around the child: real database, real child processes that end in every way there is."""

import sys
import time
from typing import Any
from uuid import UUID, uuid4

import pytest

from core.clock import SystemClock
from core.data.sealing import seal_bytes
from core.dp.charge import charge_of
from core.jobs import claims
from core.ledger.errors import LedgerBroken
from core.ledger.reservation import EntryKind
from core.platform.stored_objects import bundle_key, checkpoint_key
from tests.memory_queue import MemoryQueue
from tests.workers.support import Workshop, environment_of, small_plan
from workers.child import STOP_SECONDS, ExitCode
from workers.training import Trainer

SPENT = [EntryKind.RESERVED, EntryKind.SPENT]
SETTLED = [*SPENT, EntryKind.SETTLED]


def trainer(workshop: Workshop, script: str, *, step: int | None = None, **others: Any) -> Trainer:
    """A trainer whose child runs a script instead of a training; `job` and `fence` are its arguments.

    A step is marked as the child starts, by this process: a child would import for a second what marks it.
    """

    def command(job_id: UUID, fence: int) -> list[str]:
        if step is not None:
            with workshop.database.transaction() as session:
                claim = claims.held_claim(session, job_id, fence=fence)
                claims.advance(session, claim, stage="train", step=step, total=claim.plan.steps)
        return [sys.executable, "-c", script, str(job_id), str(fence)]

    return Trainer(
        workshop.settings,
        database=workshop.database,
        store=workshop.store,
        queue=workshop.queue,
        clock=SystemClock(),
        environment=environment_of(workshop.settings),
        command=command,
        **others,
    )


def ends(code: int) -> str:
    return f"raise SystemExit({code})"


def test_the_spend_is_durable_before_the_child_starts(workshop):
    job_id = workshop.order()
    script = """
import os, sys, psycopg
url = os.environ["UNDERSTUDY_DATABASE_URL"].replace("+psycopg", "")
with psycopg.connect(url) as connection:
    kinds = [row[0].lower() for row in connection.execute("SELECT kind FROM ledger_entries WHERE job_id IS NOT NULL ORDER BY sequence")]
raise SystemExit(42 if kinds == ["reserved", "spent"] else 43)
"""
    trainer(workshop, script).train(job_id)
    assert workshop.job(job_id).state == "failed", "the child saw the spend"


def test_a_failure_that_could_depend_on_rows_is_charged_in_full_under_one_constant_code(workshop):
    job_id = workshop.order()
    trainer(workshop, ends(ExitCode.DATA)).train(job_id)
    job = workshop.job(job_id)
    assert (job.state, job.failure_code) == ("failed", "training-failed")
    assert job.sealed_randomness_key is None
    assert workshop.movements(job_id) == SPENT


def test_a_public_limit_met_by_the_child_is_charged_in_full(workshop):
    job_id = workshop.order()
    workshop.settings = workshop.settings.model_copy(update={"training_seconds": 0.2})
    trainer(workshop, "import time; time.sleep(60)").train(job_id)
    assert workshop.job(job_id).failure_code == "training-failed"
    assert workshop.movements(job_id) == SPENT


def test_a_stopping_worker_returns_its_job_and_no_attempt_is_counted(workshop):
    workshop.settings = workshop.settings.model_copy(update={"job_attempts": 2})
    job_id = workshop.order()
    begun = workshop.settings.scratch_folder / "begun"
    script = f"import time; open({str(begun)!r}, 'w').close(); time.sleep(60)"
    for fence in (1, 2, 3):
        began = time.monotonic()
        trainer(workshop, script, stopping=begun.exists).train(job_id)
        assert time.monotonic() - began < 30, "the child was killed, not waited for"
        job = workshop.job(job_id)
        assert (job.state, job.fence, job.attempts, job.lease_owner) == ("queued", fence, 0, None)
        begun.unlink()
    assert isinstance(workshop.queue, MemoryQueue)
    assert workshop.queue.sent == [job_id] * 4
    assert workshop.movements(job_id) == SPENT


@pytest.mark.parametrize("code", [ExitCode.DATA, ExitCode.MACHINERY, ExitCode.CANCELLED])
def test_held_back_events_are_dropped_when_the_worker_stops(workshop, code):
    """So that the moment at which a child has ended shows in nothing, whether or not the worker is stopped."""
    workshop.settings = workshop.settings.model_copy(update={"completion_seconds": 600.0})
    job_id = workshop.order()
    waits: list[float] = []
    trainer(workshop, ends(code), stopping=lambda: len(waits) > 2, sleep=waits.append).train(job_id)
    job = workshop.job(job_id)
    assert (job.state, job.attempts) == ("queued", 0)
    assert workshop.movements(job_id) == SPENT
    assert max(waits) <= STOP_SECONDS


def test_a_stopping_worker_claims_nothing(workshop):
    job_id = workshop.order()
    trainer(workshop, ends(ExitCode.DATA), stopping=lambda: True).train(job_id)
    assert (workshop.job(job_id).state, workshop.job(job_id).fence) == ("queued", 0)


def test_a_vanished_child_goes_back_to_the_queue_and_at_last_no_step_is_charged_that_none_began(workshop):
    workshop.settings = workshop.settings.model_copy(update={"job_attempts": 2})
    job_id = workshop.order()
    for _ in range(2):
        trainer(workshop, "import os; os.kill(os.getpid(), 9)").train(job_id)
    plan = small_plan()
    assert workshop.job(job_id).failure_code == "training-failed"
    assert workshop.movements(job_id) == SETTLED
    measured = charge_of(plan.executed(0), delta=plan.guarantee.delta)
    assert workshop.reservation(job_id).in_force == measured


def test_a_vanished_child_goes_back_to_the_queue_and_at_last_is_charged_in_full(workshop):
    workshop.settings = workshop.settings.model_copy(update={"job_attempts": 3})
    job_id = workshop.order()
    killed = "import os; os.kill(os.getpid(), 9)"
    for attempt in (1, 2):
        trainer(workshop, killed, step=5).train(job_id)
        job = workshop.job(job_id)
        assert (job.state, job.attempts) == ("queued", attempt)
        assert job.sealed_randomness_key is not None, "the next attempt replays the same noise"
    assert isinstance(workshop.queue, MemoryQueue)
    assert workshop.queue.sent == [job_id] * 3, "ordered once, sent again twice"
    trainer(workshop, killed, step=5).train(job_id)
    assert workshop.job(job_id).failure_code == "training-failed"
    assert workshop.movements(job_id) == SPENT


def test_failing_machinery_is_given_time_and_at_last_charged_for_what_began(workshop):
    workshop.settings = workshop.settings.model_copy(update={"job_attempts": 2, "lease_seconds": 0.3})
    job_id = workshop.order()
    trainer(workshop, ends(ExitCode.MACHINERY)).train(job_id)
    assert workshop.job(job_id).state == "running", "its lease is left to run out"
    trainer(workshop, ends(ExitCode.DATA)).train(job_id)
    assert workshop.job(job_id).state == "running", "a second delivery stops at the claim"
    time.sleep(0.4)
    trainer(workshop, ends(ExitCode.MACHINERY)).train(job_id)
    job = workshop.job(job_id)
    assert (job.state, job.failure_code) == ("failed", "infrastructure-failed")
    assert workshop.movements(job_id) == SETTLED
    assert workshop.reservation(job_id).in_force.epsilon_micros == 0, "nothing private had begun"


def marking(*, step: int, then: str) -> str:
    """A child that marks `step` steps and goes on with `then`, which finds `database` and `claim`."""
    return f"""
import sys, time
from uuid import UUID
from core.clock import SystemClock
from core.db.session import Database
from core.jobs import claims, endings
from core.platform.settings import Settings
database = Database(Settings().database_url)
with database.transaction() as session:
    claim = claims.held_claim(session, UUID(sys.argv[1]), fence=int(sys.argv[2]))
    claims.advance(session, claim, stage="train", step={step}, total=claim.plan.steps)
{then}
"""


CANCELLED = """
with database.transaction() as session:
    endings.cancel(session, claim.job_id, clock=SystemClock())
time.sleep(60)
"""


# Sixty steps are charged in twentieths of three.
def test_machinery_that_fails_at_last_settles_the_steps_begun_by_any_attempt(workshop):
    workshop.settings = workshop.settings.model_copy(update={"job_attempts": 2, "lease_seconds": 0.3})
    job_id = workshop.order()
    for step in (35, 20):
        trainer(workshop, ends(ExitCode.MACHINERY), step=step).train(job_id)
        time.sleep(0.4)
    plan, job = small_plan(), workshop.job(job_id)
    assert (job.state, job.failure_code, job.steps_begun) == ("failed", "infrastructure-failed", 35)
    assert workshop.movements(job_id) == SETTLED
    expected = charge_of(plan.executed(36), delta=plan.guarantee.delta)
    assert workshop.reservation(job_id).in_force == expected
    assert expected.rdp_micros < charge_of(plan.mechanism, delta=plan.guarantee.delta).rdp_micros


def test_rows_that_may_be_the_cause_are_charged_for_every_step_however_few_were_begun(workshop):
    job_id = workshop.order()
    trainer(workshop, ends(ExitCode.DATA), step=5).train(job_id)
    plan, job = small_plan(), workshop.job(job_id)
    assert (job.failure_code, job.steps_begun) == ("training-failed", 5)
    assert workshop.movements(job_id) == SPENT
    assert workshop.reservation(job_id).in_force == charge_of(plan.mechanism, delta=plan.guarantee.delta)


def test_a_cancelled_job_is_stopped_and_charged_for_the_steps_begun(workshop):
    job_id = workshop.order()
    workshop.store.put_bytes(checkpoint_key(job_id, 1), b"left over")
    began = time.monotonic()
    trainer(workshop, marking(step=25, then=CANCELLED)).train(job_id)
    assert time.monotonic() - began < 30, "the child was killed, not waited for"
    plan = small_plan()
    assert workshop.job(job_id).state == "cancelled"
    assert workshop.movements(job_id) == SETTLED
    expected = charge_of(plan.executed(27), delta=plan.guarantee.delta)
    assert workshop.reservation(job_id).in_force == expected
    assert expected.rdp_micros < charge_of(plan.mechanism, delta=plan.guarantee.delta).rdp_micros
    assert not workshop.store.exists(checkpoint_key(job_id, 1))


def test_a_child_that_says_cancelled_when_nobody_cancelled_is_not_believed(workshop):
    job_id = workshop.order()
    trainer(workshop, ends(ExitCode.CANCELLED)).train(job_id)
    assert workshop.job(job_id).state == "queued"
    assert workshop.movements(job_id) == SPENT


def test_a_worker_that_lost_its_lease_kills_its_child_and_touches_nothing(workshop):
    job_id = workshop.order()
    steal = f"""
import os, time, psycopg
with psycopg.connect(os.environ["UNDERSTUDY_DATABASE_URL"].replace("+psycopg", "")) as connection:
    connection.execute("UPDATE jobs SET fence = fence + 1, attempts = attempts + 1 WHERE id = '{job_id}'")
time.sleep(60)
"""
    began = time.monotonic()
    trainer(workshop, steal).train(job_id)
    assert time.monotonic() - began < 30
    job = workshop.job(job_id)
    assert (job.state, job.fence) == ("running", 2)
    assert job.sealed_randomness_key is not None
    assert workshop.movements(job_id) == SPENT


def test_a_worker_that_lost_its_lease_cannot_publish(workshop):
    job_id = workshop.order()
    stolen = f"""
import os, psycopg
with psycopg.connect(os.environ["UNDERSTUDY_DATABASE_URL"].replace("+psycopg", "")) as connection:
    connection.execute("UPDATE jobs SET fence = fence + 1, attempts = attempts + 1 WHERE id = '{job_id}'")
raise SystemExit({int(ExitCode.LEASE_LOST)})
"""
    trainer(workshop, stolen).train(job_id)
    assert workshop.release(job_id) is None
    assert workshop.job(job_id).state == "running"


def test_a_child_that_claims_success_without_a_bundle_publishes_nothing(workshop):
    job_id = workshop.order()
    with pytest.raises(Exception, match="stored object does not exist"):
        trainer(workshop, ends(ExitCode.DONE)).train(job_id)
    assert workshop.release(job_id) is None
    assert workshop.job(job_id).state == "running", "upkeep will send it again"


def test_a_cancelled_order_is_not_trained(workshop):
    job_id = workshop.order()
    workshop.cancel(job_id)
    trainer(workshop, ends(ExitCode.DATA)).train(job_id)
    assert workshop.job(job_id).state == "cancelled"
    assert workshop.movements(job_id) == [EntryKind.RESERVED, EntryKind.VOIDED]


def test_an_ended_job_leaves_no_unpublished_objects(workshop):
    job_id = workshop.order()
    sealed = seal_bytes(bytes(range(32)), b"state", context="any")
    for key in (checkpoint_key(job_id, 1), bundle_key(job_id, 1)):
        workshop.store.put_bytes(key, sealed)
    trainer(workshop, ends(ExitCode.DATA)).train(job_id)
    assert not workshop.store.exists(checkpoint_key(job_id, 1))
    assert not workshop.store.exists(bundle_key(job_id, 1))


def test_a_message_is_a_hint_and_the_job_whose_turn_it_is_runs(workshop):
    ada, ben = uuid4(), uuid4()
    first, second = workshop.order(by=ada), workshop.order(by=ada)
    other = workshop.order(by=ben)
    for _ in range(2):
        trainer(workshop, ends(ExitCode.DATA)).serve()
    states = {each: workshop.job(each).state for each in (first, second, other)}
    assert states == {first: "failed", other: "failed", second: "queued"}


def test_a_job_that_cannot_be_claimed_stands_in_nobodys_way(workshop, monkeypatch):
    broken, sound = workshop.order(), workshop.order()
    real = claims.claim

    def claim(session, job_id, **others):
        if job_id == broken:
            raise LedgerBroken
        return real(session, job_id, **others)

    monkeypatch.setattr(claims, "claim", claim)
    trainer(workshop, ends(ExitCode.DATA)).serve()
    assert (workshop.job(broken).state, workshop.job(sound).state) == ("queued", "failed")


@pytest.mark.parametrize(("others_wait", "has_checkpoint"), [(True, True), (False, True), (True, False)])
def test_a_long_training_makes_room_at_a_checkpoint_while_somebody_else_waits(
    workshop, others_wait, has_checkpoint
):
    workshop.settings = workshop.settings.model_copy(update={"slice_seconds": 0.3, "training_seconds": 4.0})
    long, next_one = workshop.order(), workshop.order() if others_wait else None
    if has_checkpoint:
        workshop.store.put_bytes(checkpoint_key(long, 1), b"state")
    trainer(workshop, "import time; time.sleep(60)").train(long)
    makes_room = others_wait and has_checkpoint
    job = workshop.job(long)
    assert (job.state, job.attempts) == (("queued", 0) if makes_room else ("failed", 1))
    if makes_room and next_one is not None:
        trainer(workshop, ends(ExitCode.DATA)).serve()
        assert workshop.job(next_one).state == "failed", "the other's turn"
        assert workshop.job(long).state == "queued"
