"""API keys; only a keyed digest is stored."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, Text, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, WithId

ROLES = ("owner", "analyst", "admin", "auditor")


class ApiKey(WithId, Base):
    """One key of one principal."""

    __tablename__ = "api_keys"
    __table_args__ = (
        CheckConstraint(f"roles <@ ARRAY[{', '.join(repr(role) for role in ROLES)}]", name="roles_known"),
        CheckConstraint("cardinality(roles) > 0", name="roles_some"),
    )

    principal_id: Mapped[UUID] = mapped_column(index=True)
    name: Mapped[str]
    roles: Mapped[list[str]] = mapped_column(ARRAY(Text))
    prefix: Mapped[str] = mapped_column(index=True)
    digest: Mapped[bytes] = mapped_column(unique=True)
    created_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]
    # Empty: the key may do all that its roles allow.
    scopes: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default=text("'{}'"))
    # Empty: until it is revoked.
    expires_at: Mapped[datetime | None]
    # To the minute; a key in use writes here at most once a minute.
    last_used_at: Mapped[datetime | None]
    # The successor after a rotation; this key ends at `expires_at`.
    replaced_by: Mapped[UUID | None]
    # The enrolment that it descends from, or the principal's own id if it was issued from the command line.
    # Null for keys that an admin handed out before enrolments existed: somebody else has seen them.
    enrolment_id: Mapped[UUID | None]
