"""All SQL that reads utility reports. They are visible to everyone who can see the dataset that was charged."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from core.db.tables.dataset import Dataset
from core.db.tables.utility_report import UtilityReport
from core.platform.access.roles import Principal
from service.datasets.repository import visible_to
from service.paging import page_of
from service.utility_reports.errors import UtilityReportNotFound


def visible(session: Session, report_id: UUID, principal: Principal) -> UtilityReport:
    """A report the principal may see.

    Raises:
        UtilityReportNotFound: No such report, or not for this principal.
    """
    row = session.scalar(_seen_by(principal).where(UtilityReport.id == report_id))
    if row is None:
        raise UtilityReportNotFound
    return row


def page(
    session: Session, release_id: UUID, principal: Principal, *, limit: int, before: UUID | None
) -> tuple[Sequence[UtilityReport], UUID | None]:
    """A page of the reports of a release that the principal may see: of several owners' release, those charged to datasets that it sees."""
    query = _seen_by(principal).where(UtilityReport.release_id == release_id)
    return page_of(session, query, UtilityReport, limit=limit, before=before)


def dataset_of(session: Session, report: UtilityReport) -> Dataset:
    """The dataset of a report already known to be visible."""
    return session.get_one(Dataset, report.dataset_id)


def _seen_by(principal: Principal) -> Select[UtilityReport]:
    charged = select(UtilityReport).join(Dataset, Dataset.id == UtilityReport.dataset_id)
    return charged.where(visible_to(principal))
