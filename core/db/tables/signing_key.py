"""The service's own Ed25519 keys; the private half is sealed under the master key."""

from datetime import datetime

from sqlalchemy import CheckConstraint, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base


class SigningKey(Base):
    """One pair of keys. `id` is derived from the public key; at most one key is not retired."""

    __tablename__ = "signing_keys"
    __table_args__ = (
        CheckConstraint("octet_length(public_key) = 32", name="public_key_ed25519"),
        Index(
            "signing_keys_one_in_use_key",
            text("(retired_at IS NULL)"),
            unique=True,
            postgresql_where=text("retired_at IS NULL"),
        ),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    public_key: Mapped[bytes]
    wrapped_private_key: Mapped[bytes]
    created_at: Mapped[datetime]
    retired_at: Mapped[datetime | None]
