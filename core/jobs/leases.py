"""Claims: a lease on a job with a fencing number. Whoever lost the lease can write nothing any more."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy.orm import Session

from core.clock import Clock
from core.db.tables.job import Job
from core.jobs import repository
from core.jobs.errors import IllegalMark, LeaseLost
from core.jobs.states import STAGES, TRAINING, JobState
from core.synthesis.selection import OrderedPlan, ordered_plan_from_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One worker's hold on one job.

    Args:
        job_id: the job.
        dataset_id: whose rows it reads.
        population_id: whose ledger it is paid from.
        ordered_by: whose job it is.
        fence: rises with every claim; only the highest may write.
        attempts: how many claims there have been since the job last came further, this one included; none that was handed back.
        plan: what to run, to the letter.
        plan_digest: SHA-256 of the plan, in hexadecimal.
        sealed_randomness_key: the key of all the job's randomness, sealed; the same for every attempt.
        steps_begun: the highest durable mark of earlier attempts.
        cancel_requested: whether a person asked to cancel.
        lease_expires_at: until when the lease holds without a heartbeat.
        request_id: the request that ordered the job, for logs; None if unknown.
        trace_context: the trace that the order belongs to; None if it was not traced.
    """

    job_id: UUID
    dataset_id: UUID
    population_id: UUID
    ordered_by: UUID
    fence: int
    attempts: int
    plan: OrderedPlan
    plan_digest: str
    sealed_randomness_key: bytes
    steps_begun: int
    cancel_requested: bool
    lease_expires_at: datetime
    request_id: str | None = None
    trace_context: str | None = None


def claim_of(session: Session, job: Job, plan: OrderedPlan) -> Claim:
    """The claim that the present state of a running job amounts to."""
    # Check constraints of the table: a running job has both.
    assert job.sealed_randomness_key is not None
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
        lease_expires_at=job.lease_expires_at,
        request_id=job.request_id,
        trace_context=job.trace_context,
    )


def held_claim(session: Session, job_id: UUID, *, fence: int) -> Claim:
    """The claim again, for a child process that was told only the job and the fence.

    Raises:
        JobNotFound: no such job.
        LeaseLost: the fence does not hold the job.
    """
    job = repository.find(session, job_id)
    if job.fence != fence or job.state != JobState.RUNNING:
        raise LeaseLost
    return claim_of(session, job, ordered_plan_from_json(job.plan))


def locked(session: Session, claim: Claim) -> Job:
    """The job's row, locked, if the claim holds it.

    Raises:
        LeaseLost: it does not.
    """
    job = repository.lock(session, claim.job_id)
    if job.fence != claim.fence or job.state != JobState.RUNNING:
        raise LeaseLost
    return job


def heartbeat(
    session: Session, claim: Claim, *, clock: Clock, lease_seconds: float, show_marks: bool = False
) -> bool:
    """Extend the lease. Returns whether a person asked to cancel.

    A late heartbeat of a claim that nobody has taken over is still good.

    Args:
        session: the open transaction.
        claim: whose lease.
        clock: judges leases.
        lease_seconds: how long the claim holds from now on.
        show_marks: whether the newest mark becomes what the world sees.

    Raises:
        LeaseLost: another worker took over, or the job has ended.
    """
    expires = clock.now() + timedelta(seconds=lease_seconds)
    found = repository.renew(
        session, claim.job_id, fence=claim.fence, lease_expires_at=expires, show_marks=show_marks
    )
    if found is None:
        raise LeaseLost
    return found[0] is not None


def advance(session: Session, claim: Claim, *, stage: str, step: int, total: int) -> bool:
    """Write a progress mark, before rows are touched for the steps below `step`. Returns whether to cancel.

    The mark is what a settlement charges: commit it before the steps begin. Marks of "train" count steps of the plan;
    any mark at all means that the measurements (moment anchor or label histogram) have begun.

    Raises:
        LeaseLost: another worker took over, or the job has ended.
        IllegalMark: no such stage, or steps that the plan does not have.
    """
    if stage not in STAGES or not 0 <= step <= total or (stage == TRAINING and total != claim.plan.steps):
        raise IllegalMark
    found = repository.mark(session, claim.job_id, fence=claim.fence, stage=stage, step=step, total=total)
    if found is None:
        raise LeaseLost
    return found[0] is not None
