"""Wire types of jobs."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Self
from uuid import UUID

from pydantic import BaseModel, Field

from core.artifacts.private_models.constancy_check import CODE as CONSTANT_MODEL
from core.artifacts.private_models.constancy_check import MEMBER as MODEL_MEMBER
from core.artifacts.private_models.constancy_check import REMEDY as MODEL_REMEDY
from core.artifacts.private_models.constancy_check import ModelCheck
from core.artifacts.reports.utility import report_id_of
from core.artifacts.sampling.generator_check import CODE, MEMBER, REMEDY, GeneratorCheck
from core.jobs.states import ENDED
from core.plan.utility_reports.plan import KIND as REPORT
from service.jobs.progress import (
    ShownJob,
    epsilon_so_far,
    eta_seconds_of,
    percent_of,
    stages_of,
    state_of,
    steps_of,
)
from service.planning.orders import FederatedOwner
from service.wire import NextBefore, coarse

TRAINING: Final = "training"
"""The kind of a job whose plan states none."""


class Progress(BaseModel):
    """Progress as of the last time boundary. Nothing here is computed from rows."""

    stage: str | None = Field(
        description="measure, pretrain, train or export; null before and after the run."
    )
    stages: list[str] = Field(description="The stages of the plan, in their order.")
    step: int = Field(description="Completed steps of the stage, in twentieths.")
    total: int = Field(description="Total steps of the stage.")
    percent: int = Field(ge=0, le=100)
    eta_seconds: int | None = Field(description="A rough estimate; null if unknown.")
    epsilon_planned: float = Field(description="Epsilon of the whole plan, as reported by its accountant.")
    epsilon_so_far: float | None = Field(
        description="Epsilon of the part of the plan that has begun as of the last time boundary, rounded up to a twentieth of its steps, as "
        "reported by its accountant at `delta_planned`. The ledger keeps the whole plan's charge until the job ends; null after a failure or a "
        "cancellation, whose charge the ledger states."
    )
    delta_planned: float


class Failure(BaseModel):
    """The reason for a failure, as a constant text per code."""

    code: str
    detail: str


class JobWarning(BaseModel):
    """A warning about a job that succeeded."""

    code: str = Field(
        description="degenerate-generator: the generator's samples hardly vary. constant-model: the model's answer hardly depends on the record."
    )
    detail: str
    remedy: str = Field(description="What to change in the next order.")

    @classmethod
    def of(cls, check: Mapping[str, Any] | None) -> Self | None:
        """Convert the finding of a certificate's `generator_check` or `model_check`, if there is one."""
        if check is not None and "constant" in check:
            answers = ModelCheck.from_json(check)
            return (
                cls(code=CONSTANT_MODEL, detail=answers.detail, remedy=MODEL_REMEDY)
                if answers.constant
                else None
            )
        found = None if check is None else GeneratorCheck.from_json(check)
        if found is None or not found.degenerate:
            return None
        return cls(code=CODE, detail=found.detail, remedy=REMEDY)

    @classmethod
    def of_certificate(cls, certificate: Mapping[str, Any]) -> Self | None:
        """Convert what a certificate says of what was published, if there is something to warn of."""
        return cls.of(certificate.get(MEMBER) or certificate.get(MODEL_MEMBER))


class JobWaiting(BaseModel):
    """Why a job cannot go on at present."""

    code: str = Field(description="worker-absent: no live worker serves the job's kind of device.")
    detail: str
    remedy: str

    @classmethod
    def of(cls, row: ShownJob, *, worker_lives: bool) -> Self | None:
        """Convert the absence of workers of the job's kind; None if one lives, or the job has ended or has no kind."""
        if worker_lives or row.device is None or row.state in ENDED:
            return None
        begun = row.started_at is not None
        return cls(
            code="worker-absent",
            detail=f"No live worker serves trainings on a {row.device.upper()}; the job waits for one.",
            remedy=(
                "It has begun and stays on its kind of device. Wait for the operator, or cancel: the steps that it began are charged."
                if begun
                else "Wait for the operator, or cancel it, which costs nothing, and order it with the device auto."
            ),
        )


class JobFederation(BaseModel):
    """The federation in which a job trains: its plan names it, and everything here is public."""

    federation_id: UUID = Field(description="On its board, which may be another service.")
    member: str = Field(description="The member that trains on the rows of this job's dataset.")
    members: list[FederatedOwner] = Field(description="All members, with their declared sizes.")


