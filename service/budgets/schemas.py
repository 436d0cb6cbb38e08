"""Wire types of budgets."""

from datetime import datetime
from typing import Any, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from core.dp.remaining import remaining_epsilon
from core.ledger.ledger_queries import Summary
from service.wire import DEFAULT_DELTA, Delta, Epsilon, Prose


class BudgetOrder(BaseModel):
    """A cap on everything ever released about a population."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"epsilon": 2.0, "delta": 1e-5}]}
    )

    epsilon: Epsilon
    delta: Delta
    reason: Prose | None = Field(
        None,
        description="Required to raise an existing cap; kept in the ledger, where others can read it.",
    )


class Reason(BaseModel):
    """The reason for freezing or unfreezing a dataset."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"reason": "The upload is under review."}]}
    )

    reason: Prose = Field(
        description="Kept in the ledger, where others can read it. Must not contain values from rows."
    )


class BudgetView(BaseModel):
    """The cap of a population and its remaining budget. Amounts are exact decimals, as text."""

    population_id: UUID
    rule: str = Field(description="Composition rule, filters or basic; fixed when the dataset was declared.")
    cap: dict[str, float] | None = Field(description="epsilon and delta; null until an admin has set them.")
    frozen_at: datetime | None = Field(description="When the population was frozen; null if it is not.")
    spent: dict[str, str]
    reserved: dict[str, str]
    carried_by: str | None = Field(description="The filter with the most budget left.")
    filters: list[dict[str, Any]] = Field(
        description="The state of each filter; one that admits a job is enough."
    )
    remaining_epsilon: float | None = Field(
        description="The largest epsilon that one more generator of the dataset at the default delta may have under the cap. Where "
        "its categories are learnt, basic composition alone counts."
    )

    @classmethod
    def of(cls, summary: Summary, *, thresholds: bool) -> Self:
        """Show the totals of a budget without its entries; `thresholds` says whether generators of the dataset learn categories."""
        document = summary.to_json()
        shown = {name: document[name] for name in cls.model_fields if name in document}
        left = None
        if summary.cap is not None:
            left = remaining_epsilon(summary.cap, [summary.balance.in_force], thresholds=thresholds)
        return cls(**shown, remaining_epsilon=left)


class WhatIf(BaseModel):
    """A hypothetical further job."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"epsilon": 0.5, "delta": 1e-6}]}
    )

    epsilon: Epsilon
    delta: Delta | None = Field(None, description=DEFAULT_DELTA)
    grant_id: UUID | None = Field(
        None, description="The analyst's grant to charge. Default: the only open one in which it fits."
    )


class BoundView(BaseModel):
    """A cap or a grant, with one more job."""

    epsilon: float
    delta: float
    fits: bool = Field(description="Whether some filter admits the job.")
    carried_by: str | None = Field(
        description="The admitting filter with the most budget left after the job."
    )
    remaining_delta: float = Field(
        description="The delta that basic composition has left for jobs. Under the rule filters it has half of the whole delta."
    )
    remaining_epsilon: float = Field(
        description="The largest epsilon that one more generator at the default delta can have now."
    )
    remaining_epsilon_after: float = Field(description="The same after this job is reserved.")
    short_of: list[str] = Field(
        description="What is too little for the job: epsilon, delta or both; empty if it fits."
    )


class GrantBoundView(BoundView):
    """A grant, with one more job."""

    id: UUID


class WhatIfView(BaseModel):
    """The cost of one more job, and whether it fits."""

    epsilon: float
    delta: float
    fits: bool = Field(description="Whether an order would be admitted now.")
    refusal: str | None = Field(description="The error code of the refusal; null if it fits.")
    cap: BoundView | None = Field(description="Under the shared cap; null before a cap is set.")
    grant: GrantBoundView | None = Field(description="Under the analyst's grant; null if none is charged.")
