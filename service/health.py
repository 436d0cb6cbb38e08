"""Whether the process lives, and whether it can do its work."""

from typing import Final, Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from service import probes
from service.parts import Parts
from service.probes import Verdict
from service.remembered import Remembered

router = APIRouter(tags=["health"])

UNREADY: Final = 503
REMEMBERED_SECONDS: Final = 1.0


class Alive(BaseModel):
    """The process answers."""

    status: Literal["alive"] = "alive"


class Readiness(BaseModel):
    """What the process depends on, and whether it answers."""

    status: Literal["ready", "unready"]
    checks: dict[str, Verdict] = Field(
        description="database, migrations, broker, storage: whether each is as it must be."
    )


def readiness_of(parts: Parts) -> Readiness:
    """Ask every part."""
    checks = probes.probe(
        {
            "database": lambda: probes.database_answers(parts.database),
            "migrations": lambda: probes.schema_is_ours(parts.database),
            "broker": lambda: probes.broker_answers(parts.settings.broker_url),
            "storage": lambda: probes.storage_answers(parts.store),
        }
    )
    return Readiness(status="ready" if set(checks.values()) == {"ok"} else "unready", checks=checks)


def remembered_readiness(parts: Parts) -> Remembered[Readiness]:
    """The readiness, asked for at most once a second however many probe."""
    return Remembered(lambda: readiness_of(parts), seconds=REMEMBERED_SECONDS)


@router.get("/v1/health", summary="Whether the process lives")
async def read_health() -> Alive:
    """Always alive, if it answers at all; looks at nothing else."""
    return Alive()


# On the event loop, like the one above: it must answer also when every thread waits for the database.
@router.get("/healthz", summary="Whether the process lives, for orchestrators")
async def read_liveness() -> Alive:
    """Restart the process if this does not answer; it depends on no other part."""
    return Alive()


@router.get(
    "/readyz",
    summary="Whether the service can work",
    responses={503: {"model": Readiness, "description": "At least one part failed."}},
)
def read_readiness(request: Request, response: Response) -> Readiness:
    """Send no requests while this answers 503: asks the database, its schema, the broker and the object store."""
    remembered: Remembered[Readiness] = request.app.state.readiness
    readiness = remembered()
    response.status_code = 200 if readiness.status == "ready" else UNREADY
    return readiness
