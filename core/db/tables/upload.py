"""Uploads in parts, resumable after an interruption."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, Json, WithId, one_of

STATES = ("open", "completing", "completed", "refused", "aborted", "expired")


class Upload(WithId, Base):
    """One file being uploaded to a dataset.

    Its parts are sealed under their own data key, which is destroyed when the upload ends: leftover objects
    cannot be opened. While the rows are read in, the upload is `completing` under a lease and a fence, like a
    job. `failure` is why the rows were refused, or why the last attempt to read them failed; it is for the
    owner only.
    """

    __tablename__ = "uploads"
    __table_args__ = (
        CheckConstraint(one_of("state", STATES), name="state_known"),
        CheckConstraint("declared_bytes > 0 AND part_bytes > 0", name="sizes_positive"),
        CheckConstraint("fence >= 0", name="fence_not_negative"),
        CheckConstraint("sha256 IS NULL OR octet_length(sha256) = 32", name="digest_sha256"),
        CheckConstraint(
            "(state IN ('open', 'completing')) = (wrapped_data_key IS NOT NULL)"
            " AND (state IN ('open', 'completing')) = (ended_at IS NULL)",
            name="ended_has_no_key",
        ),
        CheckConstraint(
            "(state = 'completing') = (lease_expires_at IS NOT NULL)", name="completing_has_lease"
        ),
        Index("uploads_live_idx", "expires_at", postgresql_where=text("state IN ('open', 'completing')")),
    )

    dataset_id: Mapped[UUID] = mapped_column(ForeignKey("datasets.id"), index=True)
    principal_id: Mapped[UUID] = mapped_column(index=True)
    declared_bytes: Mapped[int]
    part_bytes: Mapped[int]
    sha256: Mapped[bytes | None]
    content_type: Mapped[str]
    state: Mapped[str] = mapped_column(default="open")
    wrapped_data_key: Mapped[bytes | None]
    fence: Mapped[int] = mapped_column(default=0)
    lease_expires_at: Mapped[datetime | None]
    lease_owner: Mapped[str | None] = mapped_column("lease_holder")
    failure: Mapped[Json | None]
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]
