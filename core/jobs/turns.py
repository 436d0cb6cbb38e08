"""Fair turns: a free worker takes a job of the person with the fewest running jobs, served the longest ago.

A message only says that something waits. Without this rule the person who orders first keeps every worker until the last of their
orders has run. Only public facts decide: who ordered, when jobs were claimed, and how many of them run.

Utility reports, trainings on CPUs and trainings on GPUs wait in different queues (core.jobs.queue). A worker decides among the jobs
of the queues that it serves.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy import ColumnElement, ScalarSelect, SQLColumnExpression, and_, exists, func, or_, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session, aliased

from core.db.tables.budget import Budget
from core.db.tables.dataset import Dataset
from core.db.tables.job import DEVICES, Job
from core.db.tables.job_member import JobMember
from core.jobs.states import JobState
from core.plan.utility_reports.plan import KIND as REPORT

if TYPE_CHECKING:
    # A training child imports this module and sends nothing: it starts without the broker's libraries.
    from core.jobs.queue import Queue


def announce(queue: "Queue", job_id: UUID, plan: Mapping[str, Any], device: str | None) -> None:
    """Send a job's message to the workers that serve its kind; `plan` is the stored document."""
    if plan.get("kind") == REPORT:
        queue.enqueue_measuring(job_id)
    else:
        queue.enqueue_training(job_id, device=device)


def announce_all(session: Session, queue: "Queue", job_ids: Iterable[UUID]) -> None:
    """Send the messages of jobs again, each to the workers that serve its kind."""
    chosen = select(Job.id, Job.device, _is_report(Job)).where(Job.id.in_(job_ids))
    for job_id, device, is_report in session.execute(chosen).all():
        announce(queue, job_id, {"kind": REPORT} if is_report else {}, device)


def next_in_turn(
    session: Session,
    *,
    now: datetime,
    reports: bool = False,
    devices: Collection[str] = DEVICES,
    without: Collection[UUID] = (),
) -> UUID | None:
    """The waiting job that a free worker should claim; None if there is none that could be claimed.

    Only the oldest waiting job of each person counts. Jobs of frozen populations that have spent nothing yet do not count.

    Args:
        session: An open transaction; nothing is locked.
        reports: Whether the worker serves utility reports instead of all other jobs.
        devices: The kinds of device whose trainings the worker serves.
        without: Jobs that could not be claimed before.
    """
    first = (
        select(Job.id, Job.ordered_by, Job.created_at)
        .ext(distinct_on(Job.ordered_by))
        .where(_can_run(now), _is_served(Job, devices, reports=reports), Job.id.not_in(without))
        .order_by(Job.ordered_by, Job.created_at, Job.id)
        .subquery()
    )
    each = aliased(Job)
    served = (
        select(func.max(each.claimed_at))
        .where(each.ordered_by == first.c.ordered_by, _is_served(each, devices, reports=reports))
        .scalar_subquery()
    )
    return session.scalar(
        select(first.c.id)
        .order_by(
            _running(first.c.ordered_by, now, devices, reports=reports),
            served.asc().nulls_first(),
            first.c.created_at,
            first.c.id,
        )
        .limit(1)
    )


def should_make_room(
    session: Session, person: UUID, *, now: datetime, devices: Collection[str] = DEVICES
) -> bool:
    """Whether another person with fewer running trainings waits for one that this worker serves.

    Args:
        person: The principal who ordered the running training.
        devices: The kinds of device whose trainings the worker serves.
    """
    mine = session.scalars(select(_running(person, now, devices, reports=False))).one()
    waiting = select(Job.id).where(
        _can_run(now),
        _is_served(Job, devices, reports=False),
        Job.ordered_by != person,
        _running(Job.ordered_by, now, devices, reports=False) < mine,
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


def _is_report(job: type[Job]) -> ColumnElement[bool]:
    """Condition: the job measures a utility report. Plans of one training name no kind, hence never null."""
    return func.coalesce(job.plan["kind"].as_string(), "") == REPORT


def _is_served(job: type[Job], devices: Collection[str], *, reports: bool) -> ColumnElement[bool]:
    """Condition: the job is one of the queues that a worker serves."""
    if reports:
        return _is_report(job)
    return and_(~_is_report(job), or_(job.device.is_(None), job.device.in_(devices)))


def _running(
    person: SQLColumnExpression[UUID] | UUID, now: datetime, devices: Collection[str], *, reports: bool
) -> ScalarSelect[int]:
    """Number of a person's jobs of a worker's queues that live workers hold."""
    each = aliased(Job)
    return (
        select(func.count(each.id))
        .where(
            each.ordered_by == person,
            each.state == JobState.RUNNING.value,
            each.lease_expires_at >= now,
            _is_served(each, devices, reports=reports),
        )
        .scalar_subquery()
    )
