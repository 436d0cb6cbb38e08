"""The home page: all visible datasets with their budgets, and open requests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from fastapi import APIRouter, Response

from core.ledger import ledger_queries
from core.platform.budget_requests.states import RequestState
from service.budgets.endpoints import read_budget
from service.budgets.schemas import BudgetView
from service.dashboard.rendering import page
from service.dashboard.visit import CurrentVisit, Visit
from service.datasets.endpoints import create_dataset, list_datasets
from service.datasets.repository import names_of
from service.datasets.schemas import DatasetView
from service.principals.enrolment_endpoints import list_enrolments
from service.principals.people_schemas import EnrolmentView
from service.requests.endpoints import approve_budget_request, file_budget_request, list_budget_requests
from service.requests.schemas import BudgetRequestView
from service.wire import Before

DATASETS: Final = 25
WAITING: Final = 5

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A dataset with its budget.

    Args:
        dataset: Its public facts.
        budget: The budget of its population; None if the visitor's key may not read budgets.
    """

    dataset: DatasetView
    budget: BudgetView | None


@router.get("/overview")
def overview_page(visit: CurrentVisit, before: Before = None) -> Response:
    """List datasets, newest first, in pages."""
    datasets = visit.ask(list_datasets, limit=DATASETS, before=before)
    budgets = _budgets(visit, [item.population_id for item in datasets.items])
    waiting = _waiting(visit) if before is None else []
    return page(
        visit,
        "overview.html",
        listed=[Listed(dataset=item, budget=budgets.get(item.population_id)) for item in datasets.items],
        next_before=datasets.next_before,
        is_first=before is None,
        waiting=waiting,
        recoveries=own_recoveries(visit) if before is None else [],
        names=dataset_names(visit, [request.dataset_id for request in waiting]),
        people=visit.names_of([request.requested_by for request in waiting]),
        decides=visit.may(approve_budget_request),
        may_declare=visit.may(create_dataset),
        may_file=visit.may(file_budget_request),
    )


def own_recoveries(visit: Visit) -> Sequence[EnrolmentView]:
    """Enrolments that let someone act in the visitor's name: waiting ones, and recoveries on hold."""
    if not visit.may(list_enrolments):
        return []
    now = visit.context.clock.now()
    return [
        item
        for item in visit.ask(list_enrolments).items
        if item.principal_id == visit.principal.id
        and (
            item.state == "waiting"
            or (item.state == "accepted" and item.held_until is not None and item.held_until > now)
        )
    ]


def dataset_names(visit: Visit, dataset_ids: Sequence[UUID]) -> Mapping[UUID, str]:
    """The names of those given datasets that the visitor may see."""
    if not dataset_ids or not visit.may(list_datasets):
        return {}
    return visit.read(lambda session: names_of(session, dataset_ids, visit.principal))


def _budgets(visit: Visit, population_ids: Sequence[UUID]) -> Mapping[UUID, BudgetView]:
    if not visit.may(read_budget):
        return {}
    found = visit.read(lambda session: ledger_queries.summaries(session, population_ids))
    return {population_id: BudgetView.of(summary) for population_id, summary in found.items()}


def _waiting(visit: Visit) -> Sequence[BudgetRequestView]:
    """The newest open requests that the visitor may decide on or has filed."""
    if not visit.may(list_budget_requests):
        return []
    return visit.ask(list_budget_requests, state=RequestState.OPEN, limit=WAITING).items
