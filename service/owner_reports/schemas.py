"""Wire types of owner reports. Apart from the path of the file, they contain nothing of a report's content."""

from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from core.db.tables.owner_report import OwnerReport
from service.wire import coarse, plain_text

ColumnName = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(plain_text)]


class SealedReportOrder(BaseModel):
    """Options of an owner report."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"target": "income"}]})

    target: ColumnName | None = Field(
        None,
        description="The column to predict from the others. Default: the domain's target, else the last of the columns with the fewest declared values.",
    )


class SealedReportView(BaseModel):
    """An owner report, sealed to the owner of the rows. For the owner only: NOT differentially private."""

    id: UUID
    release_id: UUID
    dataset_id: UUID
    target: str = Field(description="The column predicted from the others.")
    state: str = Field(
        description="queued, running, made or failed. The end becomes visible only at a time boundary."
    )
    failure: str | None = Field(
        description="Stable error code once all attempts have failed. Problems with rows are described in the file."
    )
    created_at: datetime
    finished_at: datetime | None
    file: str | None = Field(description="Path of the file, once it is ready.")

    @classmethod
    def of(cls, row: OwnerReport) -> Self:
        """Show a row."""
        return cls(
            id=row.id,
            release_id=row.release_id,
            dataset_id=row.dataset_id,
            target=row.target,
            state=row.state,
            failure=row.failure_code,
            created_at=coarse(row.created_at),
            finished_at=None if row.finished_at is None else coarse(row.finished_at),
            file=None if row.object_key is None else f"/v1/sealed-reports/{row.id}/file",
        )


class SealedReportSummary(BaseModel):
    """An owner report in a few sentences, for the owner only: NOT differentially private."""

    id: UUID
    sentences: list[str] = Field(
        description="How far columns and pairs are from the real rows, and what can be learnt. Empty for older reports."
    )
    look_at: list[str] = Field(description="What stands out. Empty if nothing does.")


class SealedReportList(BaseModel):
    """The owner reports of one release, newest first."""

    items: list[SealedReportView]
