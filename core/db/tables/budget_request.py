"""Analysts' requests for a share of a dataset's budget, and their outcome."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, WithId, one_of

STATES = ("open", "approved", "denied", "withdrawn", "expired")


class BudgetRequest(WithId, Base):
    """One request. The amount granted is on the grant and may be less than requested.

    `decided_by` is null if the request expired undecided. An analyst has at most one open request per dataset.
    """

    __tablename__ = "budget_requests"
    __table_args__ = (
        CheckConstraint(one_of("state", STATES), name="state_known"),
        CheckConstraint("epsilon > 0 AND epsilon < 'Infinity'", name="epsilon_positive"),
        CheckConstraint("delta > 0 AND delta < 1", name="delta_probability"),
        CheckConstraint("char_length(purpose) BETWEEN 1 AND 2000", name="purpose_told"),
        CheckConstraint("char_length(note) BETWEEN 1 AND 2000", name="note_short"),
        CheckConstraint("(state = 'open') = (decided_at IS NULL)", name="decided_has_time"),
        CheckConstraint("(state IN ('open', 'expired')) = (decided_by IS NULL)", name="decided_has_person"),
        CheckConstraint("(state = 'approved') = (grant_id IS NOT NULL)", name="approved_has_grant"),
        Index(
            "budget_requests_open_key",
            "dataset_id",
            "requested_by",
            unique=True,
            postgresql_where=text("state = 'open'"),
        ),
        Index("budget_requests_expires_at_idx", "expires_at", postgresql_where=text("state = 'open'")),
    )

    dataset_id: Mapped[UUID] = mapped_column(ForeignKey("datasets.id"), index=True)
    requested_by: Mapped[UUID] = mapped_column(index=True)
    epsilon: Mapped[float]
    delta: Mapped[float]
    purpose: Mapped[str]
    state: Mapped[str] = mapped_column(default="open")
    note: Mapped[str | None]
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    decided_at: Mapped[datetime | None]
    decided_by: Mapped[UUID | None]
    grant_id: Mapped[UUID | None] = mapped_column(ForeignKey("grants.id"))
