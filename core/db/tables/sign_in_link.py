"""Sign-in links of the embedded stack: single-use tokens that open a browser session; only a keyed digest is stored."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, WithId


class SignInLink(WithId, Base):
    """One link. Its session has the rights of a key."""

    __tablename__ = "sign_in_links"

    key_id: Mapped[UUID] = mapped_column(ForeignKey("api_keys.id"))
    digest: Mapped[bytes] = mapped_column(unique=True)
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]
