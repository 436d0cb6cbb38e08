"""Utility reports: differentially private measurements of a release against its dataset, at a privacy cost."""

from typing import Any
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from service.dependencies import CurrentPrincipal, OpenSession
from service.problem import problems
from service.releases import repository as releases
from service.releases.errors import ReleaseNotFound
from service.strict_route import StrictRoute
from service.utility_reports import repository
from service.utility_reports.errors import UtilityReportNotFound
from service.utility_reports.schemas import ChargedReportList, ChargedReportView
from service.wire import DEFAULT_PAGE, Before, PageSize

router = APIRouter(tags=["charged reports"], route_class=StrictRoute)

_DOCUMENT: dict[int | str, dict[str, Any]] = {
    200: {"description": "The report.", "content": {"application/json": {"schema": {"type": "object"}}}}
}


@router.get(
    "/releases/{release_id}/charged-reports",
    summary="List the utility reports of a release",
    responses=problems(ReleaseNotFound),
)
def list_charged_reports(
    release_id: UUID,
    principal: CurrentPrincipal,
    session: OpenSession,
    limit: PageSize = DEFAULT_PAGE,
    before: Before = None,
) -> ChargedReportList:
    """The utility reports of the release, newest first. Order one with `POST /v1/jobs` and its member `report`."""
    release = releases.visible(session, release_id, principal)
    rows, next_before = repository.page(session, release.id, principal, limit=limit, before=before)
    return ChargedReportList(items=[ChargedReportView.of(row) for row in rows], next_before=next_before)


@router.get(
    "/charged-reports/{charged_report_id}",
    summary="Read a utility report",
    response_class=JSONResponse,
    responses={**problems(UtilityReportNotFound), **_DOCUMENT},
)
def read_charged_report(
    charged_report_id: UUID, principal: CurrentPrincipal, session: OpenSession
) -> JSONResponse:
    """Noisy errors of columns and pairs and a noisy score, with intervals, cost, and a signature over everything."""
    return JSONResponse(repository.visible(session, charged_report_id, principal).document)
