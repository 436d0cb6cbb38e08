"""Datasets: their public declaration and the location of their sealed rows."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, Json, WithId, one_of

STATES = ("declared", "ready", "deleted")
ADJACENCIES = ("add-or-remove",)


class Dataset(WithId, Base):
    """A declared dataset; `ready` once its rows are stored; `deleted` is a tombstone that keeps the public facts.

    A deleted dataset has no data key. Its `rows_key` stays until upkeep has deleted the object too.
    `privacy_unit` names the unit column, or is null if each record is its own unit. `intake_report` is for
    the owner only.
    """

    __tablename__ = "datasets"
    __table_args__ = (
        CheckConstraint(one_of("state", STATES), name="state_known"),
        CheckConstraint(one_of("adjacency", ADJACENCIES), name="adjacency_known"),
        CheckConstraint("declared_size > 0", name="declared_size_positive"),
        CheckConstraint(
            "(state = 'ready') = (wrapped_data_key IS NOT NULL) AND (state <> 'ready' OR rows_key IS NOT NULL)",
            name="ready_has_rows",
        ),
        CheckConstraint(
            "(state = 'deleted') = (deleted_at IS NOT NULL) AND (state = 'deleted') = (deleted_by IS NOT NULL)"
            " AND (state <> 'deleted' OR intake_report IS NULL)",
            name="deleted_has_tombstone",
        ),
    )

    population_id: Mapped[UUID] = mapped_column(ForeignKey("budgets.population_id"), index=True)
    owner_id: Mapped[UUID] = mapped_column(index=True)
    name: Mapped[str]
    domain: Mapped[Json]
    adjacency: Mapped[str]
    privacy_unit: Mapped[str | None]
    declared_size: Mapped[int]
    state: Mapped[str] = mapped_column(default="declared")
    rows_key: Mapped[str | None]
    wrapped_data_key: Mapped[bytes | None]
    stored_bytes: Mapped[int | None]
    intake_report: Mapped[Json | None]
    created_at: Mapped[datetime]
    deleted_at: Mapped[datetime | None]
    deleted_by: Mapped[UUID | None]
