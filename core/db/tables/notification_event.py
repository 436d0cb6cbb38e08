"""The notification outbox: events are written in the transaction they report and delivered by upkeep after the commit."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, Json, WithId


class NotificationEvent(WithId, Base):
    """One event. Ids and states only.

    `at` is the public time of the event, such as the coarse boundary at which a training ended. `about` is
    the principal concerned, besides those who oversee the dataset; null if everybody who sees the dataset may
    know. `spread_at` is when its deliveries were created.
    """

    __tablename__ = "notification_events"
    __table_args__ = (
        Index("notification_events_waiting_idx", "at", postgresql_where=text("spread_at IS NULL")),
    )

    at: Mapped[datetime] = mapped_column(index=True)
    kind: Mapped[str]
    dataset_id: Mapped[UUID | None] = mapped_column(ForeignKey("datasets.id"))
    about: Mapped[UUID | None]
    facts: Mapped[Json]
    spread_at: Mapped[datetime | None]
