"""Budgets: set by an admin per population, visible to everybody concerned, and the ledger behind them."""

from typing import Any
from uuid import UUID

from fastapi import APIRouter
from sqlalchemy.orm import Session

from core.ledger import governance, ledger_queries
from core.ledger.errors import BudgetNotSet, CapBelowSpent, GrantNotFound, LedgerBroken, ReasonRequired
from core.privacy.errors import InvalidGuarantee
from core.privacy.remaining import gaussian_charge
from service.audit import record
from service.budgets.outlook import look
from service.budgets.schemas import BudgetOrder, BudgetView, Reason, WhatIf, WhatIfView
from service.datasets import repository
from service.datasets.errors import DatasetNotFound
from service.dependencies import CurrentPrincipal, InjectedContext, OpenSession
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
    """Set or change the cap that binds everybody together.

    It can never go below what is spent or reserved, and is raised only with a written reason.
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
    return _view(session, dataset.population_id)


@router.get("/budget", summary="Read the budget", responses=problems(DatasetNotFound))
def read_budget(dataset_id: UUID, principal: CurrentPrincipal, context: InjectedContext) -> BudgetView:
    """The cap, what is spent and reserved, what each filter has left, and how large one more job may be."""
    with context.database.read_only() as session:
        dataset = repository.visible(session, dataset_id, principal)
        summary = ledger_queries.summary(session, dataset.population_id)
    return BudgetView.of(summary)


@router.post(
    "/budget/what-if",
    summary="Ask what one more job would cost",
    responses=problems(DatasetNotFound, BudgetNotSet, GrantNotFound, InvalidGuarantee),
)
def ask_what_if(
    dataset_id: UUID, order: WhatIf, principal: CurrentPrincipal, context: InjectedContext
) -> WhatIfView:
    """Whether one more job of this epsilon and delta fits, which filter carries it, and what remains after it.

    For analysts also under the grant that an order would draw on. The job is taken as one Gaussian release, which the
    typical plan is close to; a quote says it for a plan to the letter. Nothing is reserved.
    """
    with context.database.read_only() as session:
        dataset = repository.visible(session, dataset_id, principal)
        delta = order.delta or _default_delta(session, dataset.population_id)
        found = look(
            session,
            dataset.population_id,
            principal,
            gaussian_charge(order.epsilon, delta),
            grant_id=order.grant_id,
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
    """Let nothing be ordered, granted or started on the dataset's population, for its owner or an admin.

    Trainings that run go on, queued jobs wait, and what was released stays released. Freezing again changes nothing.
    """
    population_id = repository.governed(session, dataset_id, principal).population_id
    frozen = governance.freeze(
        session, population_id, by=str(principal.id), reason=order.reason, clock=context.clock
    )
    if frozen:
        record(session, principal, action="budget.freeze", object_id=population_id, clock=context.clock)
    return _view(session, population_id)


@router.post("/unfreeze", summary="Unfreeze a dataset", responses=problems(DatasetNotFound, LedgerBroken))
def unfreeze_dataset(
    dataset_id: UUID,
    order: Reason,
    principal: CurrentPrincipal,
    context: InjectedContext,
    session: OpenSession,
) -> BudgetView:
    """Take orders again, for admins alone: who may stop everything at once need not be who lets it go on."""
    population_id = repository.visible(session, dataset_id, principal).population_id
    unfrozen = governance.unfreeze(
        session, population_id, by=str(principal.id), reason=order.reason, clock=context.clock
    )
    if unfrozen:
        record(session, principal, action="budget.unfreeze", object_id=population_id, clock=context.clock)
    return _view(session, population_id)


@router.get("/ledger", summary="Read the ledger statement", responses=problems(DatasetNotFound))
def read_ledger(dataset_id: UUID, principal: CurrentPrincipal, context: InjectedContext) -> dict[str, Any]:
    """Every entry with its link in the chain of hashes: movements of jobs with their mechanisms, decisions of people.

    Entries are about mechanisms and decisions, never about data.
    """
    with context.database.read_only() as session:
        dataset = repository.visible(session, dataset_id, principal)
        return ledger_queries.statement(session, dataset.population_id).to_json()


def _view(session: Session, population_id: UUID) -> BudgetView:
    return BudgetView.of(ledger_queries.summary(session, population_id))


def _default_delta(session: Session, population_id: UUID) -> float:
    cap = ledger_queries.cap_of(session, population_id)
    if cap is None:
        raise BudgetNotSet(
            "No delta is named, and no budget has been set to derive one from.",
            remedy="Name a delta, or ask an admin to set the dataset's budget.",
        )
    return cap.default_job_delta()
