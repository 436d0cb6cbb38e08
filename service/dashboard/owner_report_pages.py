"""The section of a release's page that only the owner of the rows sees: owner reports, their states and files."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from fastapi import APIRouter, Response

from core.artifacts.reports.columns import target_note, target_of
from core.plan.domain.declared import domain_from_json
from core.plan.domain.table import TableDomain
from service.dashboard.forms import order
from service.dashboard.rendering import sent_on
from service.dashboard.visit import CurrentVisit, Visit
from service.datasets.schemas import DatasetView
from service.owner_reports.endpoints import (
    delete_sealed_report,
    list_sealed_reports,
    order_sealed_report,
    read_sealed_report_summary,
)
from service.owner_reports.schemas import SealedReportOrder, SealedReportSummary, SealedReportView

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerPart:
    """The owner report section.

    Attributes:
        reports: Existing reports, newest first.
        columns: The columns that can be predicted; none of images, whose label is the only one.
        target_note: Why that column, where the domain declares no target.
        summary: The newest report that was made, in a few sentences; None before there is one.
    """

    reports: Sequence[SealedReportView]
    columns: Sequence[str]
    target: str
    target_note: str | None
    summary: SealedReportSummary | None
    is_live: bool


def owner_part(visit: Visit, release_id: UUID, dataset: DatasetView | None) -> OwnerPart | None:
    """The section for the owner of the dataset; None for anyone else and after the rows are destroyed.

    Showing the summary is reading the report, which the audit log records once a day.
    """
    if dataset is None or dataset.state != "ready":
        return None
    found = visit.find(list_sealed_reports, release_id=release_id)
    if found is None:
        return None
    domain = domain_from_json(dataset.domain)
    made = next((report for report in found.items if report.file), None)
    target = target_of(domain, None)
    return OwnerPart(
        reports=found.items,
        columns=[column.name for column in domain.coded_columns] if isinstance(domain, TableDomain) else [],
        target=target,
        target_note=target_note(domain, target) if isinstance(domain, TableDomain) else None,
        summary=None if made is None else visit.ask(read_sealed_report_summary, sealed_report_id=made.id),
        is_live=any(report.state in {"queued", "running"} for report in found.items),
    )


@router.post("/releases/{release_id}/sealed-report")
def order_report(release_id: UUID, visit: CurrentVisit) -> Response:
    """Order a report."""
    wanted = order(SealedReportOrder, target=visit.form.text("target"))
    visit.ask(order_sealed_report, release_id=release_id, order=wanted, response=Response())
    return sent_on(f"/releases/{release_id}?done=report-ordered#sealed")


@router.post("/releases/{release_id}/sealed-report/{sealed_report_id}/delete")
def remove_report(release_id: UUID, sealed_report_id: UUID, visit: CurrentVisit) -> Response:
    """Delete a report."""
    visit.ask(delete_sealed_report, sealed_report_id=sealed_report_id)
    return sent_on(f"/releases/{release_id}?done=report-deleted#sealed")
