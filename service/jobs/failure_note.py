"""The failure note of a training, for the owner of the dataset only."""

from typing import Final
from uuid import UUID

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from core.data.failure_notes import newest_failure_note
from core.jobs.errors import JobNotFound
from core.platform.access.errors import RecoveryHold
from service.audit import record
from service.dependencies import CurrentPrincipal, InjectedContext, OpenSession
from service.jobs import repository
from service.jobs.errors import FailureNoteMissing
from service.problem import problems, response_to
from service.strict_route import StrictRoute

_NOTICE: Final = "Private: this text is not differentially private and may quote rows. Do not share it."

router = APIRouter(prefix="/jobs", tags=["jobs"], route_class=StrictRoute)


class FailureNote(BaseModel):
    """The error output of a failed training. It may quote values from rows."""

    job_id: UUID
    private: bool = Field(description="Always true: for the owner only, without any privacy guarantee.")
    notice: str = Field(description="A warning for the reader.")
    attempt: int = Field(description="The number of the attempt's claim.")
    note: str = Field(description="The note, as written by the training.")


@router.get(
    "/{job_id}/failure-note",
    summary="Read a failure note",
    response_model=FailureNote,
    responses=problems(JobNotFound, FailureNoteMissing, RecoveryHold),
)
def read_failure_note(
    job_id: UUID, principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> FailureNote | Response:
    """The sealed note of the last attempt that failed while processing rows. For the owner of the dataset; looking for it is logged."""
    job, dataset = repository.of_owner(session, job_id, principal)
    # Whether there is a note tells how rows made the training fail, and others read the audit log. So looking is logged, and a missing note is
    # answered, not raised: that would roll the line back.
    record(session, principal, action="job.failure-note", object_id=job.id, clock=context.clock)
    if dataset.wrapped_data_key is None:
        return response_to(FailureNoteMissing())
    data_key = context.settings.master_keys.unwrap(dataset.wrapped_data_key, context=f"dataset:{dataset.id}")
    found = newest_failure_note(context.store, job_id=job.id, fence=job.fence, data_key=data_key)
    if found is None:
        return response_to(FailureNoteMissing())
    attempt, note = found
    return FailureNote(job_id=job.id, private=True, notice=_NOTICE, attempt=attempt, note=note)
