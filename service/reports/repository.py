"""All SQL that shows owner reports: every statement asks for the owner of the dataset, whatever other roles a key has."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.access.roles import Principal
from core.db.tables.dataset import Dataset
from core.db.tables.owner_report import OwnerReport
from core.db.tables.release import Release
from service.releases.errors import ReleaseNotFound
from service.reports.errors import OwnerReportNotFound

MOST: Final = 200
"""Of a release so many reports are listed; there is at most one for each column, and those that failed."""


def owned_release(session: Session, release_id: UUID, principal: Principal) -> Release:
    """A release of a dataset that belongs to the principal.

    Raises:
        ReleaseNotFound: No such release, or of somebody else's dataset.
    """
    query = select(Release).join(Dataset, Dataset.id == Release.dataset_id)
    found = session.scalar(query.where(Release.id == release_id, Dataset.owner_id == principal.id))
    if found is None:
        raise ReleaseNotFound
    return found


def of_release(session: Session, release_id: UUID) -> Sequence[OwnerReport]:
    """The reports on a release, newest first."""
    query = select(OwnerReport).where(OwnerReport.release_id == release_id)
    newest = query.order_by(OwnerReport.created_at.desc(), OwnerReport.id.desc())
    return session.scalars(newest.limit(MOST)).all()


def owned(
    session: Session, report_id: UUID, principal: Principal, *, lock: bool = False
) -> tuple[OwnerReport, Dataset]:
    """A report on a dataset that belongs to the principal, with the dataset.

    Args:
        session: The transaction.
        report_id: The report.
        principal: Who asks.
        lock: Whether the report's row is locked until the transaction ends.

    Raises:
        OwnerReportNotFound: No such report, or on somebody else's dataset.
    """
    query = select(OwnerReport, Dataset).join(Dataset, Dataset.id == OwnerReport.dataset_id)
    query = query.where(OwnerReport.id == report_id, Dataset.owner_id == principal.id)
    found = session.execute(query.with_for_update(of=OwnerReport) if lock else query).one_or_none()
    if found is None:
        raise OwnerReportNotFound
    return found.OwnerReport, found.Dataset
