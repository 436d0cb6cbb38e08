"""SQL on jobs and releases; what is written under a claim goes through core.jobs.leases."""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, case, false, or_, select
from sqlalchemy.orm import Session

from core.db.tables.dataset import Dataset
from core.db.tables.job import Job
from core.db.tables.job_member import JobMember
from core.db.tables.release import Release
from core.jobs.errors import JobNotFound
from core.jobs.states import TRAINING


def add(session: Session, row: Job | Release) -> None:
    """Insert a job or a release."""
    session.add(row)
    session.flush()


def find(session: Session, job_id: UUID) -> Job:
    """The job, freshly read, without a lock.

    Raises:
        JobNotFound: there is none.
    """
    job = session.get(Job, job_id, populate_existing=True)
    if job is None:
        raise JobNotFound("There is no such job.")
    return job


def lock(session: Session, job_id: UUID) -> Job:
    """The job, freshly read, with its row locked until the transaction ends.

    Raises:
        JobNotFound: there is none.
    """
    job = session.get(Job, job_id, populate_existing=True, with_for_update=True)
    if job is None:
        raise JobNotFound("There is no such job.")
    return job


def add_members(session: Session, job_id: UUID, dataset_ids: Collection[UUID]) -> None:
    """Insert the further datasets of a job over several."""
    session.add_all(JobMember(job_id=job_id, dataset_id=dataset_id) for dataset_id in dataset_ids)
    session.flush()


def reads_one_of(datasets: Select[UUID] | Collection[UUID]) -> ColumnElement[bool]:
    """SQL condition: jobs that read the rows of one of these datasets, whether the job's row names it or a member's."""
    members = select(JobMember.job_id).where(JobMember.dataset_id.in_(datasets))
    return or_(Job.dataset_id.in_(datasets), Job.id.in_(members))


def of_several_owners() -> ColumnElement[bool]:
    """SQL condition: jobs over several datasets, and jobs whose plan names a federation."""
    federated = Job.plan[("federation", "federation_id")].as_string().is_not(None)
    return or_(Job.id.in_(select(JobMember.job_id)), federated)


def population_of(session: Session, dataset_id: UUID) -> UUID:
    """The population of a dataset that is known to exist."""
    return session.scalars(select(Dataset.population_id).where(Dataset.id == dataset_id)).one()


def mark(*, stage: str, step: int, total: int) -> dict[str, Any]:
    """The columns that a progress mark sets. `steps_begun` only rises, and where it rises attempts are counted anew."""
    further = Job.steps_begun < step if stage == TRAINING else false()
    return {
        "stage": stage,
        "step": step,
        "total_steps": total,
        "steps_begun": case((further, step), else_=Job.steps_begun),
        "attempts": case((further, 1), else_=Job.attempts),
    }
