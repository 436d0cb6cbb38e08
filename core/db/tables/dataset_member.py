"""Who may see a dataset beside its owner, admins and auditors."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base


class DatasetMember(Base):
    """One analyst of one dataset. Members are of a dataset, not of its population: each version is shown on purpose."""

    __tablename__ = "dataset_members"

    dataset_id: Mapped[UUID] = mapped_column(ForeignKey("datasets.id"), primary_key=True)
    principal_id: Mapped[UUID] = mapped_column(primary_key=True, index=True)
    added_by: Mapped[UUID]
    added_at: Mapped[datetime]
