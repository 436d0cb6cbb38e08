"""Utility reports: what was measured of a release against its table."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.dialects.postgresql import JSON
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, Json, WithId


class UtilityReport(WithId, Base):
    """The report that a measuring job published. One job publishes at most once.

    The document is `json`, not `jsonb`, which would not preserve the signed bytes.
    """

    __tablename__ = "charged_reports"

    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id"), unique=True)
    release_id: Mapped[UUID] = mapped_column(ForeignKey("releases.id"), index=True)
    dataset_id: Mapped[UUID] = mapped_column(ForeignKey("datasets.id"))
    document: Mapped[Json] = mapped_column(JSON)
    created_at: Mapped[datetime]
