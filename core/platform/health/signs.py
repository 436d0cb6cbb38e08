"""Heartbeats of processes (signs): every worker and upkeep notes in the database that it lives, and upkeep what each chore did.

Metrics and the doctor read them (core.platform.health.figures).
"""

import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Final, Literal

from sqlalchemy import ColumnElement, SQLColumnExpression, and_, case, delete, exists, func, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.clock import Clock
from core.db.session import Database
from core.db.tables.chore_run import ChoreRun
from core.db.tables.worker_sign import WorkerSign
from core.errors import Unavailable
from core.logs import get_logger
from core.plan.devices import DEVICES, Device
from core.platform.gpus import Gpu

SIGN_SECONDS: Final = 15.0
"""Interval between two signs of a worker."""
SILENT_SECONDS: Final = 90.0
"""A worker without a sign for this long counts as silent."""
FORGOTTEN: Final = timedelta(hours=1)
"""A worker's row is deleted after this long without a sign: containers come back under other names."""

Role = Literal["worker", "reports", "upkeep"]
"""Roles of a process; `reports` is a worker that serves the queue of reports."""


def no_gpus() -> Sequence[Gpu]:
    """List no GPU."""
    return ()


class HealthReporter:
    """Reports the health of one process. A database that is away costs a report, never the process.

    Args:
        serves: the kinds of device whose trainings it takes; None if it takes none.
    """

    def __init__(
        self,
        database: Database,
        *,
        clock: Clock,
        role: Role,
        find_gpus: Callable[[], Sequence[Gpu]] = no_gpus,
        serves: Sequence[Device] | None = None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._role: Role = role
        # A worker for the CPU and one for the GPU of the same machine have a row each.
        self._name = f"{role}{'.gpu' if serves == ('gpu',) else ''}@{platform.node()}"
        self._serves = serves
        self._find_gpus = find_gpus

    def sign(self) -> None:
        """Note that this process lives."""
        gpus = self._find_gpus()
        try:
            with self._database.transaction() as session:
                give_sign(
                    session,
                    name=self._name,
                    role=self._role,
                    at=self._clock.now(),
                    gpus=gpus,
                    serves=self._serves,
                )
        except Unavailable:
            get_logger().warning("sign-not-given", exc_info=True)

    def chore(self, name: str, *, seconds: float, handled: int | None) -> None:
        """Note what a chore did; ``handled`` is None if it failed."""
        try:
            with self._database.transaction() as session:
                note_chore(session, name=name, at=self._clock.now(), seconds=seconds, handled=handled)
        except Unavailable:
            get_logger().warning("chore-not-noted", chore=name, exc_info=True)


def give_sign(
    session: Session,
    *,
    name: str,
    role: Role,
    at: datetime,
    gpus: Sequence[Gpu] = (),
    serves: Sequence[Device] | None = None,
) -> None:
    """Note that a process lives, and forget processes that have long been silent.

    Args:
        name: role and machine of the process.
        serves: the kinds of device whose trainings it takes; None if it takes none.
    """
    fresh = {
        "role": role,
        "seen_at": at,
        "devices": [asdict(gpu) for gpu in gpus],
        "serves": None if serves is None else list(serves),
    }
    session.execute(
        insert(WorkerSign)
        .values(name=name, **fresh)
        .on_conflict_do_update(index_elements=["name"], set_=fresh)
    )
    session.execute(delete(WorkerSign).where(WorkerSign.seen_at < at - FORGOTTEN))


def served_devices(session: Session, *, at: datetime) -> frozenset[Device]:
    """The kinds of device whose trainings live workers take."""
    alive = session.execute(
        select(WorkerSign.serves, WorkerSign.devices).where(
            WorkerSign.role == "worker", WorkerSign.seen_at >= alive_since(at)
        )
    ).all()
    return frozenset(kind for serves, gpus in alive for kind in kinds_of(serves, gpus))


def alive_since(at: datetime) -> datetime:
    """The earliest heartbeat of a worker that is alive at a moment."""
    return at - timedelta(seconds=SILENT_SECONDS)


def served_by_live_worker(
    device: SQLColumnExpression[str | None], since: SQLColumnExpression[datetime]
) -> ColumnElement[bool]:
    """`served_devices` as a condition in SQL: a live worker takes trainings of a kind of device.

    Args:
        since: `alive_since` the present.
    """
    unnamed = and_(
        WorkerSign.serves.is_(None), or_(device == "cpu", func.jsonb_array_length(WorkerSign.devices) > 0)
    )
    alive = exists().where(
        WorkerSign.role == "worker",
        WorkerSign.seen_at >= since,
        or_(unnamed, WorkerSign.serves.has_key(device)),
    )
    return alive.correlate_except(WorkerSign)


def kinds_of(serves: Sequence[str] | None, gpus: Sequence[object]) -> tuple[Device, ...]:
    """The kinds of device whose trainings a worker takes. One of an earlier release names none: it takes what its machine has."""
    if serves is None:
        return DEVICES if gpus else DEVICES[:1]
    return tuple(kind for kind in DEVICES if kind in serves)


def note_chore(session: Session, *, name: str, at: datetime, seconds: float, handled: int | None) -> None:
    """Note that a chore was done or tried; `handled` is the number of items that it repaired, None if it failed."""
    failed = handled is None
    row = insert(ChoreRun).values(
        name=name,
        runs=1,
        failures=int(failed),
        handled=handled or 0,
        seconds=seconds,
        tried_at=at,
        done_at=None if failed else at,
    )
    new = row.excluded
    session.execute(
        row.on_conflict_do_update(
            index_elements=["name"],
            set_={
                "runs": ChoreRun.runs + 1,
                "failures": ChoreRun.failures + new.failures,
                "handled": ChoreRun.handled + new.handled,
                "seconds": new.seconds,
                "tried_at": func.greatest(ChoreRun.tried_at, new.tried_at),
                "done_at": case((new.done_at.is_(None), ChoreRun.done_at), else_=new.done_at),
            },
        )
    )
