"""Grants: time-limited sub-caps of a population's cap for one principal. The ledger is authoritative; these rows mirror it."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, WithId, one_of

STATES = ("open", "expired", "revoked")


class Grant(WithId, Base):
    """Sub-cap of one principal, within the cap of the population."""

    __tablename__ = "grants"
    __table_args__ = (
        CheckConstraint(one_of("state", STATES), name="state_known"),
        CheckConstraint("epsilon > 0 AND epsilon < 'Infinity'", name="epsilon_positive"),
        CheckConstraint("delta > 0 AND delta < 1", name="delta_probability"),
        CheckConstraint("(state = 'open') = (closed_at IS NULL)", name="closed_has_time"),
    )

    population_id: Mapped[UUID] = mapped_column(ForeignKey("budgets.population_id"), index=True)
    holder_id: Mapped[UUID] = mapped_column(index=True)
    epsilon: Mapped[float]
    delta: Mapped[float]
    expires_at: Mapped[datetime]
    state: Mapped[str] = mapped_column(default="open")
    created_at: Mapped[datetime]
    closed_at: Mapped[datetime | None]
