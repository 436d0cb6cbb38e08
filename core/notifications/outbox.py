"""The transactional outbox: events are written in the transaction that they report, so a rollback discards them.

An event has the public time of what it reports. The end of a training is written at a coarse boundary and has
its time (core.jobs.coarse), so neither a notification nor a row exists before it.
"""

from datetime import datetime
from typing import Final
from uuid import UUID, uuid4

from sqlalchemy.orm import Session

from core.db.tables.budget_request import BudgetRequest
from core.db.tables.job import Job
from core.db.tables.release import Release
from core.notifications import repository
from core.notifications.kinds import Kind

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


def tell_request(session: Session, request: BudgetRequest, *, at: datetime) -> None:
    """Notify a request's author, and those who decide on it, of its new state."""
    _tell(
        session,
        _OF_REQUEST[request.state],
        dataset_id=request.dataset_id,
        at=at,
        about=request.requested_by,
        request_id=request.id,
    )


def tell_job(session: Session, job: Job, *, at: datetime) -> None:
    """Notify all who may see the dataset that a job on it has ended."""
    _tell(session, _OF_JOB[job.state], dataset_id=job.dataset_id, at=at, job_id=job.id)


def tell_release(session: Session, release: Release, *, at: datetime) -> None:
    """Notify all who may see the dataset of a release."""
    _tell(
        session,
        Kind.RELEASE_PUBLISHED,
        dataset_id=release.dataset_id,
        at=at,
        job_id=release.job_id,
        release_id=release.id,
    )


def tell_population(session: Session, kind: Kind, population_id: UUID, *, at: datetime) -> None:
    """Notify all who may see a dataset of the population."""
    for dataset_id in repository.datasets_of(session, population_id):
        _tell(session, kind, dataset_id=dataset_id, at=at, population_id=population_id)


def tell_principal(session: Session, kind: Kind, about: UUID, *, at: datetime, **ids: UUID) -> None:
    """Notify a principal, and those who oversee the installation, of an event without a dataset."""
    _tell(session, kind, dataset_id=None, at=at, about=about, **ids)


def _tell(
    session: Session,
    kind: Kind,
    *,
    dataset_id: UUID | None,
    at: datetime,
    about: UUID | None = None,
    **ids: UUID,
) -> None:
    facts = {name: str(identity) for name, identity in ids.items()}
    repository.add_event(
        session, event_id=uuid4(), at=at, kind=kind.value, dataset_id=dataset_id, about=about, facts=facts
    )
