"""All SQL on budget requests and members, and the search for expired grants."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.db.tables.budget_request import BudgetRequest
from core.db.tables.dataset_member import DatasetMember
from core.db.tables.grant import Grant
from core.platform.budget_requests.states import RequestState

BATCH = 100


def add_member(session: Session, member: DatasetMember) -> bool:
    """Insert a member unless it exists. Returns whether it was inserted."""
    added = session.execute(
        insert(DatasetMember)
        .values(
            dataset_id=member.dataset_id,
            principal_id=member.principal_id,
            added_by=member.added_by,
            added_at=member.added_at,
        )
        .on_conflict_do_nothing()
        .returning(DatasetMember.principal_id)
    )
    return added.first() is not None


def remove_member(session: Session, dataset_id: UUID, principal_id: UUID) -> bool:
    """Delete a member. Returns whether there was one."""
    removed = session.execute(
        delete(DatasetMember)
        .where(DatasetMember.dataset_id == dataset_id, DatasetMember.principal_id == principal_id)
        .returning(DatasetMember.principal_id)
    )
    return removed.first() is not None


def members_of(session: Session, dataset_id: UUID) -> Sequence[DatasetMember]:
    """Return the members of a dataset, oldest first."""
    query = select(DatasetMember).where(DatasetMember.dataset_id == dataset_id)
    return session.scalars(query.order_by(DatasetMember.added_at, DatasetMember.principal_id)).all()


def is_member(session: Session, dataset_id: UUID, principal_id: UUID) -> bool:
    """Return whether a principal is a member of a dataset."""
    query = select(DatasetMember.principal_id).where(
        DatasetMember.dataset_id == dataset_id, DatasetMember.principal_id == principal_id
    )
    return session.scalar(query) is not None


def add_request(session: Session, request: BudgetRequest) -> None:
    """Insert a request. The caller has ensured that there is no other open one."""
    session.add(request)
    session.flush()


def open_request(session: Session, dataset_id: UUID, requested_by: UUID) -> BudgetRequest | None:
    """Return the open request of an analyst on a dataset."""
    return session.scalar(
        select(BudgetRequest).where(
            BudgetRequest.dataset_id == dataset_id,
            BudgetRequest.requested_by == requested_by,
            BudgetRequest.state == RequestState.OPEN,
        )
    )


def lock_member(session: Session, dataset_id: UUID, principal_id: UUID) -> bool:
    """Lock a member's row, which serialises the member's requests on the dataset. Returns whether there is such a member."""
    query = select(DatasetMember).where(
        DatasetMember.dataset_id == dataset_id, DatasetMember.principal_id == principal_id
    )
    return session.scalar(query.with_for_update()) is not None


def lock_request(session: Session, request_id: UUID) -> BudgetRequest | None:
    """Return the request, freshly read, with its row locked until the transaction ends."""
    return session.get(BudgetRequest, request_id, populate_existing=True, with_for_update=True)


def expire_requests(session: Session, *, at: datetime) -> Sequence[BudgetRequest]:
    """Mark expired open requests, one batch. Returns them; rows that are being decided on are skipped."""
    over = (
        select(BudgetRequest.id)
        .where(BudgetRequest.state == RequestState.OPEN, BudgetRequest.expires_at <= at)
        .order_by(BudgetRequest.expires_at)
        .limit(BATCH)
        .with_for_update(skip_locked=True)
    )
    return session.scalars(
        update(BudgetRequest)
        .where(BudgetRequest.id.in_(over.scalar_subquery()))
        .values(state=RequestState.EXPIRED.value, decided_at=at)
        .returning(BudgetRequest)
        .execution_options(synchronize_session=False, populate_existing=True)
    ).all()


def grants_over(session: Session, *, at: datetime) -> Sequence[UUID]:
    """Return expired open grants, one batch, ordered by population so that two upkeeps lock in the same order."""
    query = select(Grant.id).where(Grant.state == "open", Grant.expires_at <= at)
    return session.scalars(query.order_by(Grant.population_id, Grant.id).limit(BATCH)).all()
