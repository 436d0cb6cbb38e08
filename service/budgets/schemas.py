"""Wire types of budgets."""

from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from core.ledger.statement import Statement
from core.privacy.guarantee import SMALLEST_DELTA

Epsilon = Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)]
"""The privacy loss; large values are allowed, up to where nothing is protected any more."""
Delta = Annotated[float, Field(ge=SMALLEST_DELTA, lt=1, allow_inf_nan=False)]
"""The probability share of the guarantee."""


class BudgetOrder(BaseModel):
    """A cap for everything that is ever released about a population."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"epsilon": 2.0, "delta": 1e-5}]}
    )

    epsilon: Epsilon
    delta: Delta


class BudgetView(BaseModel):
    """The cap of a population and what is left of it. Amounts are exact decimals, as text."""

    population_id: UUID
    rule: str
    cap: dict[str, float] | None = Field(description="epsilon and delta; null before an admin has set them.")
    spent: dict[str, str]
    reserved: dict[str, str]
    carried_by: str | None = Field(description="The filter that has most room left.")
    filters: list[dict[str, Any]] = Field(description="The state of each filter; one that holds is enough.")

    @classmethod
    def of(cls, statement: Statement) -> Self:
        """Show the sums of a statement, without its entries."""
        document = statement.to_json()
        return cls(**{name: document[name] for name in cls.model_fields})
