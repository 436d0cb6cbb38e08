"""Quotes: the effect and cost of an order, without reading the dataset."""

from typing import Any

from fastapi import APIRouter

from core.dp.charge import charge_of
from core.dp.errors import InvalidGuarantee, TargetOutOfReach
from core.ledger import ledger_queries
from core.ledger.errors import BudgetNotSet, GrantNotFound
from core.plan.errors import (
    BoundNeedsAnchor,
    InvalidPlan,
    InvalidReport,
    InvalidSelection,
    InvalidSpec,
    SynthesizerNotInstalled,
    TooManyCodes,
    TooManyFreeSteps,
)
from service.budgets.outlook import outlook_of
from service.datasets import repository
from service.datasets.errors import DatasetNotFound
from service.dependencies import CurrentPrincipal, InjectedContext
from service.edge.concurrency import ServiceBusy
from service.planning.facts import DatasetFacts
from service.planning.orders import GeneratorOrder
from service.problem import problems
from service.quotes.federated import FederationDiffers, federated, require_shared
from service.quotes.order_delta import default_delta_of_order
from service.quotes.reuse import reusing, stored_counts
from service.quotes.together import Together, ledgers_outlook
from service.quotes.utility import report_of
from service.releases.errors import ReleaseNotFound
from service.strict_route import StrictRoute

router = APIRouter(prefix="/quotes", tags=["quotes"], route_class=StrictRoute)

PLANNING_ERRORS = (
    DatasetNotFound,
    BudgetNotSet,
    GrantNotFound,
    InvalidSpec,
    BoundNeedsAnchor,
    SynthesizerNotInstalled,
    TooManyCodes,
    TooManyFreeSteps,
    InvalidSelection,
    InvalidReport,
    InvalidPlan,
    FederationDiffers,
    ReleaseNotFound,
    InvalidGuarantee,
    TargetOutOfReach,
    ServiceBusy,
)


@router.post(
    "", summary="Get a quote for a generator or a utility report", responses=problems(*PLANNING_ERRORS)
)
def create_quote(
    order: GeneratorOrder, principal: CurrentPrincipal, context: InjectedContext
) -> dict[str, Any]:
    """Noise per schedule block, steps, sampling rate, budget split, epsilon, and the remaining budget.

    For a selection: the price of selecting (`selection.epsilon`), of the winner's training (`final.epsilon`) and of both
    together (`epsilon`). For a utility report: the precision of each kind of number (`report.parts`). For a private model: its
    options and the noise of its steps (`model`).

    For a table whose counts are measured, `expected_error` estimates the error of counts of synthetic rows: the mean total variation
    distance over columns, pairs and triples of columns (0 to 1), approximated from public facts and typical tables; the same for
    independent columns; the noise of the released counts; and what is counted (`measured`; with `adaptive` of a graphical model, at most so
    many tables, chosen by noisy scores). It is null for images and for a critic alone; `expected_error_missing` then states the reason.

    If counts of earlier releases of the dataset are reused: the releases, and the epsilon at which a single plan would have the
    same precision (`reused.epsilon_as_if`). Reuse costs nothing.

    For an order over the datasets of several owners: `ledgers` states for each whether the order fits there.

    States whether the order fits under the cap and under the analyst's grant; `refusal` is the error code that an order would get.
    Computed from public facts alone. Nothing is reserved, so another order may come first.
    """
    if order.further_datasets:
        return _quote_together(order, principal, context)
    with context.database.read_only() as session:
        row = repository.visible(session, order.dataset_id, principal)
        facts = federated(order, DatasetFacts.of(row))
        cap = ledger_queries.cap_of(session, facts.population_id)
        delta = default_delta_of_order(session, order, facts, principal, at=context.clock.now())
        report = report_of(session, order, principal)
        stored = stored_counts(session, facts, principal) if order.reuse else ()
    plan = context.planner.plan(order, facts, delta, report=report)
    require_shared(order, plan)
    plan = reusing(plan, stored, order, facts, context.store)
    charge = charge_of(plan.mechanism, delta=plan.guarantee.delta)
    with context.database.read_only() as session:
        outlook = outlook_of(
            session,
            facts.population_id,
            principal,
            charge,
            grant_id=order.grant_id,
            thresholds=facts.has_thresholds,
            at=context.clock.now(),
        )
        charges = ledger_queries.charges_in_force(session, facts.population_id)
    result = outlook.to_json()
    return context.planner.quote(plan, facts, cap, charges).to_json() | {
        name: result[name] for name in ("fits", "refusal", "cap", "grant")
    }


def _quote_together(
    order: GeneratorOrder, principal: CurrentPrincipal, context: InjectedContext
) -> dict[str, Any]:
    """A quote over the datasets of several owners; `cap`, `grant` and the remaining budget are those of the order's own dataset."""
    with context.database.read_only() as session:
        together = Together.of(session, order, principal, at=context.clock.now())
    plan = together.plan(context.planner, order)
    charge = charge_of(plan.mechanism, delta=plan.guarantee.delta)
    with context.database.read_only() as session:
        charges = ledger_queries.charges_in_force(session, together.facts[0].population_id)
        outlook = ledgers_outlook(session, together, principal, order, charge, at=context.clock.now())
    return context.planner.quote(plan, together.facts[0], together.caps[0], charges).to_json() | outlook
