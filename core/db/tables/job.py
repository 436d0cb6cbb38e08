"""Jobs. The row is the source of truth; the message on the broker is a hint."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, text
from sqlalchemy.dialects.postgresql import JSON
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, Json, WithId, one_of

DEVICES = ("cpu", "gpu")
WISHES = ("auto", "cpu", "gpu")
STATES = ("queued", "running", "succeeded", "failed", "cancelled")


class Job(WithId, Base):
    """One job: its plan, its lease, its durable progress marks.

    `stage` is null until the first mark: nothing private has begun. `steps_begun` is the highest step
    recorded before its steps touched rows, and never decreases. `attempts` counts claims since `steps_begun`
    last rose, without those handed back. `sent_at` is when a message was last sent for a waiting job.
    `started_at` is the first claim, `claimed_at` the last. `trace_context` (W3C traceparent) and `request_id`
    identify the request that ordered it, for traces and logs only. `shown_stage` and `shown_step` are the
    public copies of the marks, updated at heartbeats but never before the next boundary of
    `core.jobs.visible_progress`. `lease_owner` identifies the claiming process, opaque here; it lets others detect
    that the process died. `device` is the kind of device whose workers take the job, `device_wish` what the
    order asked for; both are null for reports and for orders of earlier releases. The plan is `json`, not `jsonb`, because its digest covers it and `jsonb` rewrites
    numbers. `sealed_federation` is the board of the plan's federation and the token for it, sealed; it is destroyed when the job ends.
    """

    __tablename__ = "jobs"
    __table_args__ = (
        CheckConstraint(one_of("state", STATES), name="state_known"),
        CheckConstraint("(state = 'running') = (lease_expires_at IS NOT NULL)", name="running_has_lease"),
        CheckConstraint(
            "(state IN ('succeeded', 'failed', 'cancelled')) = (finished_at IS NOT NULL)",
            name="ended_has_time",
        ),
        CheckConstraint(
            "(state IN ('queued', 'running')) = (sealed_randomness_key IS NOT NULL)", name="ended_has_no_key"
        ),
        CheckConstraint("(state = 'failed') = (failure_code IS NOT NULL)", name="failed_has_code"),
        CheckConstraint(
            "fence >= 0 AND attempts >= 0 AND step >= 0 AND total_steps >= 0 AND steps_begun >= 0",
            name="counts_not_negative",
        ),
        CheckConstraint(one_of("device", DEVICES), name="device_known"),
        CheckConstraint(one_of("device_wish", WISHES), name="device_wish_known"),
        Index(
            "jobs_waiting_idx", "state", "sent_at", postgresql_where=text("state IN ('queued', 'running')")
        ),
    )

    dataset_id: Mapped[UUID] = mapped_column(ForeignKey("datasets.id"), index=True)
    ordered_by: Mapped[UUID] = mapped_column(index=True)
    state: Mapped[str] = mapped_column(default="queued")
    plan: Mapped[Json] = mapped_column(JSON)
    plan_digest: Mapped[str]
    fence: Mapped[int] = mapped_column(default=0)
    lease_expires_at: Mapped[datetime | None]
    lease_owner: Mapped[str | None] = mapped_column("lease_holder")
    cancel_requested_at: Mapped[datetime | None]
    stage: Mapped[str | None]
    step: Mapped[int] = mapped_column(default=0)
    total_steps: Mapped[int] = mapped_column(default=0)
    steps_begun: Mapped[int] = mapped_column(default=0)
    shown_stage: Mapped[str | None]
    shown_step: Mapped[int | None]
    sealed_randomness_key: Mapped[bytes | None]
    failure_code: Mapped[str | None]
    attempts: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[datetime]
    sent_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    claimed_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    trace_context: Mapped[str | None]
    request_id: Mapped[str | None]
    device: Mapped[str | None]
    device_wish: Mapped[str | None]
    sealed_federation: Mapped[bytes | None]
