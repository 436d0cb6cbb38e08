"""Further datasets of jobs that read the rows of several owners."""

from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base


class JobMember(Base):
    """One dataset of a job beside the one that the job's row names. Its ledger has a reservation of the job too."""

    __tablename__ = "job_members"

    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    dataset_id: Mapped[UUID] = mapped_column(ForeignKey("datasets.id"), primary_key=True, index=True)
