"""Browser sessions, opened with an API key or an account at the identity provider; only a keyed digest of the cookie is stored."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, WithId


class BrowserSession(WithId, Base):
    """One login. It has the rights of its key and ends with it, or the roles that an account had at the sign-in."""

    __tablename__ = "browser_sessions"
    __table_args__ = (
        CheckConstraint(
            "num_nonnulls(key_id, principal_id) = 1 AND (principal_id IS NULL) = (roles IS NULL)",
            name="key_or_account",
        ),
    )

    key_id: Mapped[UUID | None] = mapped_column(ForeignKey("api_keys.id"), index=True)
    # Of an account at the identity provider, which has no key.
    principal_id: Mapped[UUID | None]
    roles: Mapped[list[str] | None] = mapped_column(ARRAY(Text))
    digest: Mapped[bytes] = mapped_column(unique=True)
    created_at: Mapped[datetime]
    # To the minute, like a key's last use.
    seen_at: Mapped[datetime]
    expires_at: Mapped[datetime] = mapped_column(index=True)
    ended_at: Mapped[datetime | None]
