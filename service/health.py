"""Whether the process lives, and whether it can do its work."""

from collections.abc import Callable
from typing import Literal

from alembic.script import ScriptDirectory
from fastapi import APIRouter, Response
from kombu import Connection
from kombu.exceptions import KombuError
from pydantic import BaseModel, Field
from redis.exceptions import RedisError
from sqlalchemy import text

from core.errors import UnderstudyError
from core.logs import get_logger
from migrations.upgrade import alembic_config
from service.dependencies import InjectedParts
from service.parts import Parts

router = APIRouter(tags=["health"])

CHECK_SECONDS = 2.0
UNREADY = 503


class Alive(BaseModel):
    """The process answers."""

    status: Literal["alive"] = "alive"


class Readiness(BaseModel):
    """What the process depends on, and whether it answers."""

    status: Literal["ready", "unready"]
    checks: dict[str, bool] = Field(
        description="database, migrations, broker: whether each is as it must be."
    )


@router.get("/v1/health", summary="Whether the process lives")
def read_health() -> Alive:
    """Always alive, if it answers at all; looks at nothing else."""
    return Alive()


@router.get("/healthz", summary="Whether the service can work", responses={503: {"model": Readiness}})
def read_readiness(parts: InjectedParts, response: Response) -> Readiness:
    """Asks the database and the broker, and compares the database's schema with this software's."""
    checks = {
        "database": _holds(lambda: _database_answers(parts)),
        "migrations": _holds(lambda: _schema_is_ours(parts)),
        "broker": _holds(lambda: _broker_answers(parts)),
    }
    ready = all(checks.values())
    response.status_code = 200 if ready else UNREADY
    return Readiness(status="ready" if ready else "unready", checks=checks)


def _holds(check: Callable[[], bool]) -> bool:
    try:
        return check()
    except (UnderstudyError, OSError, KombuError, RedisError) as error:
        get_logger().warning("not-ready", exc_info=error)
        return False


def _database_answers(parts: Parts) -> bool:
    with parts.database.read_only() as session:
        return bool(session.scalar(text("SELECT true")))


def _schema_is_ours(parts: Parts) -> bool:
    head = ScriptDirectory.from_config(alembic_config()).get_current_head()
    with parts.database.read_only() as session:
        return bool(session.scalar(text("SELECT version_num = :head FROM alembic_version"), {"head": head}))


def _broker_answers(parts: Parts) -> bool:
    options = {"socket_connect_timeout": CHECK_SECONDS, "socket_timeout": CHECK_SECONDS}
    with Connection(
        parts.settings.broker_url, connect_timeout=CHECK_SECONDS, transport_options=options
    ) as connection:
        connection.ensure_connection(max_retries=1, interval_start=0, timeout=CHECK_SECONDS)
        return bool(connection.connected)
