"""How a job ends, goes back to the queue or moves to another one, and what that does to its reservation.

| ending                                    | ledger                                             |
|-------------------------------------------|----------------------------------------------------|
| cancelled while nobody had claimed it     | VOIDED                                             |
| cancelled later, before rows were opened  | SETTLED: nothing                                   |
| cancelled after that                      | SETTLED: the prefix of the steps begun, rounded up, and never nothing |
| cancelled before a step, after an attempt failed | SETTLED: what precedes the steps, or all where nothing does |
| failed, and the cause could depend on rows or is unknown | stays SPENT in full                 |
| failed, attempts used up by the machinery | SETTLED: the prefix of the steps begun, rounded up |
| succeeded                                 | stays SPENT in full                                |

A settlement in a federation keeps the epsilon of the whole plan once a step has begun (`charged_at_delta`).

The randomness key of a job is destroyed when it ends.

A waiting training moves to the kind of device that live workers serve. A step that is taken again on another kind of device
would release a second, differently rounded sum under the same noise. So a job moves only while nothing is measured: before its first
mark after that of the opening of its rows. From then on it waits for a worker of its kind.
"""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy import and_, or_, select
from sqlalchemy.orm import Session, object_session

from core.clock import Clock
from core.db.outbox import notify_job, notify_release
from core.db.session import on_commit
from core.db.tables.job import Job
from core.db.tables.release import Release
from core.db.tables.utility_report import UtilityReport
from core.dp.charge import Charge, charge_of
from core.dp.mechanism import Mechanism, leaves
from core.jobs import repository
from core.jobs.errors import IllegalTransition, JobEnded, NotCancelled
from core.jobs.leases import BATCH, JOBS, Claim, has_live_worker
from core.jobs.states import ENDED, OPENING, SUCCESSORS, TRAINING_FAILED, Cause, JobState
from core.jobs.turns import announce
from core.jobs.visible_progress import charged_steps
from core.ledger import ledger, ledger_queries
from core.ledger.reservation import NOTHING, EntryKind
from core.plan.devices import DEVICES, Device
from core.plan.ordered_plan import OrderedPlan, federation_of, ordered_plan_from_json

# A training child imports this module and sends nothing: it starts without the broker's libraries.
if TYPE_CHECKING:
    from core.jobs.queue import Queue


def finish(
    session: Session,
    claim: Claim,
    *,
    release_id: UUID,
    bundle_key: str,
    certificate: dict[str, Any],
    clock: Clock,
) -> Release:
    """Publish a release: the job succeeds and its release exists, in one transaction.

    Raises:
        LeaseLost: the claim does not hold the job, so nothing is published.
    """
    job = _locked(session, claim)
    now = clock.now()
    end(job, JobState.SUCCEEDED, at=now)
    release = Release(
        id=release_id,
        job_id=job.id,
        dataset_id=job.dataset_id,
        bundle_key=bundle_key,
        certificate=certificate,
        created_at=now,
    )
    repository.add(session, release)
    notify_release(session, release, at=now)
    return release


def finish_report(
    session: Session, claim: Claim, *, report_id: UUID, document: dict[str, Any], clock: Clock
) -> UtilityReport:
    """Publish a utility report: the job succeeds and its signed report exists, in one transaction.

    Raises:
        LeaseLost: the claim does not hold the job, so nothing is published.
    """
    job = _locked(session, claim)
    now = clock.now()
    end(job, JobState.SUCCEEDED, at=now)
    report = UtilityReport(
        id=report_id,
        job_id=job.id,
        release_id=UUID(document["release_id"]),
        dataset_id=job.dataset_id,
        document=document,
        created_at=now,
    )
    session.add(report)
    session.flush()
    return report


def fail(
    session: Session,
    claim: Claim,
    *,
    code: str,
    cause: Cause,
    clock: Clock,
    queue: "Queue",
    max_attempts: int,
) -> JobState:
    """Record a failed attempt. Returns its state: queued again, or ended.

    Args:
        code: stable code of a failure of the machinery; every other failure has one and the same code.
        queue: where the next attempt is announced after the commit.
        max_attempts: number of attempts without progress after which a failure of the machinery, or of unknown cause, is
            final.

    Raises:
        LeaseLost: the claim does not hold the job.
    """
    job = _locked(session, claim)
    now = clock.now()
    if cause is Cause.ROWS:
        end(job, JobState.FAILED, at=now, failure_code=TRAINING_FAILED)
    elif job.cancel_requested_at is not None:
        failed = job.attempts if cause is Cause.UNKNOWN else job.attempts - 1
        settle_prefix(session, job, clock=clock, failed=failed)
        end(job, JobState.CANCELLED, at=now)
    elif job.attempts < max_attempts:
        requeue(session, job, at=now, queue=queue)
    elif cause is Cause.MACHINERY:
        settle_prefix(session, job, clock=clock)
        end(job, JobState.FAILED, at=now, failure_code=code)
    else:
        give_up(session, job, clock=clock)
    session.flush()
    return JobState(job.state)


