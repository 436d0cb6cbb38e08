"""Stored responses: a repeated request gets the same response and is not executed again."""

from datetime import datetime
from uuid import UUID

from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, Json


class IdempotencyKey(Base):
    """One request of one principal, written in the transaction that did the work."""

    __tablename__ = "idempotency_keys"

    principal_id: Mapped[UUID] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    request_digest: Mapped[bytes]
    response_status: Mapped[int | None]
    response_body: Mapped[Json | None]
    created_at: Mapped[datetime]
