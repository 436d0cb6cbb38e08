"""Claiming a job, and everything a worker does with a claim."""

from datetime import timedelta
from uuid import UUID

from sqlalchemy.orm import Session

from core.clock import Clock
from core.db.tables.job import Job
from core.errors import UnderstudyError
from core.jobs import repository
from core.jobs.endings import (
    cancel,
    end,
    end_cancelled,
    fail,
    finish,
    give_up,
    hand_back,
    has_live_worker,
    move,
    set_aside,
    stop,
)
from core.jobs.leases import Claim, advance, claim_of, heartbeat, held_claim
from core.jobs.states import ENDED, PLAN_ALTERED, JobState
from core.ledger import ledger, ledger_queries
from core.ledger.errors import PopulationFrozen
from core.ledger.reservation import EntryKind
from core.logs import get_logger
from core.privacy import mechanism as mechanisms
from core.synthesis.selection import OrderedPlan, ordered_plan_from_json

__all__ = [
    "Claim",
    "advance",
    "cancel",
    "claim",
    "fail",
    "finish",
    "hand_back",
    "heartbeat",
    "held_claim",
    "set_aside",
    "stop",
]


def claim(
    session: Session,
    job_id: UUID,
    *,
    clock: Clock,
    lease_seconds: float,
    max_attempts: int,
    holder: str | None = None,
) -> Claim | None:
    """Take a job that waits, or whose worker has fallen silent, and spend its reservation if nobody has yet.

    When the transaction commits, the claim and the spend are durable together; only then may rows be opened. A job
    that was cancelled meanwhile, has used up its attempts or holds an altered plan is ended here instead.

    Args:
        session: the open transaction.
        job_id: from the message.
        clock: judges leases.
        lease_seconds: how long the claim holds without a heartbeat.
        max_attempts: attempts without progress after which silent workers are enough.
        holder: which process claims, in words that `queue.orphaned` can judge; None if nobody could see it die.

    Returns:
        The claim, or None: another worker has it, it has ended or was ended here, or its dataset is frozen.

    Raises:
        JobNotFound: no such job.
    """
    job = repository.lock(session, job_id)
    now = clock.now()
    if job.state in ENDED or has_live_worker(job, now=now):
        return None
    plan = _plan_as_reserved(session, job)
    if plan is None:
        _refuse_altered(session, job, clock=clock)
    elif job.cancel_requested_at is not None:
        end_cancelled(session, job, clock=clock)
    elif job.attempts >= max_attempts:
        get_logger().error("workers-fell-silent", job_id=str(job.id), attempts=job.attempts)
        give_up(session, job, clock=clock)
    elif _spent(session, job, clock=clock):
        move(job, JobState.RUNNING)
        job.fence += 1
        job.attempts += 1
        job.lease_expires_at = now + timedelta(seconds=lease_seconds)
        job.lease_holder = holder
        job.started_at = job.started_at or now
        job.claimed_at = now
        session.flush()
        return claim_of(session, job, plan)
    session.flush()
    return None


def _spent(session: Session, job: Job, *, clock: Clock) -> bool:
    """Spend what was reserved, unless an earlier claim did; a frozen dataset's job stays queued instead."""
    try:
        ledger.spend(session, job.id, fence=job.fence + 1, clock=clock)
    except PopulationFrozen:
        return False
    return True


def _plan_as_reserved(session: Session, job: Job) -> OrderedPlan | None:
    """The job's plan if it is, to the letter, what was ordered and paid for."""
    try:
        plan = ordered_plan_from_json(job.plan)
    except UnderstudyError:
        return None
    paid = ledger_queries.reserved_mechanism(session, job.id)
    return plan if plan.digest() == job.plan_digest and mechanisms.to_json(plan.mechanism) == paid else None


def _refuse_altered(session: Session, job: Job, *, clock: Clock) -> None:
    get_logger().error("plan-altered", job_id=str(job.id))
    if ledger_queries.reservation_of(session, job.id).state is EntryKind.RESERVED:
        ledger.void(session, job.id, clock=clock)
    end(job, JobState.FAILED, at=clock.now(), failure_code=PLAN_ALTERED)
