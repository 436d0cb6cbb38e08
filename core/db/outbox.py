"""The transactional outbox: events are written in the transaction that they report, so a rollback discards them.

An event has the public time of what it reports. The end of a training is written at a coarse boundary and has
its time (core.jobs.visible_progress), so neither a notification nor a row exists before it.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID, uuid4

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from core.db.tables.budget_request import BudgetRequest
from core.db.tables.dataset import Dataset
from core.db.tables.job import Job
from core.db.tables.job_member import JobMember
from core.db.tables.notification_event import NotificationEvent
from core.db.tables.release import Release


class Kind(StrEnum):
    """One kind of event. `TEST` is sent on request, to the tested endpoint only."""

    REQUEST_FILED = "budget-request.filed"
    REQUEST_APPROVED = "budget-request.approved"
    REQUEST_DENIED = "budget-request.denied"
    REQUEST_WITHDRAWN = "budget-request.withdrawn"
    REQUEST_EXPIRED = "budget-request.expired"
    BUDGET_LOW = "budget.low"
    DATASET_FROZEN = "dataset.frozen"
    JOB_SUCCEEDED = "job.succeeded"
    JOB_FAILED = "job.failed"
    JOB_CANCELLED = "job.cancelled"
    RELEASE_PUBLISHED = "release.published"
    RECOVERY_MADE = "recovery.made"
    RECOVERY_ACCEPTED = "recovery.accepted"
    RECOVERY_CANCELLED = "recovery.cancelled"
    TEST = "test"
    CONFIRM = "address.confirm"


_OF_REQUEST: Final = {
    "open": Kind.REQUEST_FILED,
    "approved": Kind.REQUEST_APPROVED,
    "denied": Kind.REQUEST_DENIED,
    "withdrawn": Kind.REQUEST_WITHDRAWN,
    "expired": Kind.REQUEST_EXPIRED,
}
_OF_JOB: Final = {
    "succeeded": Kind.JOB_SUCCEEDED,
    "failed": Kind.JOB_FAILED,
    "cancelled": Kind.JOB_CANCELLED,
}


def notify_request(session: Session, request: BudgetRequest, *, at: datetime) -> None:
    """Notify a request's author, and those who decide on it, of its new state."""
    add_event(
        session,
        _OF_REQUEST[request.state],
        dataset_id=request.dataset_id,
        at=at,
        about=request.requested_by,
        ids={"request_id": request.id},
    )


def notify_job(session: Session, job: Job, *, at: datetime) -> None:
    """Notify all who may see the dataset, or one of the datasets of several owners, that a job on it has ended."""
    for dataset_id in _datasets_of(session, job.id, job.dataset_id):
        add_event(session, _OF_JOB[job.state], dataset_id=dataset_id, at=at, ids={"job_id": job.id})


def notify_release(session: Session, release: Release, *, at: datetime) -> None:
    """Notify all who may see a dataset of a release."""
    for dataset_id in _datasets_of(session, release.job_id, release.dataset_id):
        add_event(
            session,
            Kind.RELEASE_PUBLISHED,
            dataset_id=dataset_id,
            at=at,
            ids={"job_id": release.job_id, "release_id": release.id},
        )


def _datasets_of(session: Session, job_id: UUID, first: UUID) -> list[UUID]:
    members = select(JobMember.dataset_id).where(JobMember.job_id == job_id).order_by(JobMember.dataset_id)
    return [first, *session.scalars(members)]


def notify_population(session: Session, kind: Kind, population_id: UUID, *, at: datetime) -> None:
    """Notify all who may see a dataset of the population."""
    datasets = select(Dataset.id).where(Dataset.population_id == population_id, Dataset.state != "deleted")
    for dataset_id in session.scalars(datasets.order_by(Dataset.created_at, Dataset.id)).all():
        add_event(session, kind, dataset_id=dataset_id, at=at, ids={"population_id": population_id})


def notify_principal(session: Session, kind: Kind, about: UUID, *, at: datetime, **ids: UUID) -> None:
    """Notify a principal, and those who oversee the installation, of an event without a dataset."""
    add_event(session, kind, dataset_id=None, at=at, about=about, ids=ids)


def add_event(
    session: Session,
    kind: Kind,
    *,
    dataset_id: UUID | None,
    at: datetime,
    ids: Mapping[str, UUID],
    about: UUID | None = None,
    spread_at: datetime | None = None,
) -> UUID:
    """Add an event to the outbox.

    Args:
        ids: what the event is about, by name.
        about: the principal whom the event concerns.
        spread_at: when its deliveries were queued; None until the dispatcher has done so.
    """
    event_id = uuid4()
    # A statement of its own, independent of the session's pending objects.
    session.execute(
        insert(NotificationEvent).values(
            id=event_id,
            at=at,
            kind=kind.value,
            dataset_id=dataset_id,
            about=about,
            facts={name: str(identity) for name, identity in ids.items()},
            spread_at=spread_at,
        )
    )
    return event_id
