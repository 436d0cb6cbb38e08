"""Who did what, when, with which outcome. Append-only like the ledger."""

from datetime import datetime

from sqlalchemy import Identity
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base


class AuditEvent(Base):
    """One action. Names and identifiers only; never a value of a row, never a secret."""

    __tablename__ = "audit_events"

    sequence: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    at: Mapped[datetime] = mapped_column(index=True)
    actor: Mapped[str]
    action: Mapped[str]
    object: Mapped[str] = mapped_column(index=True)
    outcome: Mapped[str]
