"""All SQL on jobs and releases: row locks and compare-and-set updates."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import and_, case, false, or_, select, update
from sqlalchemy.orm import Session

from core.db.tables.dataset import Dataset
from core.db.tables.job import Job
from core.db.tables.release import Release
from core.jobs.errors import JobNotFound
from core.jobs.states import TRAINING, JobState

BATCH = 100


def add(session: Session, row: Job | Release) -> None:
    """Insert a job or a release."""
    session.add(row)
    session.flush()


def find(session: Session, job_id: UUID) -> Job:
    """The job, freshly read, without a lock.

    Raises:
        JobNotFound: there is none.
    """
    job = session.get(Job, job_id, populate_existing=True)
    if job is None:
        raise JobNotFound("There is no such job.")
    return job


def lock(session: Session, job_id: UUID) -> Job:
    """The job, freshly read, with its row locked until the transaction ends.

    Raises:
        JobNotFound: there is none.
    """
    job = session.get(Job, job_id, populate_existing=True, with_for_update=True)
    if job is None:
        raise JobNotFound("There is no such job.")
    return job


def population_of(session: Session, dataset_id: UUID) -> UUID:
    """The population of a dataset that is known to exist."""
    return session.scalars(select(Dataset.population_id).where(Dataset.id == dataset_id)).one()


def renew(
    session: Session, job_id: UUID, *, fence: int, lease_expires_at: datetime, show_marks: bool
) -> tuple[datetime | None] | None:
    """Extend the lease if this fence still holds it, and show the newest mark to the world where told.

    Returns:
        The time of a cancel request (or None) in a tuple; None in its place if the fence does not hold the job.
    """
    shown: dict[Any, Any] = {Job.shown_stage: Job.stage, Job.shown_step: Job.step} if show_marks else {}
    row = session.execute(
        update(Job)
        .where(Job.id == job_id, Job.fence == fence, Job.state == JobState.RUNNING.value)
        .values({Job.lease_expires_at: lease_expires_at} | shown)
        .returning(Job.cancel_requested_at)
        .execution_options(synchronize_session=False)
    ).one_or_none()
    return None if row is None else (row.cancel_requested_at,)


def mark(
    session: Session, job_id: UUID, *, fence: int, stage: str, step: int, total: int
) -> tuple[datetime | None] | None:
    """Write a progress mark if this fence still holds the job; `steps_begun` only rises, and where it does, attempts count anew.

    Returns:
        As `renew`.
    """
    further = Job.steps_begun < step if stage == TRAINING else false()
    row = session.execute(
        update(Job)
        .where(Job.id == job_id, Job.fence == fence, Job.state == JobState.RUNNING.value)
        .values(
            stage=stage,
            step=step,
            total_steps=total,
            steps_begun=case((further, step), else_=Job.steps_begun),
            attempts=case((further, 1), else_=Job.attempts),
        )
        .returning(Job.cancel_requested_at)
        .execution_options(synchronize_session=False)
    ).one_or_none()
    return None if row is None else (row.cancel_requested_at,)


def lock_held(session: Session, *, now: datetime) -> Sequence[Job]:
    """Jobs under a live lease whose holder is known, locked; rows that somebody works on are skipped."""
    held = select(Job).where(
        Job.state == JobState.RUNNING.value, Job.lease_expires_at >= now, Job.lease_holder.is_not(None)
    )
    return session.scalars(held.with_for_update(skip_locked=True)).all()


def end_leases(session: Session, job_ids: Sequence[UUID], *, at: datetime) -> None:
    """Let the leases of locked jobs have run out just before a moment at which they are sent again."""
    session.execute(
        update(Job)
        .where(Job.id.in_(job_ids))
        .values(lease_expires_at=at - timedelta(microseconds=1), lease_holder=None, sent_at=at)
        .execution_options(synchronize_session=False)
    )


def take_overdue(session: Session, *, now: datetime, sent_before: datetime) -> list[UUID]:
    """Jobs without a live worker whose last message is older than `sent_before`, stamped as sent `now`.

    Rows that somebody works on are skipped: they are being looked after.
    """
    waiting = or_(
        Job.state == JobState.QUEUED.value,
        and_(Job.state == JobState.RUNNING.value, Job.lease_expires_at < now),
    )
    chosen = (
        select(Job.id)
        .where(waiting, Job.sent_at <= sent_before)
        .order_by(Job.sent_at)
        .limit(BATCH)
        .with_for_update(skip_locked=True)
    )
    rows = session.scalars(
        update(Job)
        .where(Job.id.in_(chosen.scalar_subquery()))
        .values(sent_at=now)
        .returning(Job.id)
        .execution_options(synchronize_session=False)
    )
    return list(rows)
