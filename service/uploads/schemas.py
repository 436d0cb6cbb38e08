"""Wire types of multipart uploads."""

from datetime import datetime
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, Strict, StringConstraints

from core.data.intake.intake_report import MAX_REFUSED
from core.db.tables.upload import Upload
from core.db.tables.upload_part import UploadPart
from service.datasets.schemas import MaxRefused

MAX_BYTES = 2**50

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class UploadOrder(BaseModel):
    """A file to upload."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"example": {"bytes": 1073741824, "content_type": "text/csv"}}
    )

    bytes: int = Field(ge=1, le=MAX_BYTES, strict=True, description="Size of the whole file.")
    content_type: str = Field(
        min_length=1,
        max_length=200,
        description="For tables text/csv, application/gzip (of CSV) or application/vnd.apache.parquet; for images application/zip "
        "or application/x-npz.",
    )
    sha256: Sha256 | None = Field(
        None, description="SHA-256 of the whole file in hexadecimal, if already known."
    )


class CompletionOrder(BaseModel):
    """Completes an upload after all parts were sent."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"sha256": "0" * 64}})

    sha256: Sha256 = Field(description="SHA-256 of the whole file in hexadecimal.")
    max_refused: Annotated[MaxRefused, Strict()] = MAX_REFUSED


class PartView(BaseModel):
    """A part that has arrived."""

    number: int
    bytes: int
    sha256: str

    @classmethod
    def of(cls, row: UploadPart) -> Self:
        """Show a row."""
        return cls(number=row.number, bytes=row.size_bytes, sha256=row.sha256.hex())


class UploadView(BaseModel):
    """An upload and its received parts."""

    id: UUID
    dataset_id: UUID
    state: str = Field(description="open, completing, completed, refused, aborted or expired.")
    bytes: int
    content_type: str
    part_bytes: int = Field(description="Size of every part except the last.")
    parts_total: int
    parts: list[PartView] = Field(description="The received parts; empty once the upload has ended.")
    created_at: datetime
    expires_at: datetime = Field(description="When the upload expires; every part extends it.")

    @classmethod
    def of(cls, row: Upload, parts: list[PartView]) -> Self:
        """Show a row."""
        return cls(
            id=row.id,
            dataset_id=row.dataset_id,
            state=row.state,
            bytes=row.declared_bytes,
            content_type=row.content_type,
            part_bytes=row.part_bytes,
            parts_total=parts_total(row),
            parts=parts,
            created_at=row.created_at,
            expires_at=row.expires_at,
        )


class CompletionView(BaseModel):
    """The state of an upload's ingestion."""

    upload_id: UUID
    state: str = Field(description="completing or completed.")
    intake_report: dict[str, Any] | None = Field(
        description="For the owner: accepted, refused and mapped rows, and whether they await the owner's decision; "
        "null while the rows are being ingested."
    )


def parts_total(row: Upload) -> int:
    """The number of parts of the file."""
    return -(-row.declared_bytes // row.part_bytes)


def part_size(row: Upload, number: int) -> int:
    """The size of a part of the file, in bytes."""
    return min(row.part_bytes, row.declared_bytes - (number - 1) * row.part_bytes)
