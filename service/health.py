"""Liveness and readiness probes."""

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
    """The state of each dependency."""

    status: Literal["ready", "unready"]
    checks: dict[str, Verdict] = Field(
        description="The state of each of database, migrations, broker and storage."
    )


class ReadinessProbe:
    """Checks readiness at most once a second for any number of callers, and answers in time even if a check hangs."""

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
        # Its own threads: those of requests may all be waiting for the database.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="readiness")

    async def __call__(self) -> Readiness:
        """Run every check, or return a result less than a second old."""
        checks = await asyncio.wrap_future(self._thread.submit(self._checks))
        return Readiness(status="ready" if set(checks.values()) == {"ok"} else "unready", checks=checks)


@router.get("/v1/health", summary="Check liveness")
async def read_health() -> Alive:
    """Always reports alive if it answers at all; checks nothing else."""
    return Alive()


# On the event loop, like the one above: it must answer even when every thread waits for the database.
@router.get("/healthz", summary="Check liveness, for orchestrators")
async def read_liveness() -> Alive:
    """Restart the process if this does not answer. It depends on nothing else."""
    return Alive()


@router.get(
    "/readyz",
    summary="Check readiness",
    responses={503: {"model": Readiness, "description": "At least one dependency failed."}},
)
async def read_readiness(request: Request, response: Response) -> Readiness:
    """Route no requests here while this answers 503. It checks the database, its schema, the broker and the object store.

    It answers within two seconds: a dependency that has not answered by then counts as failed.
    """
    probe: ReadinessProbe = request.app.state.readiness
    readiness = await probe()
    response.status_code = 200 if readiness.status == "ready" else UNREADY
    return readiness
