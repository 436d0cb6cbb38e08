"""Wire types of what existing releases of a dataset already answer."""

from datetime import datetime
from typing import Self
from uuid import UUID

from pydantic import BaseModel, Field

from core.synthesis.reusing import CountsTold
from service.wire import coarse


class CountsOfRelease(BaseModel):
    """What the noisy counts of one release answer, and how precisely."""

    release_id: UUID
    created_at: datetime
    columns: int = Field(description="Columns whose values are counted one by one.")
    pairs: int | None = Field(
        description="Pairs of columns that are counted together; null where noisy distances chose them: `GET "
        "/v1/releases/{release_id}/counts` lists them."
    )
    by_class: str | None = Field(
        description="The target within whose classes columns and pairs are counted; null where they are not."
    )
    most_groups: int | None = Field(
        description="About how many groups the values of a column are merged into for pairs; null without pairs."
    )
    column_std: float = Field(
        description="Standard deviation of the noise on the count of a value of a typical column, in records."
    )
    pair_std: float | None = Field(
        description="The same of a cell of a typical pair, at most; null without pairs. Answers say the exact interval."
    )
    epsilon_as_if: float = Field(
        description="The epsilon for which one plan would have counted as precisely, at `delta`."
    )
    delta: float
    holds: list[UUID] = Field(description="Earlier releases whose counts are in these.")

    @classmethod
    def of(cls, release_id: UUID, created_at: datetime, told: CountsTold, *, target: str | None) -> Self:
        """Show what is told of a release."""
        return cls(
            release_id=release_id,
            created_at=coarse(created_at),
            columns=told.columns,
            pairs=told.pairs,
            by_class=target if told.by_class else None,
            most_groups=told.most_groups,
            column_std=told.column_std,
            pair_std=told.pair_std,
            epsilon_as_if=told.epsilon_as_if,
            delta=told.delta,
            holds=[UUID(one) for one in told.holds],
        )


class KnownCounts(BaseModel):
    """What the releases of a dataset already answer, for nothing."""

    releases: list[CountsOfRelease] = Field(description="The most precise first; at most 64 are looked at.")
