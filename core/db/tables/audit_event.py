"""Who did what, from where, when, with which outcome. Append-only like the ledger."""

from datetime import datetime

from sqlalchemy import Identity
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base


class AuditEvent(Base):
    """One action. Names and identifiers only; never a value of a row, never a secret.

    `actor` is `principal/key`, a bare principal, the name of a process, or `anonymous`. `client_address` and
    `request_id` are null for actions without a request. The event's position in the hash chain is in
    `audit_links`; it is assigned after the commit, because sequences are not ordered by commit.
    """

    __tablename__ = "audit_events"

    sequence: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    at: Mapped[datetime] = mapped_column(index=True)
    actor: Mapped[str]
    action: Mapped[str]
    object: Mapped[str] = mapped_column(index=True)
    outcome: Mapped[str]
    client_address: Mapped[str | None]
    request_id: Mapped[str | None]
