"""Whether the process lives, and whether it can do its work."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from service import probes
from service.context import AppContext
from service.probes import Probes, Verdict
from service.ttl_cache import TtlCache

router = APIRouter(tags=["health"])

UNREADY: Final = 503
CACHE_SECONDS: Final = 1.0
ANSWER_SECONDS: Final = 1.2


class Alive(BaseModel):
    """The process answers."""

    status: Literal["alive"] = "alive"


class Readiness(BaseModel):
    """What the process depends on, and whether it answers."""

    status: Literal["ready", "unready"]
    checks: dict[str, Verdict] = Field(
        description="database, migrations, broker, storage: whether each is as it must be."
    )


class ReadinessProbe:
    """The readiness, asked for at most once a second however many probe, in time whatever hangs.

    Args:
        parts: What to ask.
    """

    def __init__(self, context: AppContext) -> None:
        probe = Probes(
            {
                "database": lambda: probes.database_answers(context.database),
                "migrations": lambda: probes.schema_is_ours(context.database),
                "broker": lambda: probes.broker_answers(context.settings.broker_url),
                "storage": lambda: probes.storage_answers(context.store),
            },
            seconds=ANSWER_SECONDS,
        )
        self._checks = TtlCache(probe, seconds=CACHE_SECONDS)
        # Apart from the threads of requests, which may all wait for the database.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="readiness")

    async def __call__(self) -> Readiness:
        """Ask every part, or tell what was found a moment ago."""
        checks = await asyncio.wrap_future(self._thread.submit(self._checks))
        return Readiness(status="ready" if set(checks.values()) == {"ok"} else "unready", checks=checks)


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
async def read_readiness(request: Request, response: Response) -> Readiness:
    """Send no requests while this answers 503: asks the database, its schema, the broker and the object store.

    Answers within two seconds: a part that has not answered by then has failed.
    """
    probe: ReadinessProbe = request.app.state.readiness
    readiness = await probe()
    response.status_code = 200 if readiness.status == "ready" else UNREADY
    return readiness
