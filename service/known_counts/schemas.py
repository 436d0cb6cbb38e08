"""Wire types of counts already available from existing releases."""

from datetime import datetime
from typing import Self
from uuid import UUID

from pydantic import BaseModel, Field

from core.plan.reuse_rules import CountsPrecision
from service.wire import coarse


class CountsOfRelease(BaseModel):
    """The noisy counts of one release, and their precision."""

    release_id: UUID
    created_at: datetime
    columns: int = Field(description="Columns with counts of their own.")
    pairs: int | None = Field(
        description="Pairs of columns with joint counts; null if noisy distances selected them: `GET "
        "/v1/releases/{release_id}/counts` lists them."
    )
    by_class: str | None = Field(
        description="The target whose classes columns and pairs are counted by; null if they are not."
    )
    most_groups: int | None = Field(
        description="Approximate number of groups of values per column in joint counts; null without pairs."
    )
    column_std: float = Field(
        description="Standard deviation of the noise on the count of one value of a typical column, in records."
    )
    pair_std: float | None = Field(
        description="Upper bound on the same for one cell of a typical pair; null without pairs. Query responses state exact intervals."
    )
    epsilon_as_if: float = Field(
        description="The epsilon at which a single plan would have the same precision, at `delta`."
    )
    delta: float
    holds: list[UUID] = Field(description="Earlier releases whose counts are included.")

    @classmethod
    def of(
        cls, release_id: UUID, created_at: datetime, facts: CountsPrecision, *, target: str | None
    ) -> Self:
        """Convert the facts of a release."""
        return cls(
            release_id=release_id,
            created_at=coarse(created_at),
            columns=facts.columns,
            pairs=facts.pairs,
            by_class=target if facts.by_class else None,
            most_groups=facts.most_groups,
            column_std=facts.column_std,
            pair_std=facts.pair_std,
            epsilon_as_if=facts.epsilon_as_if,
            delta=facts.delta,
            holds=[UUID(one) for one in facts.holds],
        )


class KnownCounts(BaseModel):
    """Counts already available from a dataset's releases, at no cost."""

    releases: list[CountsOfRelease] = Field(
        description="Most precise first; at most 64 releases are considered."
    )
