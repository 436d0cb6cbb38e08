"""All SQL that shows jobs; their states are changed in core.jobs alone."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.access.roles import Principal
from core.db.tables.dataset import Dataset
from core.db.tables.job import Job
from core.jobs.errors import JobNotFound
from service.datasets.repository import visible_to
from service.paging import page_of


def visible(session: Session, job_id: UUID, principal: Principal) -> Job:
    """A job the principal may see: whoever sees a dataset sees the jobs on it.

    Raises:
        JobNotFound: No such job, or not for this principal.
    """
    query = select(Job).join(Dataset, Dataset.id == Job.dataset_id)
    row = session.scalar(query.where(Job.id == job_id, visible_to(principal)))
    if row is None:
        raise JobNotFound("There is no such job.", remedy="List the jobs with GET /v1/jobs.")
    return row


def page(
    session: Session, principal: Principal, *, dataset_id: UUID | None, limit: int, before: UUID | None
) -> tuple[Sequence[Job], UUID | None]:
    """A page of the jobs the principal may see, of one dataset where one is named."""
    query = select(Job).join(Dataset, Dataset.id == Job.dataset_id).where(visible_to(principal))
    if dataset_id is not None:
        query = query.where(Job.dataset_id == dataset_id)
    return page_of(session, query, Job, limit=limit, before=before)
