"""All SQL of the overview: what waits, what ends soon, what runs and what failed, on the datasets that a caller may see."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, Row, Select, and_, or_, select
from sqlalchemy.orm import Session, defer

from core.db.tables.budget_request import BudgetRequest
from core.db.tables.dataset import Dataset
from core.db.tables.grant import Grant
from core.db.tables.job import Job
from core.jobs.repository import reads_one_of
from core.jobs.states import JobState
from core.ledger.entries import GrantState
from core.platform.access.roles import Principal
from core.platform.budget_requests.states import RequestState
from service.datasets.repository import overseen_by, visible_to
from service.paging import page_of


def datasets(
    session: Session, principal: Principal, *, limit: int, before: UUID | None
) -> tuple[Sequence[Dataset], UUID | None]:
    """A page of the datasets that the principal may see, without their domains."""
    query = select(Dataset).options(defer(Dataset.domain), defer(Dataset.intake_report))
    return page_of(session, query.where(visible_to(principal)), Dataset, limit=limit, before=before)


def open_requests(
    session: Session, principal: Principal, *, at: datetime, limit: int
) -> Sequence[Row[BudgetRequest, UUID, str]]:
    """Open requests that the principal filed or oversees, oldest first, each with its population and its dataset's name."""
    return session.execute(
        select(BudgetRequest, Dataset.population_id, Dataset.name)
        .join(Dataset, Dataset.id == BudgetRequest.dataset_id)
        .where(
            BudgetRequest.state == RequestState.OPEN.value,
            BudgetRequest.expires_at > at,
            or_(BudgetRequest.requested_by == principal.id, overseen_by(principal)),
        )
        .order_by(BudgetRequest.created_at, BudgetRequest.id)
        .limit(limit)
    ).all()


def own_grants(session: Session, principal: Principal, *, at: datetime, limit: int) -> Sequence[Grant]:
    """Open grants that the principal holds on datasets it may see, in order of expiry."""
    seen = select(Dataset.population_id).where(visible_to(principal))
    return _open_grants(
        session, Grant.holder_id == principal.id, Grant.population_id.in_(seen), at=at, limit=limit
    )


def expiring_grants(
    session: Session, principal: Principal, *, at: datetime, until: datetime, limit: int
) -> Sequence[Grant]:
    """Open grants on datasets that the principal oversees and that expire before a moment, in order of expiry."""
    overseen = select(Dataset.population_id).where(overseen_by(principal))
    return _open_grants(
        session, Grant.expires_at < until, Grant.population_id.in_(overseen), at=at, limit=limit
    )


def live_jobs(session: Session, principal: Principal, *, limit: int) -> Sequence[Job]:
    """Queued and running jobs that the principal may see, newest first."""
    live = Job.state.in_((JobState.QUEUED.value, JobState.RUNNING.value))
    return session.scalars(_jobs(principal).where(live).limit(limit)).all()


def failed_jobs(session: Session, principal: Principal, *, since: datetime, limit: int) -> Sequence[Job]:
    """Jobs that the principal may see and that failed since a moment, newest first."""
    failed = and_(Job.state == JobState.FAILED.value, Job.finished_at >= since)
    return session.scalars(_jobs(principal).where(failed).limit(limit)).all()


def _open_grants(
    session: Session, *conditions: ColumnElement[bool], at: datetime, limit: int
) -> Sequence[Grant]:
    usable = (Grant.state == GrantState.OPEN.value, Grant.expires_at > at)
    query = select(Grant).where(*usable, *conditions).order_by(Grant.expires_at, Grant.id)
    return session.scalars(query.limit(limit)).all()


def _jobs(principal: Principal) -> Select[Job]:
    query = select(Job).where(reads_one_of(select(Dataset.id).where(visible_to(principal))))
    return query.order_by(Job.created_at.desc(), Job.id.desc())
