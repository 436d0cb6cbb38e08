"""Wire types of budget requests."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from core.db.tables.budget_request import BudgetRequest
from core.db.tables.grant import Grant
from core.dp.guarantee import PrivacyGuarantee
from core.platform.budget_requests.states import RequestState
from service.grants.schemas import GrantView
from service.wire import DEFAULT_GRANT_DELTA, Delta, Epsilon, Moment, NextBefore, Prose


class BudgetRequestOrder(BaseModel):
    """A request for part of a dataset's budget."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"epsilon": 1.0, "delta": 2e-6, "purpose": "One generator for the course on readmissions."}
            ]
        },
    )

    epsilon: Epsilon = Field(description="Epsilon of the requested sub-cap.")
    delta: Delta | None = Field(None, description=f"Delta of the sub-cap. {DEFAULT_GRANT_DELTA}")
    purpose: Prose = Field(
        description="The purpose, shown to the person who decides. Must not contain values from rows."
    )


class Approval(BaseModel):
    """A decision to grant the requested budget, or less."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"epsilon": 0.5, "delta": 1e-6, "note": "Half for now."}]},
    )

    epsilon: Epsilon | None = Field(None, description="Default: the requested epsilon.")
    delta: Delta | None = Field(None, description="Default: the requested delta.")
    note: Prose | None = Field(None, description="A note to the analyst.")
    expires_at: Moment | None = Field(
        None,
        description="When the grant expires, within ten years. Default: after the operator's default period.",
    )

    def amounts(self, request: BudgetRequest) -> PrivacyGuarantee:
        """The amounts to grant; missing ones default to the requested ones."""
        return PrivacyGuarantee(
            epsilon=request.epsilon if self.epsilon is None else self.epsilon,
            delta=request.delta if self.delta is None else self.delta,
        )


class Denial(BaseModel):
    """A decision to deny the request."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"note": "Ask after the audit."}]}
    )

    note: Prose = Field(description="The reason, shown to the analyst.")


class BudgetRequestView(BaseModel):
    """A budget request and its outcome."""

    id: UUID
    dataset_id: UUID
    population_id: UUID = Field(description="The population whose cap applies to the grant.")
    requested_by: UUID = Field(description="The requester, who also holds the grant if there is one.")
    epsilon: float
    delta: float
    purpose: str
    state: RequestState
    note: str | None = Field(description="The note of the person who decided.")
    created_at: datetime
    expires_at: datetime = Field(description="The request expires at this time if undecided.")
    decided_at: datetime | None
    decided_by: UUID | None = Field(description="The principal that decided; null for an expired request.")
    grant: GrantView | None = Field(description="The resulting grant, which may be smaller than requested.")

    @classmethod
    def of(cls, row: BudgetRequest, *, population_id: UUID, grant: Grant | None) -> Self:
        """Show a row."""
        return cls(
            id=row.id,
            dataset_id=row.dataset_id,
            population_id=population_id,
            requested_by=row.requested_by,
            epsilon=row.epsilon,
            delta=row.delta,
            purpose=row.purpose,
            state=RequestState(row.state),
            note=row.note,
            created_at=row.created_at,
            expires_at=row.expires_at,
            decided_at=row.decided_at,
            decided_by=row.decided_by,
            grant=None if grant is None else GrantView.of(grant),
        )


class BudgetRequestList(BaseModel):
    """A page of budget requests, newest first."""

    items: list[BudgetRequestView]
    next_before: NextBefore

    @classmethod
    def of(
        cls,
        rows: Sequence[BudgetRequest],
        *,
        populations: Mapping[UUID, UUID],
        grants: Mapping[UUID, Grant],
        next_before: UUID | None,
    ) -> Self:
        """Show rows."""
        items = [
            BudgetRequestView.of(
                row,
                population_id=populations[row.dataset_id],
                grant=None if row.grant_id is None else grants[row.grant_id],
            )
            for row in rows
        ]
        return cls(items=items, next_before=next_before)
