"""One event on its way to one endpoint."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, WithId, one_of

STATES = ("waiting", "delivered", "failed", "dropped")


class NotificationDelivery(WithId, Base):
    """A delivery and its last attempt. The receiver's answer is stored as a code, never as text.

    A delivery is `waiting` until it ends. While it is sent, it is under a lease and a fence, like a job.
    """

    __tablename__ = "notification_deliveries"
    __table_args__ = (
        CheckConstraint(one_of("state", STATES), name="state_known"),
        CheckConstraint("attempts >= 0", name="attempts_not_negative"),
        CheckConstraint("fence >= 0", name="fence_not_negative"),
        CheckConstraint("(state = 'waiting') = (next_at IS NOT NULL)", name="waiting_has_time"),
        UniqueConstraint("event_id", "endpoint_id"),
        Index("notification_deliveries_due_idx", "next_at", postgresql_where=text("state = 'waiting'")),
    )

    event_id: Mapped[UUID] = mapped_column(ForeignKey("notification_events.id"))
    endpoint_id: Mapped[UUID] = mapped_column(ForeignKey("notification_endpoints.id"), index=True)
    state: Mapped[str] = mapped_column(default="waiting")
    attempts: Mapped[int] = mapped_column(default=0)
    next_at: Mapped[datetime | None]
    outcome: Mapped[str | None]
    tried_at: Mapped[datetime | None]
    created_at: Mapped[datetime]
    fence: Mapped[int] = mapped_column(default=0, server_default="0")
    lease_expires_at: Mapped[datetime | None]
    lease_owner: Mapped[str | None] = mapped_column("lease_holder")
