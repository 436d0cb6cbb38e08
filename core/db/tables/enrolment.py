"""Enrolments: single-use tokens with which a person makes a first key; only a keyed digest is stored."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, WithId


class Enrolment(WithId, Base):
    """One token that an administrator made for a person.

    It is a recovery if the person already had keys. Until `held_until` an accepted recovery blocks access to
    what is sealed to the person; null if the person authenticated with a key of their own.
    """

    __tablename__ = "enrolments"

    principal_id: Mapped[UUID] = mapped_column(ForeignKey("people.principal_id"), index=True)
    digest: Mapped[bytes] = mapped_column(unique=True)
    is_recovery: Mapped[bool]
    created_by: Mapped[UUID]
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    accepted_at: Mapped[datetime | None]
    held_until: Mapped[datetime | None]
    cancelled_at: Mapped[datetime | None]
    cancelled_by: Mapped[UUID | None]
