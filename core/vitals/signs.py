"""Writing signs of life and what upkeep did; each call is one statement of the caller's transaction."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from sqlalchemy import case, delete, func
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.db.tables.chore_run import ChoreRun
from core.db.tables.worker_sign import WorkerSign

SIGN_SECONDS: Final = 15.0
"""How often a worker gives a sign."""
SILENT_SECONDS: Final = 90.0
"""After this long without a sign a worker counts as silent."""
FORGOTTEN: Final = timedelta(hours=1)
"""After this long without a sign a worker's row goes: containers come back under other names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """Memory of one GPU.

    Args:
        index: its number on the machine.
        used_bytes: in use by anybody.
        total_bytes: there.
    """

    index: int
    used_bytes: int
    total_bytes: int


def give_sign(
    session: Session,
    *,
    name: str,
    role: Literal["worker", "upkeep"],
    at: datetime,
    devices: Sequence[Device] = (),
) -> None:
    """Note that a process lives, and forget those that have long been silent.

    Args:
        session: the open transaction.
        name: of the process: its role and the machine's name.
        role: what it does.
        at: now.
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
        at: now.
        seconds: how long it took.
        handled: how many things it put right; None when it failed.
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
