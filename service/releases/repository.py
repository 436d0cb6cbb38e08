"""All SQL on the table of releases. Releases are visible to everyone who can see the dataset."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.artifacts.sampling.generator_check import MEMBER
from core.db.tables.dataset import Dataset
from core.db.tables.release import Release
from core.platform.access.roles import Principal
from service.datasets.repository import visible_to
from service.paging import page_of
from service.releases.errors import ReleaseNotFound

Published = dict[UUID, tuple[UUID, dict[str, Any] | None]]
"""By job: its release, and the member `generator_check` of the release's certificate."""


def visible(session: Session, release_id: UUID, principal: Principal) -> Release:
    """A release that the principal may see.

    Raises:
        ReleaseNotFound: No such release, or not visible to this principal.
    """
    query = select(Release).join(Dataset, Dataset.id == Release.dataset_id)
    row = session.scalar(query.where(Release.id == release_id, visible_to(principal)))
    if row is None:
        raise ReleaseNotFound
    return row


def page(
    session: Session,
    principal: Principal,
    *,
    dataset_id: UUID | None,
    job_id: UUID | None,
    limit: int,
    before: UUID | None,
) -> tuple[Sequence[Release], UUID | None]:
    """A page of the releases that the principal may see, optionally of one dataset or job."""
    query = select(Release).join(Dataset, Dataset.id == Release.dataset_id).where(visible_to(principal))
    if dataset_id is not None:
        query = query.where(Release.dataset_id == dataset_id)
    if job_id is not None:
        query = query.where(Release.job_id == job_id)
    return page_of(session, query, Release, limit=limit, before=before)


def newest(session: Session, dataset_id: UUID, principal: Principal, *, limit: int) -> Sequence[Release]:
    """The newest releases of a dataset that the principal may see, newest first."""
    rows, _next = page(session, principal, dataset_id=dataset_id, job_id=None, limit=limit, before=None)
    return rows


def published_by(session: Session, job_ids: Sequence[UUID]) -> Published:
    """The releases of those given jobs that published one."""
    found = select(Release.job_id, Release.id, Release.certificate[MEMBER])
    rows = session.execute(found.where(Release.job_id.in_(job_ids)))
    return {job_id: (release_id, check) for job_id, release_id, check in rows}