class JobView(BaseModel):
    """An ordered training or utility report."""

    id: UUID
    dataset_id: UUID
    dataset_ids: list[UUID] = Field(
        description="Every dataset whose rows it reads: several for a job over several owners, `dataset_id` among them."
    )
    federation: JobFederation | None = Field(
        description="The federation in which it trains; null for a job on datasets of this service alone."
    )
    kind: str = Field(
        description="training, selection, report (a utility report on a release), or model (a private classifier)."
    )
    ordered_by: UUID = Field(description="The principal that ordered it.")
    state: str = Field(
        description="queued, running, succeeded, failed or cancelled. The end becomes visible only at a time boundary."
    )
    cancel_requested: bool
    progress: Progress
    release_id: UUID | None = Field(description="The published release, once the job has succeeded.")
    report_id: UUID | None = Field(description="The published utility report, once the job has succeeded.")
    failure: Failure | None
    device: str | None = Field(
        description="The kind of device whose workers take the job: cpu or gpu; null for a report and for jobs of earlier releases."
    )
    device_wish: str | None = Field(description="What the order asked for: auto, cpu or gpu.")
    waiting: JobWaiting | None = Field(description="Why the job cannot go on at present; null if it can.")
    warning: JobWarning | None = Field(
        description="A warning about the published release; null if there is none."
    )
    plan_digest: str = Field(description="SHA-256 of the plan; the certificate states the same value.")
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None

    @classmethod
    def of(
        cls,
        row: ShownJob,
        *,
        release_id: UUID | None,
        now: datetime,
        check: Mapping[str, Any] | None = None,
        worker_lives: bool = True,
    ) -> Self:
        """Convert a row. Times are coarse; the progress of a run that ended early is not revealed.

        Args:
            check: The member `generator_check` of its certificate, if it published one with this check.
            worker_lives: Whether a live worker serves its kind of device.
        """
        state = state_of(row)
        step, total = steps_of(row)
        epsilons, kind = row.plan["epsilons"], row.plan.get("kind", TRAINING)
        return cls(
            id=row.id,
            dataset_id=row.dataset_id,
            dataset_ids=[UUID(one["dataset_id"]) for one in row.plan.get("owners", ())] or [row.dataset_id],
            federation=None
            if row.plan.get("federation") is None
            else JobFederation.model_validate(row.plan["federation"]),
            kind=kind,
            ordered_by=row.ordered_by,
            state=state,
            cancel_requested=row.cancel_requested_at is not None,
            progress=Progress(
                stage=row.shown_stage if state == "running" else None,
                stages=stages_of(row),
                step=step,
                total=total,
                percent=percent_of(row),
                eta_seconds=eta_seconds_of(row, now=now),
                epsilon_planned=min(epsilons["pld"], epsilons["rdp"]),
                epsilon_so_far=epsilon_so_far(row),
                delta_planned=row.plan["guarantee"]["delta"],
            ),
            release_id=release_id,
            report_id=report_id_of(row.id) if kind == REPORT and state == "succeeded" else None,
            failure=None if row.failure_code is None else _failure(row.failure_code),
            device=row.device,
            device_wish=row.device_wish,
            waiting=JobWaiting.of(row, worker_lives=worker_lives),
            warning=JobWarning.of(check),
            plan_digest=row.plan_digest,
            created_at=coarse(row.created_at),
            started_at=None if row.started_at is None else coarse(row.started_at),
            finished_at=None if row.finished_at is None else coarse(row.finished_at),
        )


class JobList(BaseModel):
    """A page of jobs, newest first."""

    items: list[JobView]
    next_before: NextBefore


_NOT_FINISHED = "The training did not finish. The operator can find the cause in the log by the job's id."
_ENDINGS = {
    "member-vanished": "Another member of the federation missed the deadline of a round.",
    "federation-ended": "The analyst who created the federation ended it.",
    "federation-differs": "The board has another plan or token than the order, or an address that the operator does not allow.",
    "federation-state-refused": "The board handed out a state that is not one of this training.",
    "federation-checkpoint-lost": "The checkpoint of the last round is lost, and a federation's round cannot be repeated.",
    "module-refused": "The registered module cannot be trained record by record. The operator finds the reason in the log by the job's id.",
}
"""Why a training ended in which rows had no part, by the job's failure code; what had begun stays charged."""


def _failure(code: str) -> Failure:
    return Failure(code=code, detail=_ENDINGS.get(code, _NOT_FINISHED))
