"""Wire types of jobs."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Self
from uuid import UUID

from pydantic import BaseModel, Field

from core.releases.generator_check import CODE, REMEDY, GeneratorCheck
from core.reports.utility import report_id_of
from core.synthesis.report_plan import KIND as REPORT
from service.jobs.progress import ShownJob, eta_seconds_of, percent_of, state_of, steps_of
from service.wire import coarse

TRAINING: Final = "training"
"""The kind of a job whose plan names none."""


class Progress(BaseModel):
    """How far the job is, as of the last edge of time. Nothing in it is computed from rows."""

    stage: str | None = Field(
        description="measure, pretrain, train or export; null before and after the run."
    )
    step: int = Field(description="Steps of the stage that are done, told in twentieths.")
    total: int = Field(description="Steps that the stage has.")
    percent: int = Field(ge=0, le=100)
    eta_seconds: int | None = Field(description="A rough estimate; null while nothing is known.")
    epsilon_planned: float = Field(description="Epsilon of the whole plan, as its accountant reports it.")
    delta_planned: float


class Failure(BaseModel):
    """Why a job failed, as a constant per code."""

    code: str
    detail: str


class JobWarning(BaseModel):
    """What its reader should know of a job that succeeded."""

    code: str = Field(description="degenerate-generator: what the generator draws hardly varies.")
    detail: str
    remedy: str = Field(description="What to change in the next order.")

    @classmethod
    def of(cls, check: Mapping[str, Any] | None) -> Self | None:
        """Say what a certificate's `generator_check` found, if it found anything."""
        found = None if check is None else GeneratorCheck.from_json(check)
        if found is None or not found.degenerate:
            return None
        return cls(code=CODE, detail=found.detail, remedy=REMEDY)


class JobView(BaseModel):
    """An ordered training, or an ordered utility report."""

    id: UUID
    dataset_id: UUID
    kind: str = Field(description="training, selection, or report: a utility report about a release.")
    ordered_by: UUID = Field(description="The principal that ordered it.")
    state: str = Field(
        description="queued, running, succeeded, failed or cancelled. An end shows at an edge of time only."
    )
    cancel_requested: bool
    progress: Progress
    release_id: UUID | None = Field(description="What it published, once it has succeeded.")
    report_id: UUID | None = Field(description="The utility report that it published, once it has succeeded.")
    failure: Failure | None
    warning: JobWarning | None = Field(
        description="What to know of what it published; null where all is well."
    )
    plan_digest: str = Field(description="SHA-256 of the plan; the certificate names the same one.")
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None

    @classmethod
    def of(
        cls, row: ShownJob, *, release_id: UUID | None, now: datetime, check: Mapping[str, Any] | None = None
    ) -> Self:
        """Show a row. Times are coarse; where a run ended early, how far it came is not told.

        Args:
            row: The job.
            release_id: What it published.
            now: The time.
            check: The member `generator_check` of its certificate, where it published and was looked at.
        """
        state = state_of(row)
        step, total = steps_of(row)
        epsilons, kind = row.plan["epsilons"], row.plan.get("kind", TRAINING)
        return cls(
            id=row.id,
            dataset_id=row.dataset_id,
            kind=kind,
            ordered_by=row.ordered_by,
            state=state,
            cancel_requested=row.cancel_requested_at is not None,
            progress=Progress(
                stage=row.shown_stage if state == "running" else None,
                step=step,
                total=total,
                percent=percent_of(row),
                eta_seconds=eta_seconds_of(row, now=now),
                epsilon_planned=min(epsilons["pld"], epsilons["rdp"]),
                delta_planned=row.plan["guarantee"]["delta"],
            ),
            release_id=release_id,
            report_id=report_id_of(row.id) if kind == REPORT and state == "succeeded" else None,
            failure=None if row.failure_code is None else _failure(row.failure_code),
            warning=JobWarning.of(check),
            plan_digest=row.plan_digest,
            created_at=coarse(row.created_at),
            started_at=None if row.started_at is None else coarse(row.started_at),
            finished_at=None if row.finished_at is None else coarse(row.finished_at),
        )


class JobList(BaseModel):
    """A page of jobs, newest first."""

    items: list[JobView]
    next_before: UUID | None = Field(description="Ask for the next page with before=...; null on the last.")


def _failure(code: str) -> Failure:
    return Failure(code=code, detail="The training did not finish; the operator's log has the job's id.")
