"""The noisy states that members of a federation handed in, one a round."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base


class FederationState(Base):
    """One member's state of one round: written once. `content` is null once no member needs the round again."""

    __tablename__ = "federation_states"

    federation_id: Mapped[UUID] = mapped_column(ForeignKey("federations.id"), primary_key=True)
    round: Mapped[int] = mapped_column(primary_key=True)
    place: Mapped[int] = mapped_column(primary_key=True)
    sha256: Mapped[bytes]
    content: Mapped[bytes | None]
    created_at: Mapped[datetime]
