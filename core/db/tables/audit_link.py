"""The hash chain over the audit log. Append-only like the events it covers."""

from sqlalchemy import CheckConstraint
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base


class AuditLink(Base):
    """One event's position in the chain. Positions have no gaps, although the events' sequences may.

    `event_sequence` is not a foreign key: the link proves the removal of an event, so it must outlive it.
    """

    __tablename__ = "audit_links"
    __table_args__ = (
        CheckConstraint("position > 0", name="position_counts"),
        CheckConstraint("octet_length(previous_hash) = 32 AND octet_length(hash) = 32", name="hashes_sha256"),
    )

    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    event_sequence: Mapped[int] = mapped_column(unique=True)
    previous_hash: Mapped[bytes]
    hash: Mapped[bytes]
