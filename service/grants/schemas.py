"""Wire types of grants."""

from datetime import datetime
from typing import Self
from uuid import UUID

from pydantic import BaseModel, Field

from core.db.tables.grant import Grant
from core.ledger.entries import GrantState
from core.ledger.ledger_queries import GrantBalance, amounts
from core.privacy.remaining import remaining_epsilon


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
    def of(cls, row: Grant, *, at: datetime | None = None) -> Self:
        """Show a row; with a moment, one whose time is over as expired, even before upkeep has closed it."""
        is_over = at is not None and row.state == GrantState.OPEN and row.expires_at <= at
        return cls(
            id=row.id,
            population_id=row.population_id,
            holder_id=row.holder_id,
            epsilon=row.epsilon,
            delta=row.delta,
            state=GrantState.EXPIRED.value if is_over else row.state,
            expires_at=row.expires_at,
            created_at=row.created_at,
            closed_at=row.closed_at,
        )


class GrantList(BaseModel):
    """The grants of a dataset's population, oldest first."""

    items: list[GrantView]


class StandingGrant(GrantView):
    """A grant, and what was drawn on it. Amounts are exact decimals, as text."""

    dataset_ids: list[UUID] = Field(description="The datasets of the population that the key may see.")
    spent: dict[str, str] = Field(description="Epsilon and delta of jobs that began, summed.")
    reserved: dict[str, str] = Field(description="Epsilon and delta of jobs that wait, summed.")
    remaining_epsilon: float | None = Field(
        description=(
            "The largest epsilon that one more job at the default delta may have under this grant; the cap may leave less. "
            "Null once the grant is over."
        )
    )

    @classmethod
    def told(cls, grant: GrantView, standing: GrantBalance, dataset_ids: list[UUID]) -> Self:
        """A grant with its sums."""
        is_open = grant.state == GrantState.OPEN
        left = remaining_epsilon(standing.cap, [standing.balance.in_force]) if is_open else None
        return cls(
            **grant.model_dump(),
            dataset_ids=dataset_ids,
            spent=amounts(standing.balance.spent),
            reserved=amounts(standing.balance.reserved),
            remaining_epsilon=left,
        )


class StandingGrantPage(BaseModel):
    """A page of grants, newest first."""

    items: list[StandingGrant]
    next_before: UUID | None = Field(description="Ask for the next page with before=...; null on the last.")
