"""Owner reports: real rows compared with synthetic ones, sealed to the owner of the rows, at no privacy cost.

To everyone else, regardless of role, a report does not exist, neither in a list nor by its id. The audit log records that
the owner ordered, read or deleted one; nothing there, in logs or in metrics depends on its content.
"""

from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

from fastapi import APIRouter, Response
from sqlalchemy.orm import Session

from core.artifacts.reports.errors import ReportNotForModels, ReportTargetUnknown
from core.artifacts.reports.owner_files import read_report
from core.artifacts.reports.owner_orders import order_report
from core.artifacts.reports.owner_summary import OwnerSummary
from core.db.session import on_commit
from core.jobs.errors import DatasetDeleted
from core.platform.access.errors import RecoveryHold
from core.platform.access.roles import Principal
from core.platform.quotas import checks
from core.platform.quotas.errors import QuotaExceeded
from service.audit import record, record_daily
from service.context import AppContext
from service.datasets.repository import owned_for_update
from service.dependencies import CurrentPrincipal, InjectedContext, OpenSession
from service.owner_reports import repository
from service.owner_reports.errors import OwnerReportNotFound, OwnerReportNotMade
from service.owner_reports.schemas import (
    SealedReportList,
    SealedReportOrder,
    SealedReportSummary,
    SealedReportView,
)
from service.problem import problems
from service.releases.errors import ReleaseNotFound
from service.strict_route import StrictRoute

ACCEPTED: Final = HTTPStatus.ACCEPTED.value
NO_CONTENT: Final = HTTPStatus.NO_CONTENT.value
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"
_FILE: Final[dict[int | str, dict[str, Any]]] = {
    200: {"description": "One HTML file, for the owner only.", "content": {"text/html": {"schema": {"type": "string"}}}}
}  # fmt: skip

router = APIRouter(tags=["reports"], route_class=StrictRoute)


@router.post(
    "/releases/{release_id}/sealed-reports",
    status_code=ACCEPTED,
    summary="Order an owner report",
    responses=problems(ReleaseNotFound, ReportTargetUnknown, ReportNotForModels, DatasetDeleted, QuotaExceeded, RecoveryHold),
)  # fmt: skip
def order_sealed_report(
    release_id: UUID,
    order: SealedReportOrder,
    principal: CurrentPrincipal,
    context: InjectedContext,
    session: OpenSession,
    response: Response,
) -> SealedReportView:
    """Compare the release with the real rows, for the owner of the rows only. It costs no budget, because it is sealed.

    There is one report per release and column: ordering it again returns the existing report, unless it has failed.
    """
    checks.require_report(session, principal.id, limit=context.settings.quota_queued_jobs)
    release = repository.owned_release(session, release_id, principal)
    dataset = owned_for_update(session, release.dataset_id, principal)
    report, is_new = order_report(
        session,
        release=release,
        dataset=dataset,
        target=order.target,
        ordered_by=principal.id,
        queue=context.queue,
        clock=context.clock,
    )
    if is_new:
        record(session, principal, action="sealed-report.order", object_id=report.id, clock=context.clock)
    response.headers["Location"] = f"/v1/sealed-reports/{report.id}"
    return SealedReportView.of(report)


@router.get(
    "/releases/{release_id}/sealed-reports",
    summary="List the owner reports of a release",
    responses=problems(ReleaseNotFound, RecoveryHold),
)
def list_sealed_reports(
    release_id: UUID, principal: CurrentPrincipal, session: OpenSession
) -> SealedReportList:
    """The reports of a release, newest first. For the owner of the rows."""
    repository.owned_release(session, release_id, principal)
    return SealedReportList(
        items=[SealedReportView.of(row) for row in repository.of_release(session, release_id)]
    )


@router.get(
    "/sealed-reports/{sealed_report_id}", summary="Read the state of an owner report", responses=problems(OwnerReportNotFound, RecoveryHold)
)  # fmt: skip
def read_sealed_report(
    sealed_report_id: UUID, principal: CurrentPrincipal, session: OpenSession
) -> SealedReportView:
    """Its state, and the path of the file once it is ready. For the owner of the rows."""
    return SealedReportView.of(repository.owned(session, sealed_report_id, principal)[0])


@router.get(
    "/sealed-reports/{sealed_report_id}/file",
    summary="Download an owner report",
    response_class=Response,
    responses={**problems(OwnerReportNotFound, OwnerReportNotMade, RecoveryHold), **_FILE},
)
def download_sealed_report(
    sealed_report_id: UUID, principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> Response:
    """The report as one HTML file without scripts. NOT differentially private; for the owner only; reading is logged."""
    html = _opened(sealed_report_id, principal, context, session)
    record(session, principal, action="sealed-report.read", object_id=sealed_report_id, clock=context.clock)
    return Response(
        html,
        media_type="text/html; charset=utf-8",
        headers={
            "Cache-Control": "no-store",
            "Content-Disposition": f'attachment; filename="sealed-report-{sealed_report_id}.html"',
            "Content-Security-Policy": POLICY,
        },
    )


@router.get(
    "/sealed-reports/{sealed_report_id}/summary",
    summary="Read the summary of an owner report",
    responses=problems(OwnerReportNotFound, OwnerReportNotMade, RecoveryHold),
)
def read_sealed_report_summary(
    sealed_report_id: UUID, principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> SealedReportSummary:
    """The report in a few sentences. NOT differentially private; for the owner only; the first reading of a day is logged.

    The page of the release shows it, which the owner opens many times a day. So the audit log has a line for each key, network address and day (UTC)
    on which the report was read, and one for each download of the file.
    """
    summary = OwnerSummary.read(_opened(sealed_report_id, principal, context, session))
    record_daily(
        session, principal, action="sealed-report.read", object_id=sealed_report_id, clock=context.clock
    )
    return SealedReportSummary(
        id=sealed_report_id, sentences=list(summary.sentences), look_at=list(summary.look_at)
    )


@router.delete(
    "/sealed-reports/{sealed_report_id}",
    status_code=NO_CONTENT,
    summary="Delete an owner report",
    responses=problems(OwnerReportNotFound, RecoveryHold),
)
def delete_sealed_report(
    sealed_report_id: UUID, principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> None:
    """Delete a report in any state. For the owner of the rows, who can order it again with the same result."""
    report, _ = repository.owned(session, sealed_report_id, principal, lock=True)
    key = report.object_key
    session.delete(report)
    record(session, principal, action="sealed-report.delete", object_id=sealed_report_id, clock=context.clock)
    if key is not None:
        # If that fails now, upkeep removes it later as an orphan.
        on_commit(session, lambda: context.store.delete(key))


def _opened(report_id: UUID, principal: Principal, context: AppContext, session: Session) -> bytes:
    """The report's file. The caller records the reading."""
    report, dataset = repository.owned(session, report_id, principal)
    if report.object_key is None or dataset.wrapped_data_key is None:
        raise OwnerReportNotMade
    data_key = context.settings.master_keys.unwrap(dataset.wrapped_data_key, context=f"dataset:{dataset.id}")
    return read_report(context.store, report.object_key, data_key=data_key)
