"""The doctor's report, as sent and printed."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from service.diagnosis.findings import Finding


class FindingView(BaseModel):
    """One finding."""

    code: str = Field(description="Stable code of the finding.")
    grade: Literal["problem", "warning", "note"] = Field(description="Severity.")
    part: str = Field(description="Affected component: database, broker, workers, ledger ...")
    detail: str = Field(description="What is wrong, for people.")
    remedy: str = Field(description="What to do about it.")
    facts: dict[str, str | int] = Field(description="Public facts about it.")

    @classmethod
    def of(cls, found: Finding) -> "FindingView":
        """Convert a finding."""
        return cls(
            code=found.code,
            grade=found.entry.grade,
            part=found.entry.part,
            detail=found.detail,
            remedy=found.remedy,
            facts=dict(found.facts),
        )


class Report(BaseModel):
    """The doctor's findings."""

    status: Literal["well", "ailing"] = Field(description="ailing when there is at least one problem.")
    examined_at: datetime = Field(description="When.")
    findings: list[FindingView] = Field(description="All findings; empty if there are none.")

    @classmethod
    def of(cls, findings: Sequence[Finding], *, at: datetime) -> "Report":
        """Build a report."""
        shown = [FindingView.of(found) for found in findings]
        ailing = any(found.grade == "problem" for found in shown)
        return cls(status="ailing" if ailing else "well", examined_at=at, findings=shown)
