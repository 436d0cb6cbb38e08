"""Health checks of the service's dependencies, run concurrently and with a time limit.

A check reports only ok or failed. The log has the class of the error; `understudy doctor` explains the cause.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from pathlib import Path
from typing import Final, Literal

from kombu import Connection
from kombu.exceptions import KombuError
from obstore.exceptions import BaseError as StoreError
from redis.exceptions import RedisError
from sqlalchemy import text
from sqlalchemy.exc import TimeoutError as PoolTimeout

import migrations
from core.data.objects import ObjectStore
from core.db.session import Database
from core.errors import UnderstudyError
from core.logs import get_logger

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
