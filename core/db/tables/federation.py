"""Federations of owners that train in services of their own. This service is their board: it holds no row of theirs."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint
from sqlalchemy.dialects.postgresql import JSON
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, Json, WithId, one_of

STATES = ("open", "done", "failed", "ended")


class Federation(WithId, Base):
    """One federation and its public plan.

    `plan` is that of the first member; the others' name themselves in its place. `round` is the round under way, `round_since` the
    moment from which its deadline counts: null until a first state has arrived. `vanished` names the members that missed it.
    """

    __tablename__ = "federations"
    __table_args__ = (
        CheckConstraint(one_of("state", STATES), name="state_known"),
        CheckConstraint("round >= 0 AND rounds > 0 AND state_bytes > 0", name="counts_not_negative"),
        CheckConstraint("(state = 'failed') = (vanished IS NOT NULL)", name="failed_names_members"),
        CheckConstraint("(state IN ('failed', 'ended')) = (ended_at IS NOT NULL)", name="ended_has_time"),
    )

    name: Mapped[str]
    created_by: Mapped[UUID] = mapped_column(index=True)
    created_at: Mapped[datetime]
    plan: Mapped[Json] = mapped_column(JSON)
    domain_sha256: Mapped[str]
    rounds: Mapped[int]
    state_bytes: Mapped[int]
    round_seconds: Mapped[float]
    round: Mapped[int] = mapped_column(default=0)
    round_since: Mapped[datetime | None]
    state: Mapped[str] = mapped_column(default="open")
    vanished: Mapped[str | None]
    ended_at: Mapped[datetime | None]
