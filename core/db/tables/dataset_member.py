"""Members: principals who may see a dataset, in addition to its owner, admins and auditors."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base


class DatasetMember(Base):
    """One analyst of one dataset. Membership is per dataset, not per population: each version is shared deliberately."""

    __tablename__ = "dataset_members"

    dataset_id: Mapped[UUID] = mapped_column(ForeignKey("datasets.id"), primary_key=True)
    principal_id: Mapped[UUID] = mapped_column(primary_key=True, index=True)
    added_by: Mapped[UUID]
    added_at: Mapped[datetime]
