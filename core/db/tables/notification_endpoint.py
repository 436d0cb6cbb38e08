"""Notification endpoints of principals: webhooks or e-mail addresses."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, WithId, one_of

CHANNELS = ("webhook", "email")
STATES = ("unconfirmed", "active", "paused", "removed")


class NotificationEndpoint(WithId, Base):
    """One endpoint of one principal. It has the rights of the key that made it and ends with it.

    `wrapped_details` holds address and secrets, sealed under the master key; it is null for a removed
    endpoint. `kinds` is empty for all kinds of events. `answered_at` is the last successful delivery,
    `confirm_tries` the number of wrong codes entered for an address.
    """

    __tablename__ = "notification_endpoints"
    __table_args__ = (
        CheckConstraint(one_of("channel", CHANNELS), name="channel_known"),
        CheckConstraint(one_of("state", STATES), name="state_known"),
        CheckConstraint("(state = 'paused') = (paused_because IS NOT NULL)", name="paused_has_reason"),
        CheckConstraint("(state = 'removed') = (wrapped_details IS NULL)", name="removed_has_no_secret"),
        CheckConstraint("(state = 'removed') = (removed_at IS NOT NULL)", name="removed_has_time"),
        CheckConstraint("confirm_tries >= 0", name="tries_not_negative"),
    )

    principal_id: Mapped[UUID] = mapped_column(index=True)
    key_id: Mapped[UUID] = mapped_column(ForeignKey("api_keys.id"))
    channel: Mapped[str]
    kinds: Mapped[list[str]] = mapped_column(ARRAY(Text))
    state: Mapped[str]
    paused_because: Mapped[str | None]
    wrapped_details: Mapped[bytes | None]
    confirm_tries: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[datetime]
    answered_at: Mapped[datetime | None]
    removed_at: Mapped[datetime | None]
