"""Wire types of grants."""

from datetime import datetime
from typing import Self
from uuid import UUID

from pydantic import BaseModel, Field

from core.db.tables.grant import Grant
from core.dp.remaining import remaining_epsilon
from core.ledger.entries import GrantState
from core.ledger.ledger_queries import GrantBalance, amounts
from service.wire import NextBefore


class GrantView(BaseModel):
    """One analyst's sub-cap within the shared cap."""

    id: UUID
    population_id: UUID = Field(
        description="The population whose cap applies; all versions of a dataset share it."
    )
    holder_id: UUID = Field(description="The principal that may spend it.")
    epsilon: float
    delta: float
    state: str = Field(description="open, expired or revoked.")
    expires_at: datetime = Field(description="After this time no order can use it.")
    created_at: datetime
    closed_at: datetime | None

    @classmethod
    def of(cls, row: Grant, *, at: datetime | None = None) -> Self:
        """Convert a row; given a time, a grant past its expiry counts as expired even before upkeep closes it."""
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
    """A grant with its usage. Amounts are exact decimals, as text."""

    dataset_ids: list[UUID] = Field(description="The datasets of the population that the key may see.")
    spent: dict[str, str] = Field(description="Sums of epsilon and delta of started jobs.")
    reserved: dict[str, str] = Field(description="Sums of epsilon and delta of queued jobs.")
    remaining_epsilon: float | None = Field(
        description=(
            "The largest epsilon of one more generator at the default delta under this grant; the cap may leave less. Where the "
            "categories of one of the datasets are learnt, basic composition alone counts. Null once the grant is closed."
        )
    )

    @classmethod
    def with_balance(
        cls, grant: GrantView, standing: GrantBalance, dataset_ids: list[UUID], *, thresholds: bool
    ) -> Self:
        """A grant with its totals; `thresholds` says whether generators of one of the datasets learn categories."""
        left = None
        if grant.state == GrantState.OPEN:
            left = remaining_epsilon(
                standing.cap, [standing.balance.in_force], thresholds=thresholds, within=standing.within
            )
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
    next_before: NextBefore
