"""Wire types of utility reports."""

from datetime import datetime
from typing import Self
from uuid import UUID

from pydantic import BaseModel, Field

from core.db.tables.utility_report import UtilityReport
from service.wire import NextBefore, coarse


class ChargedReportView(BaseModel):
    """Summary of a utility report. The report itself is a signed document."""

    id: UUID
    job_id: UUID
    release_id: UUID
    dataset_id: UUID
    epsilon: float = Field(description="Epsilon of its guarantee.")
    delta: float
    target: str | None = Field(description="The predicted column; null without a score.")
    created_at: datetime

    @classmethod
    def of(cls, row: UtilityReport) -> Self:
        """Show a row."""
        parameters = row.document["privacy_parameters"]
        return cls(
            id=row.id,
            job_id=row.job_id,
            release_id=row.release_id,
            dataset_id=row.dataset_id,
            epsilon=parameters["epsilon"],
            delta=parameters["delta"],
            target=row.document["plan"]["target"],
            created_at=coarse(row.created_at),
        )


class ChargedReportList(BaseModel):
    """A page of utility reports, newest first."""

    items: list[ChargedReportView]
    next_before: NextBefore
