"""Members of federations, with the digests of their tokens and the certificates that they handed in."""

from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.dialects.postgresql import JSON
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, Json


class FederationMember(Base):
    """One member. Its token is shown once; the digest is keyed, as that of an API key."""

    __tablename__ = "federation_members"

    federation_id: Mapped[UUID] = mapped_column(ForeignKey("federations.id"), primary_key=True)
    place: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    token_digest: Mapped[bytes] = mapped_column(unique=True)
    certificate: Mapped[Json | None] = mapped_column(JSON)