def give_up(session: Session, job: Job, *, clock: Clock) -> None:
    """End a locked job whose attempts are used up for an unknown cause.

    Rows may have been the cause, so the job gets the one code of all such failures, and a training whose steps have begun
    is charged in full. If no step has begun, none is charged: the mark of a step is durable before the step begins. What
    precedes the steps is charged even without a mark; otherwise an order could learn for free how much memory the rows take.
    If nothing precedes them, the steps are charged for the same reason.
    """
    plan = ordered_plan_from_json(job.plan)
    if job.steps_begun == 0 < plan.steps and leaves(plan.executed(0)):
        ledger.settle(session, job.id, charge=_before_the_steps(job), clock=clock)
    end(job, JobState.FAILED, at=clock.now(), failure_code=TRAINING_FAILED)


def hand_back(session: Session, claim: Claim, *, clock: Clock, queue: "Queue") -> JobState:
    """Put a running job back into the queue because its worker was asked to stop. Returns its state.

    The claim counts as no attempt: attempts count crashes. Its checkpoints stay, and the next claim resumes from them.

    Raises:
        LeaseLost: the claim does not hold the job.
    """
    job = _locked(session, claim)
    if job.cancel_requested_at is not None:
        settle_prefix(session, job, clock=clock, failed=job.attempts - 1)
        end(job, JobState.CANCELLED, at=clock.now())
    else:
        job.attempts -= 1
        requeue(session, job, at=clock.now(), queue=queue)
    session.flush()
    return JobState(job.state)


def set_aside(session: Session, claim: Claim) -> None:
    """Leave a running job until its lease runs out, because its ledger has forgotten something. The claim counts as no attempt.

    If attempts were used up, the job would end and part of its charge would be given back, before an operator has decided
    what was released.

    Raises:
        LeaseLost: the claim does not hold the job.
    """
    _locked(session, claim).attempts -= 1
    session.flush()


def requeue(session: Session, job: Job, *, at: datetime, queue: "Queue") -> None:
    """Put a locked running job back into the queue. A worker that still runs it has lost its lease."""
    move(job, JobState.QUEUED)
    JOBS.put_back(job)
    job.sent_at = at
    on_commit(session, partial(announce, queue, job.id, job.plan, job.device))


def move_unserved(
    session: Session, *, served: Collection[Device], now: datetime, queue: "Queue"
) -> list[UUID]:
    """Move jobs whose kind of device no live worker serves to the kind that one does, and announce them after the commit. Returns their ids.

    Only jobs whose order left the kind to the service move. Rows that are locked are skipped.
    """
    if len(set(served)) != 1:
        return []
    (device,) = set(served)
    stranded = (
        select(Job)
        .where(
            JOBS.are_claimable(now),
            Job.device.in_([other for other in DEVICES if other != device]),
            Job.device_wish == "auto",
            or_(Job.stage.is_(None), and_(Job.stage == OPENING, Job.step == 0)),
        )
        .order_by(Job.created_at)
        .limit(BATCH)
        .with_for_update(skip_locked=True)
    )
    jobs = session.scalars(stranded).all()
    for job in jobs:
        job.device = device
        if job.state == JobState.RUNNING.value:
            # Its worker may only be late: put back, it can write no mark any more.
            requeue(session, job, at=now, queue=queue)
        else:
            job.sent_at = now
            on_commit(session, partial(announce, queue, job.id, job.plan, job.device))
    session.flush()
    return [job.id for job in jobs]


def stop(session: Session, claim: Claim, *, clock: Clock) -> Charge:
    """End a cancelled job once its child is dead. Returns the charge: the prefix of the steps begun.

    Raises:
        LeaseLost: the claim does not hold the job.
        NotCancelled: nobody asked to cancel the job.
    """
    job = _locked(session, claim)
    if job.cancel_requested_at is None:
        raise NotCancelled
    charged = settle_prefix(session, job, clock=clock, failed=job.attempts - 1)
    end(job, JobState.CANCELLED, at=clock.now())
    session.flush()
    return charged


