"""Fair turns: a free worker takes a job of the person with the fewest running jobs, served the longest ago.

A message only says that something waits. Without this rule whoever orders first keeps every worker until the last of their
orders has run. Only public facts decide: who ordered, when jobs were claimed, and how many of them run.
"""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, ScalarSelect, SQLColumnExpression, and_, exists, func, or_, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session, aliased

from core.db.tables.budget import Budget
from core.db.tables.dataset import Dataset
from core.db.tables.job import Job
from core.db.tables.job_member import JobMember
from core.jobs.states import JobState


def next_in_turn(session: Session, *, now: datetime, without: Collection[UUID] = ()) -> UUID | None:
    """The waiting job that a free worker should claim; None if there is none that could be claimed.

    Only the oldest waiting job of each person counts. Jobs of frozen populations that have spent nothing yet do not count.

    Args:
        session: An open transaction; nothing is locked.
        now: Judges leases.
        without: Jobs that could not be claimed before.
    """
    first = (
        select(Job.id, Job.ordered_by, Job.created_at)
        .ext(distinct_on(Job.ordered_by))
        .where(_can_run(now), Job.id.not_in(without))
        .order_by(Job.ordered_by, Job.created_at, Job.id)
        .subquery()
    )
    each = aliased(Job)
    served = select(func.max(each.claimed_at)).where(each.ordered_by == first.c.ordered_by).scalar_subquery()
    return session.scalar(
        select(first.c.id)
        .order_by(
            _running(first.c.ordered_by, now), served.asc().nulls_first(), first.c.created_at, first.c.id
        )
        .limit(1)
    )


def should_make_room(session: Session, person: UUID, *, now: datetime) -> bool:
    """Whether somebody with fewer running jobs than this person waits.

    Args:
        session: An open transaction.
        person: The principal who ordered the running job.
        now: Judges leases.
    """
    mine = session.scalars(select(_running(person, now))).one()
    waiting = select(Job.id).where(
        _can_run(now), Job.ordered_by != person, _running(Job.ordered_by, now) < mine
    )
    return session.scalar(select(waiting.exists())) is True


def _can_run(now: datetime) -> ColumnElement[bool]:
    """Condition: the job waits without a live worker and may be claimed."""
    # A job over several ledgers is claimed nevertheless: the claim voids it in all of them.
    frozen = exists().where(
        Dataset.id == Job.dataset_id,
        ~exists().where(JobMember.job_id == Job.id),
        Budget.population_id == Dataset.population_id,
        Budget.frozen_at.is_not(None),
    )
    return or_(
        and_(Job.state == JobState.QUEUED.value, or_(Job.started_at.is_not(None), ~frozen)),
        and_(Job.state == JobState.RUNNING.value, Job.lease_expires_at < now),
    )


def _running(person: SQLColumnExpression[UUID] | UUID, now: datetime) -> ScalarSelect[int]:
    """Number of a person's jobs that live workers hold."""
    each = aliased(Job)
    return (
        select(func.count(each.id))
        .where(each.ordered_by == person, each.state == JobState.RUNNING.value, each.lease_expires_at >= now)
        .scalar_subquery()
    )
