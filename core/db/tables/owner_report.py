"""Owner reports, which compare a release with the real rows: who ordered each, and where its sealed file is stored."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, WithId, one_of

QUEUED, RUNNING, MADE, FAILED = STATES = ("queued", "running", "made", "failed")


class OwnerReport(WithId, Base):
    """One report on one release. The row is the source of truth; the message on the broker is a hint, like a job's.

    The report itself is an object sealed with the dataset's data key. `target` names a declared column. For
    each release and target there is at most one report that has not failed. Deleting the dataset deletes
    these rows.
    """

    __tablename__ = "sealed_reports"
    __table_args__ = (
        CheckConstraint(one_of("state", STATES), name="state_known"),
        CheckConstraint("(state = 'running') = (lease_expires_at IS NOT NULL)", name="running_has_lease"),
        CheckConstraint("(state = 'made') = (object_key IS NOT NULL)", name="made_has_object"),
        CheckConstraint("(state = 'failed') = (failure_code IS NOT NULL)", name="failed_has_code"),
        CheckConstraint("(state IN ('made', 'failed')) = (finished_at IS NOT NULL)", name="ended_has_time"),
        CheckConstraint("fence >= 0 AND attempts >= 0", name="counts_not_negative"),
        Index(
            "sealed_reports_wanted_key",
            "release_id",
            "target",
            unique=True,
            postgresql_where=text("state <> 'failed'"),
        ),
        Index(
            "sealed_reports_waiting_idx",
            "state",
            "sent_at",
            postgresql_where=text("state IN ('queued', 'running')"),
        ),
    )

    release_id: Mapped[UUID] = mapped_column(ForeignKey("releases.id"), index=True)
    dataset_id: Mapped[UUID] = mapped_column(ForeignKey("datasets.id"), index=True)
    ordered_by: Mapped[UUID] = mapped_column(index=True)
    target: Mapped[str]
    state: Mapped[str] = mapped_column(default="queued")
    fence: Mapped[int] = mapped_column(default=0)
    attempts: Mapped[int] = mapped_column(default=0)
    lease_expires_at: Mapped[datetime | None]
    lease_owner: Mapped[str | None] = mapped_column("lease_holder")
    object_key: Mapped[str | None]
    failure_code: Mapped[str | None]
    created_at: Mapped[datetime]
    sent_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]
    request_id: Mapped[str | None]
