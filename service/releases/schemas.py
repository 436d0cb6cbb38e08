"""Wire types of releases."""

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, Self
from uuid import UUID

from pydantic import BaseModel, Field

from core.artifacts.asking.result import Answer
from core.artifacts.asking.rules_check import Finding, RulesCheck
from core.db.tables.release import Release
from service.wire import NextBefore, coarse


class SampleFormat(StrEnum):
    """File formats of synthetic rows or images."""

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
    links: dict[str, str] = Field(description="Paths of the parts: bundle, certificate, samples.")

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
    next_before: NextBefore


class AnswerRow(BaseModel):
    """One row of an answer."""

    values: list[str] = Field(description="Values of the answer's columns.")
    estimate: float | None = Field(
        description="Clipped to the possible range; null for a ratio whose denominator is indistinguishable from zero."
    )
    low: float | None = Field(
        description="Lower end of the 95 % interval; of an assumed answer the least that the counts allow."
    )
    high: float | None = Field(description="Upper end of the interval.")
    standard_error: float | None = Field(
        description="Standard error of the estimate before clipping; null for a ratio over noise, and for assumed answers."
    )
    unbiased: float | None = Field(description="The estimate before clipping, for summation; null likewise.")


class AnswerView(BaseModel):
    """An answer from noisy counts."""

    schema_: Literal["understudy.answer/1"] = Field(alias="schema")
    measure: Literal["count", "mean", "share"]
    basis: Literal["counted", "assumed"] = Field(
        description="assumed: the columns were not counted jointly, and the first note states the assumption."
    )
    columns: list[str] = Field(description="The columns of the rows.")
    rows: list[AnswerRow]
    counted: str = Field(description="The unit of a count.")
    confidence: float = Field(description="Share of releases whose intervals contain the true value.")
    drawn_rows: int | None = Field(
        description="Number of synthetic rows below which their sampling error alone exceeds the error of this answer's largest group."
    )
    notes: list[str] = Field(description="Caveats for using the numbers.")

    @classmethod
    def of(cls, answer: Answer) -> Self:
        """Convert an answer."""
        return cls.model_validate(answer.to_json())


class ColumnPrecisionView(BaseModel):
    """The precision of the noisy counts of one column."""

    name: str
    values: int = Field(description="Number of values, with one for missing values if they are allowed.")
    standard_error: float | None = Field(
        description="Standard error of the count of one value, in records; null if the column was not counted."
    )


class PrecisionView(BaseModel):
    """How accurate a release is expected to be, from public facts and the noise of its counts alone."""

    declared_size: int
    expected_error: dict[str, Any] | None = Field(
        description="Expected error of counts of synthetic rows, as in a quote; null if it is not known in advance."
    )
    expected_error_missing: str | None = Field(
        description="images, no-anchor or unknown-plan; null with an expected error."
    )
    counted: str | None = Field(description="The unit of a count; null if the release has no counts.")
    columns: list[ColumnPrecisionView] = Field(
        description="The precision of the counts of every column, and of every pattern of dates and times; empty if the release has no counts."
    )
    hidden: list[str] = Field(
        description=(
            "Sentences about what the noise hides. With `where`: that the number of such records cannot be distinguished from zero, or "
            "their pairs from noise. Otherwise: the smallest class of the target, and columns of which few words could be learnt."
        )
    )


class ContradictionView(BaseModel):
    """Two columns whose counts contradict a rule."""

    columns: list[str] = Field(description="The two columns.")
    estimate: float = Field(
        description="Estimated number of records with forbidden values in the two columns; others may break the rule unseen."
    )
    low: float = Field(description="Lower end of the 95 % interval.")
    high: float = Field(description="Upper end of the interval.")
    standard_error: float


class CheckedRuleView(BaseModel):
    """The result of checking one rule."""

    pointer: str = Field(description="Location of the rule in the domain document, as a JSON pointer.")
    kind: str
    columns: list[str] = Field(description="All columns of the rule.")
    finding: Finding = Field(
        description="not-checked: the rule forbids no pair of codes of two columns with joint counts."
    )
    contradictions: list[ContradictionView] = Field(
        description="One per pair of columns whose count of forbidden records is at least four standard errors above zero."
    )


class RulesCheckView(BaseModel):
    """The declared rules between columns, compared with noisy counts."""

    schema_: Literal["understudy.rules-check/1"] = Field(alias="schema")
    rules: list[CheckedRuleView] = Field(description="In the order of the domain; empty without rules.")
    counted: str = Field(description="The unit of a count.")
    confidence: float = Field(description="Share of releases whose intervals contain the true value.")
    code: str | None = Field(description="rule-contradicted; null if no rule is contradicted.")
    remedy: str | None = Field(description="What to do; null if no rule is contradicted.")

    @classmethod
    def of(cls, check: RulesCheck) -> Self:
        """Convert a check."""
        return cls.model_validate(check.to_json())
