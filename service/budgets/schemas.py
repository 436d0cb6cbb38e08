"""Wire types of budgets."""

from datetime import datetime
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from core.ledger.ledger_queries import Summary
from core.privacy.guarantee import SMALLEST_DELTA, SMALLEST_EPSILON
from core.privacy.remaining import remaining_epsilon
from service.wire import Prose

Epsilon = Annotated[float, Field(ge=SMALLEST_EPSILON, le=1000, allow_inf_nan=False, strict=True)]
"""The privacy loss; large values are allowed, up to where nothing is protected any more."""
Delta = Annotated[float, Field(ge=SMALLEST_DELTA, lt=1, allow_inf_nan=False, strict=True)]
"""The probability share of the guarantee."""


class BudgetOrder(BaseModel):
    """A cap for everything that is ever released about a population."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"epsilon": 2.0, "delta": 1e-5}]}
    )

    epsilon: Epsilon
    delta: Delta
    reason: Prose | None = Field(
        None,
        description="Why; needed to raise a cap that exists, and kept in the ledger for everybody to read.",
    )


class Reason(BaseModel):
    """Why a dataset is frozen or unfrozen."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"reason": "The upload is being looked into."}]}
    )

    reason: Prose = Field(description="Kept in the ledger for everybody to read. Never a value of a row.")


class BudgetView(BaseModel):
    """The cap of a population and what is left of it. Amounts are exact decimals, as text."""

    population_id: UUID
    rule: str = Field(
        description="filters, or basic: how charges add up; fixed when the dataset was declared."
    )
    cap: dict[str, float] | None = Field(description="epsilon and delta; null before an admin has set them.")
    frozen_at: datetime | None = Field(description="Since when nothing may be ordered or started; else null.")
    spent: dict[str, str]
    reserved: dict[str, str]
    carried_by: str | None = Field(description="The filter that has most room left.")
    filters: list[dict[str, Any]] = Field(description="The state of each filter; one that holds is enough.")
    remaining_epsilon: float | None = Field(
        description="The largest epsilon that one more job at the default delta may have under the cap."
    )

    @classmethod
    def of(cls, summary: Summary) -> Self:
        """Show the sums of a budget, without the entries behind them."""
        document = summary.to_json()
        shown = {name: document[name] for name in cls.model_fields if name in document}
        left = None if summary.cap is None else remaining_epsilon(summary.cap, [summary.balance.in_force])
        return cls(**shown, remaining_epsilon=left)


class WhatIf(BaseModel):
    """One more job that is only thought of."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"epsilon": 0.5, "delta": 1e-6}]}
    )

    epsilon: Epsilon
    delta: Delta | None = Field(None, description="Left out: the delta of the dataset's cap over 16.")
    grant_id: UUID | None = Field(
        None, description="The analyst's grant to draw on; left out: the only open one."
    )


class BoundView(BaseModel):
    """A cap or a grant, with one more job."""

    epsilon: float
    delta: float
    fits: bool = Field(description="Whether some filter holds with the job added.")
    carried_by: str | None = Field(description="The holding filter with most room left after the job.")
    remaining_epsilon: float = Field(description="The largest epsilon that one more job may have now.")
    remaining_epsilon_after: float = Field(description="The same once this job is reserved.")


class GrantBoundView(BoundView):
    """A grant, with one more job."""

    id: UUID


class WhatIfView(BaseModel):
    """What one more job would cost, and whether it fits."""

    epsilon: float
    delta: float
    fits: bool = Field(description="Whether an order would be admitted now.")
    refusal: str | None = Field(description="The code that it would be refused with; null where it fits.")
    cap: BoundView | None = Field(description="Under the cap for everybody together; null before it is set.")
    grant: GrantBoundView | None = Field(
        description="Under the analyst's grant; null where none is drawn on."
    )
