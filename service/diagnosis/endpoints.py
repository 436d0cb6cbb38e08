"""GET /v1/health/report: problems of the deployment and their remedies, for admins and auditors."""

from typing import Annotated

from fastapi import APIRouter, Depends

from service.dependencies import CurrentPrincipal, InjectedContext
from service.diagnosis.examination import Examination
from service.diagnosis.report import Report
from service.edge.concurrency import ConcurrencyLimit
from service.strict_route import StrictRoute

router = APIRouter(tags=["health"], route_class=StrictRoute)
# An examination verifies ledgers and writes an object, so only one runs at a time.
_ONE_AT_A_TIME = ConcurrencyLimit(1, what="examinations", patience_seconds=10.0)


def only_one() -> ConcurrencyLimit:
    """The concurrency limit of examinations."""
    return _ONE_AT_A_TIME


@router.get("/health/report", summary="Examine the deployment")
def read_health_report(
    _principal: CurrentPrincipal,
    context: InjectedContext,
    limit: Annotated[ConcurrencyLimit, Depends(only_one)],
) -> Report:
    """Examine database, schema, broker, object store, disks, clocks, workers, upkeep, queue and ledgers."""
    with limit.hold():
        findings = Examination(
            context.settings,
            database=context.database,
            store=context.store,
            clock=context.clock,
            started_at=context.started_at,
        ).findings()
    return Report.of(findings, at=context.clock.now())
