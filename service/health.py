"""Liveness and readiness of the service, and the checks of what it depends on.

A check reports only ok or failed. The log has the class of the error; `understudy doctor` explains the cause.
"""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from pathlib import Path
from typing import Final, Literal

from fastapi import APIRouter, Request, Response
from kombu import Connection
from kombu.exceptions import KombuError
from obstore.exceptions import BaseError as StoreError
from pydantic import BaseModel, Field
from redis.exceptions import RedisError
from sqlalchemy import text
from sqlalchemy.exc import TimeoutError as PoolTimeout

import migrations
from core.data.objects import ObjectStore
from core.db.session import Database
from core.errors import UnderstudyError
from core.logs import get_logger
from service.caches import TtlCache
from service.context import AppContext

router = APIRouter(tags=["health"])

UNREADY: Final = 503
CACHE_SECONDS: Final = 1.0
ANSWER_SECONDS: Final = 1.2
CHECK_SECONDS: Final = 2.0
PROBE_KEY: Final = "probes/readiness"

Verdict = Literal["ok", "failed"]


class Probes:
    """Repeated checks. A check that is still running at the deadline counts as failed and is not restarted before it ends.

    Args:
        checks: The checks by dependency; a check that raises has failed.
    """

    def __init__(self, checks: Mapping[str, Callable[[], bool]], *, seconds: float) -> None:
        self._checks = dict(checks)
        self._seconds = seconds
        # One thread per check, so that a hanging one delays no other.
        self._threads = ThreadPoolExecutor(len(self._checks), thread_name_prefix="probe")
        self._under_way: dict[str, Future[bool]] = {}

    def __call__(self) -> dict[str, Verdict]:
        """Run every check. Not safe for concurrent callers."""
        for part, check in self._checks.items():
            if part not in self._under_way:
                self._under_way[part] = self._threads.submit(_holds, part, check)
        ended = wait(self._under_way.values(), timeout=self._seconds).done
        verdicts: dict[str, Verdict] = {
            part: "ok" if asked in ended and asked.result() else "failed"
            for part, asked in self._under_way.items()
        }
        self._under_way = {part: asked for part, asked in self._under_way.items() if asked not in ended}
        return verdicts


def probe(checks: Mapping[str, Callable[[], bool]]) -> dict[str, Verdict]:
    """Run the checks one after the other; a check that raises has failed."""
    return {part: "ok" if _holds(part, check) else "failed" for part, check in checks.items()}


def database_answers(database: Database) -> bool:
    """Whether a connection can be opened and answers a query."""
    with database.read_only() as session:
        return bool(session.scalar(text("SELECT true")))


def schema_of(database: Database) -> str | None:
    """The migration of the database, or None before the first."""
    with database.read_only() as session:
        if session.scalar(text("SELECT to_regclass('alembic_version')")) is None:
            return None
        found: str | None = session.scalar(text("SELECT version_num FROM alembic_version"))
        return found


def schema_is_ours(database: Database) -> bool:
    """Whether the database is at the latest migration of this software."""
    return schema_of(database) == newest_migration()


@cache
def newest_migration() -> str:
    """The latest migration known to this software."""
    # A migration's file has its name, which starts with its date. Alembic would return the same, and is imported by nothing else here.
    return max(path.stem for path in (Path(migrations.__file__).parent / "versions").glob("*.py"))


def broker_answers(broker_url: str) -> bool:
    """Whether a connection to the broker can be opened."""
    options = {"socket_connect_timeout": CHECK_SECONDS, "socket_timeout": CHECK_SECONDS}
    with Connection(broker_url, connect_timeout=CHECK_SECONDS, transport_options=options) as connection:
        connection.ensure_connection(max_retries=1, interval_start=0, timeout=CHECK_SECONDS)
        return bool(connection.connected)


def storage_answers(store: ObjectStore) -> bool:
    """Whether the object store answers a read. The doctor checks writes."""
    store.exists(PROBE_KEY)
    return True


def _holds(part: str, check: Callable[[], bool]) -> bool:
    try:
        return check()
    except (UnderstudyError, PoolTimeout, OSError, KombuError, RedisError, StoreError) as error:
        get_logger().warning("not-ready", part=part, exc_info=error)
        return False


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
                "database": lambda: database_answers(context.database),
                "migrations": lambda: schema_is_ours(context.database),
                "broker": lambda: broker_answers(context.settings.broker_url),
                "storage": lambda: storage_answers(context.store),
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
