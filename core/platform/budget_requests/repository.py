"""All SQL on budget requests, and the search for expired grants."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from core.db.tables.budget_request import BudgetRequest
from core.db.tables.grant import Grant
from core.platform.budget_requests.states import RequestState

BATCH = 100


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
