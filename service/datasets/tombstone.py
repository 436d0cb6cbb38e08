"""Wire type of a deleted dataset's tombstone."""

from datetime import datetime
from typing import Self
from uuid import UUID

from pydantic import BaseModel, Field

from core.db.tables.dataset import Dataset
from service.wire import coarse


class Tombstone(BaseModel):
    """A dataset whose rows nobody can decrypt any more."""

    id: UUID
    population_id: UUID = Field(description="The population whose budget keeps the spent epsilon.")
    state: str = Field(description="deleted.")
    deleted_at: datetime | None

    @classmethod
    def of(cls, row: Dataset) -> Self:
        """Convert a deleted row."""
        return cls(
            id=row.id,
            population_id=row.population_id,
            state=row.state,
            deleted_at=None if row.deleted_at is None else coarse(row.deleted_at),
        )
