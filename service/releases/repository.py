"""All SQL on the table of releases. Releases are visible to everyone who can see the dataset."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, func, or_, select
from sqlalchemy.orm import Session

from core.artifacts.private_models.constancy_check import MEMBER as MODEL_MEMBER
from core.artifacts.sampling.generator_check import MEMBER
from core.db.tables.dataset import Dataset
from core.db.tables.job_member import JobMember
from core.db.tables.release import Release
from core.platform.access.roles import Principal
from service.datasets.repository import visible_to
from service.paging import page_of
from service.releases.errors import ReleaseNotFound

Published = dict[UUID, tuple[UUID, dict[str, Any] | None]]
"""Release of each job, and the member `generator_check` of the release's certificate."""


def made_from_one_of(datasets: Select[UUID] | Collection[UUID]) -> ColumnElement[bool]:
    """The condition for releases made from the rows of one of these datasets, alone or together with others."""
    members = select(JobMember.job_id).where(JobMember.dataset_id.in_(datasets))
    return or_(Release.dataset_id.in_(datasets), Release.job_id.in_(members))


def visible(session: Session, release_id: UUID, principal: Principal) -> Release:
    """A release that the principal may see.

    Raises:
        ReleaseNotFound: No such release, or not visible to this principal.
    """
    seen = select(Dataset.id).where(visible_to(principal))
    row = session.scalar(select(Release).where(Release.id == release_id, made_from_one_of(seen)))
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
    query = select(Release).where(made_from_one_of(select(Dataset.id).where(visible_to(principal))))
    if dataset_id is not None:
        query = query.where(made_from_one_of([dataset_id]))
    if job_id is not None:
        query = query.where(Release.job_id == job_id)
    return page_of(session, query, Release, limit=limit, before=before)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """First lines of a release's certificate; None for members that an older form does not have.

    Attributes:
        unit: The privacy unit with its column, which is None for a record.
        target: What a private model predicts.
        domain_schema: Form of the domain of its dataset, if the principal may see the dataset.
    """

    schema: str | None
    guarantee: Mapping[str, float] | None
    unit: Mapping[str, Any] | None
    target: str | None
    domain_schema: str | None


def stated(session: Session, release_ids: Collection[UUID], principal: Principal) -> Mapping[UUID, Stated]:
    """First lines of the certificates of these releases, of those that the principal may see."""
    query = (
        select(
            Release.id,
            Release.certificate["schema"],
            Release.certificate["privacy_parameters"],
            Release.certificate["privacy_unit"],
            Release.certificate["plan"]["target"],
            Dataset.domain["schema"],
        )
        .outerjoin(Dataset, and_(Dataset.id == Release.dataset_id, visible_to(principal)))
        .where(Release.id.in_(release_ids), made_from_one_of(select(Dataset.id).where(visible_to(principal))))
    )
    return {
        release_id: Stated(schema=schema, guarantee=guarantee, unit=unit, target=target, domain_schema=domain)
        for release_id, schema, guarantee, unit, target, domain in session.execute(query)
    }


def published_by(session: Session, job_ids: Sequence[UUID]) -> Published:
    """The releases of those given jobs that published one."""
    found = select(
        Release.job_id,
        Release.id,
        func.coalesce(Release.certificate[MEMBER], Release.certificate[MODEL_MEMBER]),
    )
    rows = session.execute(found.where(Release.job_id.in_(job_ids)))
    return {job_id: (release_id, check) for job_id, release_id, check in rows}
