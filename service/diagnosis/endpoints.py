"""GET /v1/health/report: what is wrong with the deployment and what to do, for its admins."""

from typing import Annotated

from fastapi import APIRouter, Depends

from service.dependencies import CurrentPrincipal, InjectedContext
from service.diagnosis.examination import Examination
from service.diagnosis.report import Report
from service.edge.concurrency import ConcurrencyLimit
from service.strict_route import StrictRoute

router = APIRouter(tags=["health"], route_class=StrictRoute)
# It verifies ledgers and writes an object: one at a time is plenty.
_ONE_AT_A_TIME = ConcurrencyLimit(1, what="examinations", patience_seconds=10.0)


def only_one() -> ConcurrencyLimit:
    """The limit of examinations."""
    return _ONE_AT_A_TIME


@router.get("/health/report", summary="What is wrong with the deployment, and what to do")
def read_health_report(
    _principal: CurrentPrincipal,
    context: InjectedContext,
    limit: Annotated[ConcurrencyLimit, Depends(only_one)],
) -> Report:
    """Examines database, schema, broker, object store, disks, clocks, workers, upkeep, queue and ledgers."""
    with limit.hold():
        findings = Examination(
            context.settings, database=context.database, store=context.store, clock=context.clock
        ).findings()
    return Report.of(findings, at=context.clock.now())
