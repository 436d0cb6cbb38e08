"""Budgets: set by an admin per population, visible to everyone who sees the dataset, and the ledger behind them."""

from typing import Any
from uuid import UUID

from fastapi import APIRouter
from sqlalchemy.orm import Session

from core.db.tables.dataset import Dataset
from core.dp.errors import InvalidGuarantee
from core.dp.typical_job import typical_charge
from core.ledger import governance, ledger_queries
from core.ledger.errors import BudgetNotSet, CapBelowSpent, GrantNotFound, LedgerBroken, ReasonRequired
from core.plan.learning import learns_categories
from service.audit import record
from service.budgets.outlook import outlook_of
from service.budgets.schemas import BudgetOrder, BudgetView, Reason, WhatIf, WhatIfView
from service.datasets import repository
from service.datasets.errors import DatasetNotFound
from service.dependencies import CurrentPrincipal, InjectedContext, OpenSession
from service.grants.default_delta import default_delta_of
from service.problem import problems
from service.strict_route import StrictRoute

router = APIRouter(prefix="/datasets/{dataset_id}", tags=["budgets"], route_class=StrictRoute)


@router.put(
    "/budget",
    summary="Set the budget",
    responses=problems(DatasetNotFound, CapBelowSpent, LedgerBroken, ReasonRequired, InvalidGuarantee),
)
def set_budget(
    dataset_id: UUID,
    order: BudgetOrder,
    principal: CurrentPrincipal,
    context: InjectedContext,
    session: OpenSession,
) -> BudgetView:
    """Set or change the cap that applies to all analysts together.

    It can never be lower than the spent and reserved budget. Raising it requires a written reason.
    """
    dataset = repository.visible(session, dataset_id, principal)
    governance.set_cap(
        session,
        dataset.population_id,
        epsilon=order.epsilon,
        delta=order.delta,
        by=str(principal.id),
        reason=order.reason,
        clock=context.clock,
    )
    record(session, principal, action="budget.set", object_id=dataset.population_id, clock=context.clock)
    return _view(session, dataset)


@router.get("/budget", summary="Read the budget", responses=problems(DatasetNotFound))
def read_budget(dataset_id: UUID, principal: CurrentPrincipal, context: InjectedContext) -> BudgetView:
    """The cap, spent and reserved budget, the remaining budget of each filter, and the largest epsilon of one more job."""
    with context.database.read_only() as session:
        dataset = repository.visible(session, dataset_id, principal)
        summary = ledger_queries.summary(session, dataset.population_id)
        thresholds = learns_categories(dataset.domain)
    return BudgetView.of(summary, thresholds=thresholds)


@router.post(
    "/budget/what-if",
    summary="Preview one more job",
    responses=problems(DatasetNotFound, BudgetNotSet, GrantNotFound, InvalidGuarantee),
)
def ask_what_if(
    dataset_id: UUID, order: WhatIf, principal: CurrentPrincipal, context: InjectedContext
) -> WhatIfView:
    """Whether one more job with this epsilon and delta fits, which filter admits it, and the budget remaining afterwards.

    For analysts also under the grant that an order would use. The job is modelled as one Gaussian release, which is close
    to a typical plan, and with a threshold if the dataset's categories are learnt, because a generator then is covered by basic
    composition alone; a quote is exact for a given plan. Nothing is reserved.
    """
    with context.database.read_only() as session:
        dataset = repository.visible(session, dataset_id, principal)
        thresholds = learns_categories(dataset.domain)
        delta = order.delta or default_delta_of(
            session,
            dataset.population_id,
            holder=principal.id,
            grant_id=order.grant_id,
            epsilon=order.epsilon,
            thresholds=thresholds,
            at=context.clock.now(),
        )
        if delta is None:
            raise BudgetNotSet(
                "No delta is given, and no budget is set to derive one from.",
                remedy="Specify a delta, or ask an admin to set the dataset's budget.",
            )
        found = outlook_of(
            session,
            dataset.population_id,
            principal,
            typical_charge(order.epsilon, delta, thresholds=thresholds),
            grant_id=order.grant_id,
            thresholds=thresholds,
            at=context.clock.now(),
        )
    return WhatIfView(epsilon=order.epsilon, delta=delta, **found.to_json())


@router.post("/freeze", summary="Freeze a dataset", responses=problems(DatasetNotFound))
def freeze_dataset(
    dataset_id: UUID,
    order: Reason,
    principal: CurrentPrincipal,
    context: InjectedContext,
    session: OpenSession,
) -> BudgetView:
    """Block all orders, grants and starts on the dataset's population. For its owner or an admin.

    Running jobs continue, queued jobs wait, and releases stay available. Freezing again changes nothing.
    """
    dataset = repository.governed(session, dataset_id, principal)
    population_id = dataset.population_id
    frozen = governance.freeze(
        session, population_id, by=str(principal.id), reason=order.reason, clock=context.clock
    )
    if frozen:
        record(session, principal, action="budget.freeze", object_id=population_id, clock=context.clock)
    return _view(session, dataset)


@router.post("/unfreeze", summary="Unfreeze a dataset", responses=problems(DatasetNotFound, LedgerBroken))
def unfreeze_dataset(
    dataset_id: UUID,
    order: Reason,
    principal: CurrentPrincipal,
    context: InjectedContext,
    session: OpenSession,
) -> BudgetView:
    """Allow orders again. For admins only: the right to stop everything does not include the right to resume."""
    dataset = repository.visible(session, dataset_id, principal)
    population_id = dataset.population_id
    unfrozen = governance.unfreeze(
        session, population_id, by=str(principal.id), reason=order.reason, clock=context.clock
    )
    if unfrozen:
        record(session, principal, action="budget.unfreeze", object_id=population_id, clock=context.clock)
    return _view(session, dataset)


@router.get("/ledger", summary="Read the ledger statement", responses=problems(DatasetNotFound))
def read_ledger(dataset_id: UUID, principal: CurrentPrincipal, context: InjectedContext) -> dict[str, Any]:
    """All entries with their links in the hash chain: charges of jobs with their mechanisms, and decisions of people.

    Entries record mechanisms and decisions, never data.
    """
    with context.database.read_only() as session:
        dataset = repository.visible(session, dataset_id, principal)
        return ledger_queries.statement(session, dataset.population_id).to_json()


def _view(session: Session, dataset: Dataset) -> BudgetView:
    summary = ledger_queries.summary(session, dataset.population_id)
    return BudgetView.of(summary, thresholds=learns_categories(dataset.domain))
