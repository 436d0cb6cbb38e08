"""Wire types of budget requests."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from core.db.tables.budget_request import BudgetRequest
from core.db.tables.grant import Grant
from core.governance.states import RequestState
from core.privacy.guarantee import PrivacyGuarantee
from service.budgets.schemas import Delta, Epsilon
from service.grants.schemas import GrantView
from service.wire import Moment, Prose


class BudgetRequestOrder(BaseModel):
    """A part of a dataset's budget that an analyst asks for."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"epsilon": 1.0, "delta": 2e-6, "purpose": "One generator for the course on readmissions."}
            ]
        },
    )

    epsilon: Epsilon = Field(description="Epsilon of the sub-cap that is asked for.")
    delta: Delta = Field(
        description="Delta of the sub-cap. Under the default rule a job draws on half of it: ask for twice its delta."
    )
    purpose: Prose = Field(description="What it is for; read by whoever decides. Never a value of a row.")


class Approval(BaseModel):
    """A decision to grant what was asked for, or less of it."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"epsilon": 0.5, "delta": 1e-6, "note": "Half for now."}]},
    )

    epsilon: Epsilon | None = Field(None, description="Left out: the requested epsilon.")
    delta: Delta | None = Field(None, description="Left out: the requested delta.")
    note: Prose | None = Field(None, description="What the analyst is told.")
    expires_at: Moment | None = Field(
        None, description="When the grant ends, within ten years; left out: after the operator's default."
    )

    def amounts(self, request: BudgetRequest) -> PrivacyGuarantee:
        """What is granted, with what was asked for in place of what was left out."""
        return PrivacyGuarantee(
            epsilon=request.epsilon if self.epsilon is None else self.epsilon,
            delta=request.delta if self.delta is None else self.delta,
        )


class Denial(BaseModel):
    """A decision to grant nothing."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"note": "Ask after the audit."}]}
    )

    note: Prose = Field(description="Why; the analyst is told.")


class BudgetRequestView(BaseModel):
    """A budget request and what became of it."""

    id: UUID
    dataset_id: UUID
    population_id: UUID = Field(description="Whose cap a grant would be a part of.")
    requested_by: UUID = Field(description="The principal that asked, and holds the grant if there is one.")
    epsilon: float
    delta: float
    purpose: str
    state: RequestState
    note: str | None = Field(description="What whoever decided has told the analyst.")
    created_at: datetime
    expires_at: datetime = Field(description="Without a decision until then the request expires.")
    decided_at: datetime | None
    decided_by: UUID | None = Field(
        description="The principal that decided; null for a request that expired."
    )
    grant: GrantView | None = Field(description="What was granted; it may be less than was asked for.")

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
    next_before: UUID | None = Field(description="Ask for the next page with before=...; null on the last.")

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
