"""Public display names of principals."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base

LONGEST = 80


class PrincipalName(Base):
    """The name of one principal, as last set by an admin. Names never carry rights."""

    __tablename__ = "principal_names"
    __table_args__ = (CheckConstraint(f"char_length(name) BETWEEN 1 AND {LONGEST}", name="name_short"),)

    principal_id: Mapped[UUID] = mapped_column(primary_key=True)
    name: Mapped[str]
    named_by: Mapped[UUID]
    named_at: Mapped[datetime]
