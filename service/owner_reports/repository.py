"""All SQL that reads owner reports. Every statement requires the dataset's owner, regardless of other roles of the key."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.db.tables.dataset import Dataset
from core.db.tables.owner_report import OwnerReport
from core.db.tables.release import Release
from core.platform.access.roles import Principal
from service.owner_reports.errors import OwnerReportNotFound
from service.releases.errors import ReleaseNotFound

MOST: Final = 200
"""Maximum number of listed reports per release; there is at most one per column, plus failed ones."""


def owned_release(session: Session, release_id: UUID, principal: Principal) -> Release:
    """A release of a dataset of the principal.

    Raises:
        ReleaseNotFound: No such release, or of someone else's dataset.
    """
    query = select(Release).join(Dataset, Dataset.id == Release.dataset_id)
    found = session.scalar(query.where(Release.id == release_id, Dataset.owner_id == principal.id))
    if found is None:
        raise ReleaseNotFound
    return found


def of_release(session: Session, release_id: UUID) -> Sequence[OwnerReport]:
    """The reports of a release, newest first."""
    query = select(OwnerReport).where(OwnerReport.release_id == release_id)
    newest = query.order_by(OwnerReport.created_at.desc(), OwnerReport.id.desc())
    return session.scalars(newest.limit(MOST)).all()


def owned(
    session: Session, report_id: UUID, principal: Principal, *, lock: bool = False
) -> tuple[OwnerReport, Dataset]:
    """A report on a dataset of the principal, with the dataset; `lock` holds the report's row until the transaction ends.

    Raises:
        OwnerReportNotFound: No such report, or on someone else's dataset.
    """
    query = select(OwnerReport, Dataset).join(Dataset, Dataset.id == OwnerReport.dataset_id)
    query = query.where(OwnerReport.id == report_id, Dataset.owner_id == principal.id)
    found = session.execute(query.with_for_update(of=OwnerReport) if lock else query).one_or_none()
    if found is None:
        raise OwnerReportNotFound
    return found.OwnerReport, found.Dataset
