"""The last runs of upkeep's chores, one row per chore."""

from datetime import datetime

from sqlalchemy import CheckConstraint
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base


class ChoreRun(Base):
    """How often a chore ran and failed, when it last succeeded, and how many items it processed then."""

    __tablename__ = "chore_runs"
    __table_args__ = (
        CheckConstraint("runs >= 0 AND failures >= 0 AND handled >= 0", name="counts_not_negative"),
    )

    name: Mapped[str] = mapped_column(primary_key=True)
    runs: Mapped[int]
    failures: Mapped[int]
    handled: Mapped[int]
    seconds: Mapped[float]
    tried_at: Mapped[datetime]
    done_at: Mapped[datetime | None]
