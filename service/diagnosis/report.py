"""The doctor's report as it is sent and printed."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from service.diagnosis.findings import Finding


class FindingView(BaseModel):
    """One finding."""

    code: str = Field(description="What was found; stable.")
    grade: Literal["problem", "warning", "note"] = Field(description="How grave it is.")
    part: str = Field(description="Where: database, broker, workers, ledger ...")
    detail: str = Field(description="What is wrong, for people.")
    remedy: str = Field(description="What to do about it.")
    facts: dict[str, str | int] = Field(description="Public facts about it.")

    @classmethod
    def of(cls, found: Finding) -> "FindingView":
        """Show a finding."""
        return cls(
            code=found.code,
            grade=found.entry.grade,
            part=found.entry.part,
            detail=found.detail,
            remedy=found.entry.remedy,
            facts=dict(found.facts),
        )


class Report(BaseModel):
    """What the doctor found."""

    status: Literal["well", "ailing"] = Field(description="ailing when there is at least one problem.")
    examined_at: datetime = Field(description="When.")
    findings: list[FindingView] = Field(description="Everything found; empty when all is well.")

    @classmethod
    def of(cls, findings: Sequence[Finding], *, at: datetime) -> "Report":
        """Report findings."""
        shown = [FindingView.of(found) for found in findings]
        ailing = any(found.grade == "problem" for found in shown)
        return cls(status="ailing" if ailing else "well", examined_at=at, findings=shown)
