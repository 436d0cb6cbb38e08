"""All SQL that reads jobs. Only core.jobs changes their states."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Row, Select, bindparam, func, select
from sqlalchemy.orm import Session

from core.artifacts.private_models.constancy_check import MEMBER as MODEL_MEMBER
from core.artifacts.sampling.generator_check import MEMBER
from core.db.tables.dataset import Dataset
from core.db.tables.job import Job
from core.db.tables.release import Release
from core.jobs.errors import JobNotFound
from core.jobs.repository import of_several_owners, population_of, reads_one_of
from core.ledger import ledger_queries
from core.ledger.reservation import EntryKind
from core.platform.access.roles import Principal, Role
from core.platform.access.visibility import seen_by
from core.platform.health.signs import alive_since, served_by_live_worker
from service.datasets.repository import names_of, visible_to
from service.paging import page_of


def visible(session: Session, job_id: UUID, principal: Principal) -> Job:
    """A job that the principal may see. Jobs are visible to everyone who can see the dataset.

    Raises:
        JobNotFound: No such job, or not visible to this principal.
    """
    seen = select(Dataset.id).where(visible_to(principal))
    row = session.scalar(select(Job).where(Job.id == job_id, reads_one_of(seen)))
    if row is None:
        raise _not_found()
    return row


def status(session: Session, job_id: UUID, principal: Principal, *, at: datetime) -> Row[*tuple[Any, ...]]:
    """The visible columns of a job that the principal may see, with its `release_id`, `generator_check` and `worker_lives`.

    Raises:
        JobNotFound: No such job, or not visible to this principal.
    """
    asked = {"job_id": job_id, "principal_id": principal.id, "alive_since": alive_since(at)}
    found = session.connection().execute(_status_query(principal.roles), asked).one_or_none()
    if found is None:
        # A job over several datasets, of which the principal may not see the one that the job's row names.
        visible(session, job_id, principal)
        (found,) = statuses(session, [job_id], at=at)
    return found


def statuses(session: Session, job_ids: Collection[UUID], *, at: datetime) -> Sequence[Row[*tuple[Any, ...]]]:
    """The visible columns of these jobs, without an access check."""
    query = _WITH_RELEASE.where(_JOBS["id"].in_(job_ids))
    return session.connection().execute(query, {"alive_since": alive_since(at)}).all()


def of_owner(session: Session, job_id: UUID, principal: Principal) -> tuple[Job, Dataset]:
    """A job on a dataset of the principal, with the dataset.

    Raises:
        JobNotFound: No such job, or on someone else's dataset.
    """
    query = select(Job, Dataset).join(Dataset, Dataset.id == Job.dataset_id)
    found = session.execute(query.where(Job.id == job_id, Dataset.owner_id == principal.id)).one_or_none()
    if found is None:
        raise _not_found()
    return found.Job, found.Dataset


def page(
    session: Session,
    principal: Principal,
    *,
    dataset_id: UUID | None,
    joint: bool = False,
    limit: int,
    before: UUID | None,
) -> tuple[Sequence[Job], UUID | None]:
    """A page of the jobs that the principal may see, optionally of one dataset, or of several owners only."""
    query = select(Job).where(reads_one_of(select(Dataset.id).where(visible_to(principal))))
    if dataset_id is not None:
        query = query.where(reads_one_of([dataset_id]))
    if joint:
        query = query.where(of_several_owners())
    return page_of(session, query, Job, limit=limit, before=before)


# The columns of a view and of its progress; no sealed key, no lease. Plain columns and a prebuilt statement, because
# ORM mapping and composing a statement each take longer than running this one, and it runs for every poll.
_JOBS: Final = Job.__table__.columns
_SHOWN: Final = (
    "id",
    "dataset_id",
    "ordered_by",
    "state",
    "plan",
    "plan_digest",
    "cancel_requested_at",
    "shown_stage",
    "shown_step",
    "failure_code",
    "device",
    "device_wish",
    "created_at",
    "started_at",
    "finished_at",
)
_WITH_RELEASE: Final = select(
    *(_JOBS[name] for name in _SHOWN),
    Release.id.label("release_id"),
    func.coalesce(Release.certificate[MEMBER], Release.certificate[MODEL_MEMBER]).label("generator_check"),
    served_by_live_worker(_JOBS["device"], bindparam("alive_since", type_=_JOBS["created_at"].type)).label(
        "worker_lives"
    ),
).join_from(Job, Release, Release.job_id == Job.id, isouter=True)


@cache
def _status_query(roles: frozenset[Role]) -> Select[*tuple[Any, ...]]:
    return _WITH_RELEASE.join(Dataset, Dataset.id == Job.dataset_id).where(
        Job.id == bindparam("job_id"), seen_by(roles, bindparam("principal_id", type_=Job.id.type))
    )


def _not_found() -> JobNotFound:
    return JobNotFound("No such job.", remedy="List the jobs with GET /v1/jobs.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargedLedger:
    """The reservation of a job in the ledger of one dataset.

    Attributes:
        state: the kind of the reservation's last entry.
        epsilon: what counts against the cap now; delta likewise.
    """

    dataset_id: UUID
    name: str
    state: EntryKind
    epsilon: str
    delta: str


def charged_ledgers(session: Session, job_id: UUID, principal: Principal) -> Sequence[ChargedLedger]:
    """The reservation of a job in each ledger that it is charged to and that the principal may read.

    Raises:
        JobNotFound: No such job, or not visible to this principal.
    """
    row = visible(session, job_id, principal)
    owners = row.plan.get("owners", ())
    datasets = {UUID(one["population_id"]): UUID(one["dataset_id"]) for one in owners}
    if not datasets:
        datasets = {population_of(session, row.dataset_id): row.dataset_id}
    seen = names_of(session, list(datasets.values()), principal)
    return [
        ChargedLedger(
            dataset_id=datasets[population_id],
            name=seen[datasets[population_id]],
            state=reservation.state,
            **ledger_queries.amounts(reservation.in_force),
        )
        for population_id, reservation in ledger_queries.reservations_of(session, job_id).items()
        if datasets[population_id] in seen
    ]
