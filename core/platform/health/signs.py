"""Signs of life: every worker and upkeep notes in the database that it lives, and upkeep what each chore did.

Metrics and the doctor read them (core.platform.health.figures).
"""

import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from sqlalchemy import case, delete, func
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.clock import Clock
from core.db.session import Database
from core.db.tables.chore_run import ChoreRun
from core.db.tables.worker_sign import WorkerSign
from core.errors import Unavailable
from core.logs import get_logger

SIGN_SECONDS: Final = 15.0
"""Interval between two signs of a worker."""
SILENT_SECONDS: Final = 90.0
"""A worker without a sign for this long counts as silent."""
FORGOTTEN: Final = timedelta(hours=1)
"""A worker's row is deleted after this long without a sign: containers come back under other names."""

Role = Literal["worker", "reports", "upkeep"]
"""What a process does; `reports` is a worker that serves the queue of reports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """Memory of one GPU.

    Attributes:
        index: its number on the machine.
        used_bytes: used by all processes together.
        total_bytes: installed.
    """

    index: int
    used_bytes: int
    total_bytes: int


def no_devices() -> Sequence[Device]:
    """List no GPU."""
    return ()


class HealthReporter:
    """Reports the health of one process. A database that is away costs a report, never the process.

    Args:
        database: where reports are kept.
        clock: stamps them.
        role: what the process does.
        find_devices: lists its GPUs.
    """

    def __init__(
        self,
        database: Database,
        *,
        clock: Clock,
        role: Role,
        find_devices: Callable[[], Sequence[Device]] = no_devices,
    ) -> None:
        self._database = database
        self._clock = clock
        self._role: Role = role
        self._name = f"{role}@{platform.node()}"
        self._find_devices = find_devices

    def sign(self) -> None:
        """Note that this process lives."""
        devices = self._find_devices()
        try:
            with self._database.transaction() as session:
                give_sign(session, name=self._name, role=self._role, at=self._clock.now(), devices=devices)
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
    session: Session, *, name: str, role: Role, at: datetime, devices: Sequence[Device] = ()
) -> None:
    """Note that a process lives, and forget processes that have long been silent.

    Args:
        session: the open transaction.
        name: role and machine of the process.
        role: what it does.
        at: the present.
        devices: its GPUs.
    """
    fresh = {"role": role, "seen_at": at, "devices": [asdict(device) for device in devices]}
    session.execute(
        insert(WorkerSign)
        .values(name=name, **fresh)
        .on_conflict_do_update(index_elements=["name"], set_=fresh)
    )
    session.execute(delete(WorkerSign).where(WorkerSign.seen_at < at - FORGOTTEN))


def note_chore(session: Session, *, name: str, at: datetime, seconds: float, handled: int | None) -> None:
    """Note that a chore was done or tried.

    Args:
        session: the open transaction.
        name: of the chore.
        at: the present.
        seconds: how long it took.
        handled: how many things it put right; None if it failed.
    """
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