def cancel(session: Session, job_id: UUID, *, clock: Clock) -> JobState:
    """Cancel a job. Returns its state: cancelled, or running until its worker has stopped.

    Cancelling a cancelled job changes nothing.

    Raises:
        JobNotFound: no such job.
        JobEnded: it has succeeded or failed.
    """
    job = repository.lock(session, job_id)
    state = JobState(job.state)
    if state is JobState.CANCELLED:
        return state
    if state in ENDED:
        raise JobEnded(f"The job has {state}; there is nothing left to cancel.")
    now = clock.now()
    job.cancel_requested_at = job.cancel_requested_at or now
    if not has_live_worker(job, now=now):
        end_cancelled(session, job, clock=clock)
    session.flush()
    return JobState(job.state)


def end_cancelled(session: Session, job: Job, *, clock: Clock) -> None:
    """Cancel a locked job without a live worker. A worker that still runs it is stopped by the state."""
    if ledger_queries.reservation_of(session, job.id).state is EntryKind.RESERVED:
        ledger.void(session, job.id, clock=clock)
    else:
        settle_prefix(session, job, clock=clock, failed=job.attempts)
    end(job, JobState.CANCELLED, at=clock.now())


def settle_prefix(session: Session, job: Job, *, clock: Clock, failed: int = 0) -> Charge:
    """Charge a locked, claimed job for what has begun according to its marks.

    If attempts failed before the first step, what precedes the steps is charged as in `give_up`: a job that shows no progress
    may be cancelled before its attempts are used up.

    Args:
        failed: failed attempts since the last progress. Why an earlier one failed is not stored, so each counts as unexplained.
    """
    charge = _before_the_steps(job) if failed and job.steps_begun == 0 else begun_charge(job)
    return ledger.settle(session, job.id, charge=charge, clock=clock)


def _before_the_steps(job: Job) -> Charge:
    """The charge of what precedes the steps, or of the whole plan if nothing does."""
    plan = ordered_plan_from_json(job.plan)
    before = plan.executed(0)
    return charge_of(before if leaves(before) else plan.mechanism, delta=plan.guarantee.delta)


def begun_charge(job: Job) -> Charge:
    """The charge of the stages and steps that have begun, rounded up to the last durable mark and to a part of the plan.

    Without any mark no row was opened. With one, the measurements and `steps_begun` steps have begun. Parts, because how
    far a job came in a given time depends on its batches, and everybody can read the ledger.
    """
    if job.stage is None:
        return NOTHING
    plan = ordered_plan_from_json(job.plan)
    prefix, paid = begun(plan, job.steps_begun), charged_at_delta(plan, job.steps_begun)
    charge = charge_of(prefix, delta=plan.guarantee.delta)
    if paid == prefix:
        return charge
    return replace(charge, epsilon_micros=charge_of(paid, delta=plan.guarantee.delta).epsilon_micros)


def begun(plan: OrderedPlan, steps: int) -> Mechanism:
    """The part of a plan that counts as begun once its rows are opened and a number of steps has begun.

    It is never empty: how long rows take to be opened depends on them, so a cancel meanwhile is not free. If nothing precedes the
    steps, it is their first part.
    """
    prefix = plan.executed(charged_steps(steps, plan.steps))
    return prefix if leaves(prefix) else plan.executed(charged_steps(1, plan.steps))


def charged_at_delta(plan: OrderedPlan, steps: int) -> Mechanism:
    """Return the mechanism whose epsilon, at the plan's delta, is charged once a number of steps has begun.

    A federation releases every round, so the number of rounds may depend on earlier releases (adaptive stopping). The epsilon of a prefix
    does not bound that: each number of rounds has a failure probability of its own. The epsilon of the whole plan does
    (docs/mechanisms/filters.md).
    """
    is_shown = steps > 0 and federation_of(plan) is not None
    return plan.mechanism if is_shown else begun(plan, steps)


def end(job: Job, state: JobState, *, at: datetime, failure_code: str | None = None) -> None:
    """Move a locked job to an end, destroy its randomness key, and queue its notifications.

    Raises:
        IllegalTransition: its state does not allow that.
    """
    move(job, state)
    JOBS.end(job, state.value)
    job.sealed_randomness_key = None
    job.sealed_federation = None
    job.finished_at = at
    job.failure_code = failure_code
    session = object_session(job)
    assert session is not None, "its row is locked, in a transaction"
    notify_job(session, job, at=at)


def move(job: Job, state: JobState) -> None:
    """Move a locked job to another state.

    Raises:
        IllegalTransition: its state does not allow that.
    """
    if state not in SUCCESSORS[JobState(job.state)]:
        raise IllegalTransition
    job.state = state.value


def _locked(session: Session, claim: Claim) -> Job:
    return JOBS.locked(session, claim.job_id, fence=claim.fence)
