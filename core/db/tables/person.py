"""People: principals created by an administrator, with the roles that their keys may have."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, Text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base
from core.db.tables.api_key import ROLES


class Person(Base):
    """One principal. Their name is in ``principal_names``.

    `enrolled_at` is when the principal first made a key of their own, was issued one from the command line,
    or signed in with a token; null until then. Until `held_until` a recovery blocks access to what is sealed
    to the principal.
    """

    __tablename__ = "people"
    __table_args__ = (
        CheckConstraint(f"roles <@ ARRAY[{', '.join(repr(role) for role in ROLES)}]", name="roles_known"),
    )

    principal_id: Mapped[UUID] = mapped_column(primary_key=True)
    roles: Mapped[list[str]] = mapped_column(ARRAY(Text))
    created_by: Mapped[UUID]
    created_at: Mapped[datetime]
    enrolled_at: Mapped[datetime | None]
    held_until: Mapped[datetime | None]
