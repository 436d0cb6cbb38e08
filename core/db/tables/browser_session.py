"""Browser sessions, opened with an API key; only a keyed digest of the cookie is stored."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, WithId


class BrowserSession(WithId, Base):
    """One login. It has the rights of its key and ends with it."""

    __tablename__ = "browser_sessions"

    key_id: Mapped[UUID] = mapped_column(ForeignKey("api_keys.id"), index=True)
    digest: Mapped[bytes] = mapped_column(unique=True)
    created_at: Mapped[datetime]
    # To the minute, like a key's last use.
    seen_at: Mapped[datetime]
    expires_at: Mapped[datetime] = mapped_column(index=True)
    ended_at: Mapped[datetime | None]
