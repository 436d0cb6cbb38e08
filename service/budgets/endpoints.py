"""Budgets: set by an admin per population, visible to everybody concerned, and the ledger behind them."""

from typing import Any
from uuid import UUID

from fastapi import APIRouter

from core.ledger import book
from core.ledger.errors import CapBelowSpent
from core.privacy.errors import InvalidGuarantee
from service.audit import record
from service.budgets.schemas import BudgetOrder, BudgetView
from service.datasets import repository
from service.datasets.errors import DatasetNotFound
from service.dependencies import CurrentPrincipal, InjectedParts, OpenSession
from service.problem import problems

router = APIRouter(prefix="/datasets/{dataset_id}", tags=["budgets"])


@router.put(
    "/budget", summary="Set the budget", responses=problems(DatasetNotFound, CapBelowSpent, InvalidGuarantee)
)
def set_budget(
    dataset_id: UUID,
    order: BudgetOrder,
    principal: CurrentPrincipal,
    parts: InjectedParts,
    session: OpenSession,
) -> BudgetView:
    """Set or change the cap that binds everybody together. It can never go below what is spent or reserved."""
    dataset = repository.visible(session, dataset_id, principal)
    book.set_cap(session, dataset.population_id, epsilon=order.epsilon, delta=order.delta)
    record(session, principal, action="budget.set", object_id=dataset.population_id, clock=parts.clock)
    return BudgetView.of(book.statement(session, dataset.population_id))


@router.get("/budget", summary="Read the budget", responses=problems(DatasetNotFound))
def read_budget(dataset_id: UUID, principal: CurrentPrincipal, parts: InjectedParts) -> BudgetView:
    """The cap, what is spent and reserved, and what each filter has left."""
    with parts.database.read_only() as session:
        dataset = repository.visible(session, dataset_id, principal)
        return BudgetView.of(book.statement(session, dataset.population_id))


@router.get("/ledger", summary="Read the ledger statement", responses=problems(DatasetNotFound))
def read_ledger(dataset_id: UUID, principal: CurrentPrincipal, parts: InjectedParts) -> dict[str, Any]:
    """Every entry with its mechanism and its link in the chain of hashes. Entries are about mechanisms, not data."""
    with parts.database.read_only() as session:
        dataset = repository.visible(session, dataset_id, principal)
        return book.statement(session, dataset.population_id).to_json()
