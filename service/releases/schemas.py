"""Wire types of releases."""

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, Self
from uuid import UUID

from pydantic import BaseModel, Field

from core.asking.result import Answer
from core.asking.rules_check import Finding, RulesCheck
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


class AnswerRow(BaseModel):
    """One row of an answer."""

    values: list[str] = Field(description="What the columns of the answer hold.")
    estimate: float | None = Field(
        description="Clipped to what is possible; null for a ratio over what is within noise of nothing."
    )
    low: float | None = Field(
        description="Lower end of the 95 % interval; null where there is no interval, of an assumption."
    )
    high: float | None = Field(description="Upper end of it; null likewise.")
    standard_error: float | None = Field(
        description="Of the estimate before it is clipped; null for a ratio over noise, and for an assumption."
    )
    unbiased: float | None = Field(
        description="The estimate before it is clipped, for adding up; null likewise."
    )


class AnswerView(BaseModel):
    """An answer from noisy counts."""

    schema_: Literal["understudy.answer/1"] = Field(alias="schema")
    measure: Literal["count", "mean", "share"]
    basis: Literal["counted", "assumed"] = Field(
        description="assumed: the columns were not counted together, and the first note says what was assumed of them."
    )
    columns: list[str] = Field(description="What the rows are of.")
    rows: list[AnswerRow]
    counted: str = Field(description="What a count counts.")
    confidence: float = Field(description="Share of releases whose intervals hold the truth.")
    drawn_rows: int | None = Field(
        description="Synthetic rows below which their sampling error alone exceeds that of this answer's largest group."
    )
    notes: list[str] = Field(description="What to know before the numbers are used.")

    @classmethod
    def of(cls, answer: Answer) -> Self:
        """Show an answer."""
        return cls.model_validate(answer.to_json())


class ContradictionView(BaseModel):
    """Two columns whose counts say that records break a rule."""

    columns: list[str] = Field(description="The two columns.")
    estimate: float = Field(
        description="Records whose values of the two columns the rule forbids; others may break it unseen."
    )
    low: float = Field(description="Lower end of the 95 % interval.")
    high: float = Field(description="Upper end of it.")
    standard_error: float


class CheckedRuleView(BaseModel):
    """What the counts say of one rule."""

    pointer: str = Field(description="Where the rule stands in the domain document, as a JSON pointer.")
    kind: str
    columns: list[str] = Field(description="All columns that the rule ties together.")
    finding: Finding = Field(
        description="not-checked: the rule forbids no pair of codes of two columns that were counted together."
    )
    contradictions: list[ContradictionView] = Field(
        description="One for each two columns whose count of forbidden records stands clearly above zero: by four standard errors or more."
    )


class RulesCheckView(BaseModel):
    """The declared rules between columns, held against noisy counts."""

    schema_: Literal["understudy.rules-check/1"] = Field(alias="schema")
    rules: list[CheckedRuleView] = Field(description="In the order of the domain; empty where it has none.")
    counted: str = Field(description="What a count counts.")
    confidence: float = Field(description="Share of releases whose intervals hold the truth.")
    code: str | None = Field(description="rule-contradicted; null where no rule is.")
    remedy: str | None = Field(description="What to do; null where no rule is contradicted.")

    @classmethod
    def of(cls, check: RulesCheck) -> Self:
        """Show a check."""
        return cls.model_validate(check.to_json())


Certificate = dict[str, Any]
"""What was spent, by which mechanism, and how to compute it again; its form is described in the documentation."""
