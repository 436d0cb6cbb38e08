"""GET /v1/health/report: what is wrong with the deployment and what to do, for its admins."""

from typing import Annotated

from fastapi import APIRouter, Depends

from service.dependencies import CurrentPrincipal, InjectedParts
from service.diagnosis.examination import Examination
from service.diagnosis.report import Report
from service.edge.gate import Gate
from service.strict_route import StrictRoute

router = APIRouter(tags=["health"], route_class=StrictRoute)
# It verifies ledgers and writes an object: one at a time is plenty.
_ONE_AT_A_TIME = Gate(1, what="examinations", patience_seconds=10.0)


def only_one() -> Gate:
    """The door of examinations."""
    return _ONE_AT_A_TIME


@router.get("/health/report", summary="What is wrong with the deployment, and what to do")
def read_health_report(
    _principal: CurrentPrincipal, parts: InjectedParts, door: Annotated[Gate, Depends(only_one)]
) -> Report:
    """Examines database, schema, broker, object store, disks, clocks, workers, upkeep, queue and ledgers."""
    with door.pass_through():
        findings = Examination(
            parts.settings, database=parts.database, store=parts.store, clock=parts.clock
        ).findings()
    return Report.of(findings, at=parts.clock.now())
