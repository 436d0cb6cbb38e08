"""All SQL that shows charged reports; whoever sees a release sees what was measured of it."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.access.roles import Principal
from core.db.tables.charged_report import ChargedReport
from core.db.tables.dataset import Dataset
from service.charged_reports.errors import ChargedReportNotFound
from service.datasets.repository import visible_to
from service.paging import page_of


def visible(session: Session, report_id: UUID, principal: Principal) -> ChargedReport:
    """A report the principal may see.

    Raises:
        ChargedReportNotFound: No such report, or not for this principal.
    """
    query = select(ChargedReport).join(Dataset, Dataset.id == ChargedReport.dataset_id)
    row = session.scalar(query.where(ChargedReport.id == report_id, visible_to(principal)))
    if row is None:
        raise ChargedReportNotFound
    return row


def page(
    session: Session, release_id: UUID, *, limit: int, before: UUID | None
) -> tuple[Sequence[ChargedReport], UUID | None]:
    """A page of the reports about a release that is known to be visible."""
    query = select(ChargedReport).where(ChargedReport.release_id == release_id)
    return page_of(session, query, ChargedReport, limit=limit, before=before)
