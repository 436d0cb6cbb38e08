"""Audit events that are not yet in the hash chain: a queue, filled by a trigger and emptied by the linker."""

from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base


class AuditUnlinked(Base):
    """One waiting event. The trigger on `audit_events` inserts it in the event's own transaction."""

    __tablename__ = "audit_unlinked"

    event_sequence: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
