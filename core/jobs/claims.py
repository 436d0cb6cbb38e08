"""Claiming a job, and what a worker writes while it holds the claim. How a claim ends is in core.jobs.endings."""

from collections.abc import Collection
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from core.clock import Clock
from core.db.tables.job import DEVICES, Job
from core.dp import mechanism as mechanisms
from core.errors import UnderstudyError
from core.jobs import repository
from core.jobs.endings import end, end_cancelled, give_up, move
from core.jobs.errors import IllegalMark
from core.jobs.leases import JOBS, Claim
from core.jobs.states import OWNER_WITHDREW, PLAN_ALTERED, STAGES, TRAINING, JobState
from core.ledger import ledger, ledger_queries
from core.ledger.errors import OwnerWithdrew, PopulationFrozen
from core.ledger.reservation import EntryKind
from core.logs import get_logger
from core.plan.ordered_plan import OrderedPlan, ordered_plan_from_json, owners_of


def claim(
    session: Session,
    job_id: UUID,
    *,
    clock: Clock,
    lease_seconds: float,
    max_attempts: int,
    lease_owner: str | None = None,
    devices: Collection[str] = DEVICES,
) -> Claim | None:
    """Take a job that waits, or whose worker has fallen silent, and spend its reservation unless an earlier claim did.

    When the transaction commits, the claim and the spend are durable together; only then may rows be opened. A job
    that was cancelled meanwhile, has used up its attempts or holds an altered plan is ended here instead.

    Args:
        lease_seconds: how long the claim holds without a heartbeat.
        max_attempts: number of attempts without progress after which the job of a silent worker is given up.
        lease_owner: the claiming process (`leases.this_process`); None if nobody shall see it die.
        devices: the kinds of device whose trainings the worker serves.

    Returns:
        The claim, or None: another worker holds the job, it has ended or was ended here, waits for another kind of device, or its dataset is frozen.

    Raises:
        JobNotFound: no such job.
    """
    job = repository.lock(session, job_id)
    now = clock.now()
    if not JOBS.is_claimable(job, now=now) or (job.device is not None and job.device not in devices):
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
        JOBS.take(job, now=now, seconds=lease_seconds, owner=lease_owner)
        job.attempts += 1
        job.started_at = job.started_at or now
        job.claimed_at = now
        session.flush()
        return _claim_of(session, job, plan)
    session.flush()
    return None


def held_claim(session: Session, job_id: UUID, *, fence: int) -> Claim:
    """The claim again, for a child process that was given only the job and the fence.

    Raises:
        LeaseLost: the fence does not hold the job.
    """
    job = JOBS.held(session, job_id, fence=fence)
    return _claim_of(session, job, ordered_plan_from_json(job.plan))


def heartbeat(
    session: Session, claim: Claim, *, clock: Clock, lease_seconds: float, show_marks: bool = False
) -> bool:
    """Renew the lease. Returns whether a person asked to cancel.

    Args:
        lease_seconds: how long the claim holds from now on.
        show_marks: whether the newest mark becomes visible to the world.

    Raises:
        LeaseLost: another worker took over, or the job has ended.
    """
    values: dict[Any, Any] = {Job.lease_expires_at: clock.now() + timedelta(seconds=lease_seconds)}
    if show_marks:
        values |= {Job.shown_stage: Job.stage, Job.shown_step: Job.step}
    cancelled_at = JOBS.write(
        session, claim.job_id, values, fence=claim.fence, returning=Job.cancel_requested_at
    )
    return cancelled_at is not None


def advance(session: Session, claim: Claim, *, stage: str, step: int, total: int) -> bool:
    """Write a progress mark before rows are touched for the steps below `step`. Returns whether to cancel.

    A settlement charges up to the mark, so commit it before the steps begin. Marks of "train" count steps of the plan;
    any mark at all means that the measurements (moment anchor or label histogram) have begun.

    Raises:
        LeaseLost: another worker took over, or the job has ended.
        IllegalMark: no such stage, or steps that the plan does not have.
    """
    if stage not in STAGES or not 0 <= step <= total or (stage == TRAINING and total != claim.plan.steps):
        raise IllegalMark
    values = repository.mark(stage=stage, step=step, total=total)
    cancelled_at = JOBS.write(
        session, claim.job_id, values, fence=claim.fence, returning=Job.cancel_requested_at
    )
    return cancelled_at is not None


def _claim_of(session: Session, job: Job, plan: OrderedPlan) -> Claim:
    # Check constraints of the table, and `claim`: a running job has all three.
    assert job.sealed_randomness_key is not None
    assert job.claimed_at is not None
    assert job.lease_expires_at is not None
    return Claim(
        job_id=job.id,
        dataset_id=job.dataset_id,
        population_id=repository.population_of(session, job.dataset_id),
        ordered_by=job.ordered_by,
        fence=job.fence,
        attempts=job.attempts,
        plan=plan,
        plan_digest=job.plan_digest,
        sealed_randomness_key=job.sealed_randomness_key,
        steps_begun=job.steps_begun,
        cancel_requested=job.cancel_requested_at is not None,
        claimed_at=job.claimed_at,
        lease_expires_at=job.lease_expires_at,
        request_id=job.request_id,
        trace_context=job.trace_context,
        device=job.device,
        stage=job.stage,
        step=job.step,
    )


def _spent(session: Session, job: Job, *, clock: Clock) -> bool:
    """Spend the reservation, unless an earlier claim did. The job of a frozen dataset stays queued instead.

    A job over several datasets does not keep the other owners' budgets reserved: it ends, and nothing is charged.
    """
    try:
        ledger.spend(session, job.id, fence=job.fence + 1, clock=clock)
    except PopulationFrozen:
        return False
    except OwnerWithdrew:
        ledger.void(session, job.id, clock=clock)
        end(job, JobState.FAILED, at=clock.now(), failure_code=OWNER_WITHDREW)
        return False
    return True


def _plan_as_reserved(session: Session, job: Job) -> OrderedPlan | None:
    """The job's plan if it is to the letter what was ordered and reserved, else None."""
    try:
        plan = ordered_plan_from_json(job.plan)
    except UnderstudyError:
        return None
    owners = owners_of(plan)
    payers = [UUID(owner.population_id) for owner in owners] or [
        repository.population_of(session, job.dataset_id)
    ]
    cost = mechanisms.to_json(plan.mechanism)
    paid = ledger_queries.reserved_mechanisms(session, job.id)
    return plan if plan.digest() == job.plan_digest and paid == dict.fromkeys(payers, cost) else None


def _refuse_altered(session: Session, job: Job, *, clock: Clock) -> None:
    get_logger().error("plan-altered", job_id=str(job.id))
    if ledger_queries.reservation_of(session, job.id).state is EntryKind.RESERVED:
        ledger.void(session, job.id, clock=clock)
    end(job, JobState.FAILED, at=clock.now(), failure_code=PLAN_ALTERED)
