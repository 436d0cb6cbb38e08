"""All SQL that reads budget requests, and their visibility. Only core.platform.budget_requests changes them."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import ColumnElement, Select, or_, select
from sqlalchemy.orm import Session

from core.db.tables.budget_request import BudgetRequest
from core.db.tables.dataset import Dataset
from core.db.tables.grant import Grant
from core.platform.access.roles import Principal
from core.platform.budget_requests.errors import RequestNotFound
from core.platform.budget_requests.states import RequestState
from service.datasets.repository import governed_by, overseen_by
from service.paging import page_of


def visible(session: Session, request_id: UUID, principal: Principal) -> BudgetRequest:
    """A request that the principal may see: its own, or one on a dataset that it oversees.

    Raises:
        RequestNotFound: No such request, or not visible to this principal.
    """
    return _found(session.scalar(_seen_by(principal).where(BudgetRequest.id == request_id)))


def governed(session: Session, request_id: UUID, principal: Principal) -> BudgetRequest:
    """A request that the principal may decide on, as the dataset's owner or an admin.

    Raises:
        RequestNotFound: No such request, or the principal has no such right.
    """
    query = _on_datasets(governed_by(principal))
    return _found(session.scalar(query.where(BudgetRequest.id == request_id)))


def page(
    session: Session,
    principal: Principal,
    *,
    dataset_id: UUID | None,
    state: RequestState | None,
    limit: int,
    before: UUID | None,
) -> tuple[Sequence[BudgetRequest], UUID | None]:
    """A page of the requests that the principal may see, optionally of one dataset or in one state."""
    query = _seen_by(principal)
    if dataset_id is not None:
        query = query.where(BudgetRequest.dataset_id == dataset_id)
    if state is not None:
        query = query.where(BudgetRequest.state == state.value)
    return page_of(session, query, BudgetRequest, limit=limit, before=before)


def populations_of(session: Session, requests: Sequence[BudgetRequest]) -> dict[UUID, UUID]:
    """The population of each request's dataset, by dataset."""
    ids = {request.dataset_id for request in requests}
    rows = session.execute(select(Dataset.id, Dataset.population_id).where(Dataset.id.in_(ids)))
    return dict(rows.all())


def grants_of(session: Session, requests: Sequence[BudgetRequest]) -> dict[UUID, Grant]:
    """The grants created from these requests, by id."""
    ids = {request.grant_id for request in requests if request.grant_id is not None}
    return {grant.id: grant for grant in session.scalars(select(Grant).where(Grant.id.in_(ids)))}


def _seen_by(principal: Principal) -> Select[BudgetRequest]:
    return _on_datasets(or_(BudgetRequest.requested_by == principal.id, overseen_by(principal)))


def _on_datasets(condition: ColumnElement[bool]) -> Select[BudgetRequest]:
    return select(BudgetRequest).join(Dataset, Dataset.id == BudgetRequest.dataset_id).where(condition)


def _found(row: BudgetRequest | None) -> BudgetRequest:
    if row is None:
        raise RequestNotFound
    return row
