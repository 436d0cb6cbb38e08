"""Wire types of releases."""

from datetime import datetime
from enum import StrEnum
from typing import Any, Self
from uuid import UUID

from pydantic import BaseModel, Field

from core.db.tables.release import Release
from service.wire import coarse


class SampleFormat(StrEnum):
    """How synthetic rows or images are written."""

    CSV = "csv"
    PARQUET = "parquet"
    JSONL = "jsonl"
    ARROW = "arrow"
    NPZ = "npz"
    ZIP = "zip"
    PNG = "png"


class ReleaseView(BaseModel):
    """A published generator."""

    id: UUID
    job_id: UUID
    dataset_id: UUID
    created_at: datetime
    links: dict[str, str] = Field(description="Where the parts are: bundle, certificate, samples.")

    @classmethod
    def of(cls, row: Release) -> Self:
        """Show a row."""
        base = f"/v1/releases/{row.id}"
        return cls(
            id=row.id,
            job_id=row.job_id,
            dataset_id=row.dataset_id,
            created_at=coarse(row.created_at),
            links={part: f"{base}/{part}" for part in ("bundle", "certificate", "samples")},
        )


class ReleaseList(BaseModel):
    """A page of releases, newest first."""

    items: list[ReleaseView]
    next_before: UUID | None = Field(description="Ask for the next page with before=...; null on the last.")


Certificate = dict[str, Any]
"""What was spent, by which mechanism, and how to compute it again; its form is described in the documentation."""
