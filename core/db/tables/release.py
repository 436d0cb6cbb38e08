"""Published generators."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.dialects.postgresql import JSON
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, Json, WithId


class Release(WithId, Base):
    """Publication of a job: the location of the bundle, and its certificate. One job publishes at most once.

    The certificate is `json`, not `jsonb`, which would not preserve the signed bytes.
    """

    __tablename__ = "releases"

    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id"), unique=True)
    dataset_id: Mapped[UUID] = mapped_column(ForeignKey("datasets.id"), index=True)
    bundle_key: Mapped[str]
    certificate: Mapped[Json] = mapped_column(JSON)
    created_at: Mapped[datetime]
