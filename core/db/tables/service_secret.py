"""Secrets of the service that survive a rotation of the master key, each sealed under the current one."""

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base


class ServiceSecret(Base):
    """One secret by name."""

    __tablename__ = "service_secrets"

    name: Mapped[str] = mapped_column(primary_key=True)
    wrapped: Mapped[bytes]
    created_at: Mapped[datetime]
