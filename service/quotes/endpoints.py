"""Quotes: what an order would do and cost, told without opening the dataset."""

from typing import Any

from fastapi import APIRouter

from core.ledger import book
from core.ledger.errors import BudgetNotSet
from core.privacy.errors import InvalidGuarantee, TargetOutOfReach
from core.synthesis.errors import InvalidSpec
from service.datasets import repository
from service.datasets.errors import DatasetNotFound
from service.datasets.facts import DatasetFacts
from service.dependencies import CurrentPrincipal, InjectedParts
from service.edge.gate import ServiceBusy
from service.problem import problems
from service.quotes.schemas import GeneratorOrder

router = APIRouter(prefix="/quotes", tags=["quotes"])

PLANNING_ERRORS = (
    DatasetNotFound,
    BudgetNotSet,
    InvalidSpec,
    InvalidGuarantee,
    TargetOutOfReach,
    ServiceBusy,
)


@router.post("", summary="Ask what a generator would cost", responses=problems(*PLANNING_ERRORS))
def create_quote(order: GeneratorOrder, principal: CurrentPrincipal, parts: InjectedParts) -> dict[str, Any]:
    """Noise per schedule block, steps, sampling rate, the split of the budget, epsilon, and what would be left.

    Computed from public facts alone; nothing is reserved, so another order may come first.
    """
    with parts.database.read_only() as session:
        facts = DatasetFacts.of(repository.visible(session, order.dataset_id, principal))
        cap = book.cap_of(session, facts.population_id)
        charges = book.charges_in_force(session, facts.population_id)
    return parts.planner.quote(order, facts, cap, charges)
