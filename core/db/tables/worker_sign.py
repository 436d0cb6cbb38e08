"""Heartbeats of processes that listen on no port: when each worker and upkeep was last seen."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, one_of

ROLES = ("worker", "reports", "upkeep")
"""Roles of a process; `reports` is a worker of that queue."""


class WorkerSign(Base):
    """One row per process, overwritten at each heartbeat and removed after a long silence.

    `devices` lists the GPUs the worker can use, with bytes of memory used and in total. `serves` lists the kinds of
    device whose trainings it takes; null if it takes none, or is of an earlier release.
    """

    __tablename__ = "worker_signs"
    __table_args__ = (CheckConstraint(one_of("role", ROLES), name="role_known"),)

    name: Mapped[str] = mapped_column(primary_key=True)
    role: Mapped[str]
    seen_at: Mapped[datetime]
    devices: Mapped[list[dict[str, Any]]] = mapped_column(JSONB)
    serves: Mapped[list[str] | None] = mapped_column(JSONB(none_as_null=True))
