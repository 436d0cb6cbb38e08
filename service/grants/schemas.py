"""Wire types of grants."""

from datetime import datetime
from typing import Self
from uuid import UUID

from pydantic import BaseModel, Field

from core.db.tables.grant import Grant


class GrantView(BaseModel):
    """A sub-cap of one analyst, within the cap that binds everybody together."""

    id: UUID
    population_id: UUID = Field(description="Whose cap it is a part of; all versions of a dataset share it.")
    holder_id: UUID = Field(description="The principal that may draw on it.")
    epsilon: float
    delta: float
    state: str = Field(description="open, expired or revoked.")
    expires_at: datetime = Field(description="From then on no order draws on it.")
    created_at: datetime
    closed_at: datetime | None

    @classmethod
    def of(cls, row: Grant) -> Self:
        """Show a row."""
        return cls(
            id=row.id,
            population_id=row.population_id,
            holder_id=row.holder_id,
            epsilon=row.epsilon,
            delta=row.delta,
            state=row.state,
            expires_at=row.expires_at,
            created_at=row.created_at,
            closed_at=row.closed_at,
        )


class GrantList(BaseModel):
    """The grants of a dataset's population, oldest first."""

    items: list[GrantView]
