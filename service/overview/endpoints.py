"""GET /v1/overview: budgets, waiting requests, grants, jobs and refusals that the key may see, in one read."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from fastapi import APIRouter

from core.db.tables.grant import Grant
from core.db.tables.job import Job
from core.errors import Forbidden
from core.ledger import ledger_queries
from core.ledger.audit_log import newest_refusals
from core.ledger.repository import courses_of
from core.platform.health.signs import served_devices
from service.auditing.endpoints import list_audit_events
from service.budget_requests.endpoints import list_budget_requests
from service.budgets.endpoints import read_budget
from service.budgets.schemas import BudgetView
from service.datasets.endpoints import list_datasets
from service.dependencies import CurrentPrincipal, InjectedContext, require_access
from service.grants.endpoints import list_all_grants
from service.grants.repository import datasets_of
from service.jobs.endpoints import list_jobs
from service.jobs.schemas import JobView
from service.overview import repository
from service.overview.schemas import DatasetBudget, Overview, Refusal, UsableGrant, WaitingRequest
from service.strict_route import StrictRoute
from service.wire import Before, PageSize

DATASETS: Final = 25
LISTED: Final = 10
OWN_GRANTS: Final = 50
RECENT: Final = timedelta(days=14)
"""How far back failures and refusals are listed, and how far ahead the ends of grants."""

router = APIRouter(tags=["overview"], route_class=StrictRoute)


@router.get("/overview", summary="Read the overview")
def read_overview(
    principal: CurrentPrincipal,
    context: InjectedContext,
    limit: PageSize = DATASETS,
    before: Before = None,
) -> Overview:
    """Budgets of the datasets that the key may see, over time; open requests and what they would leave; grants, jobs, refusals.

    Each part has the rights of the operation that lists it. The number of database statements does not grow with the
    number of datasets, entries or jobs.
    """
    now = context.clock.now()

    def may(operation: Callable[..., Any]) -> bool:
        try:
            require_access(principal, operation.__name__, at=now)
        except Forbidden:
            return False
        return True

    with context.database.read_only() as session:
        datasets, next_before = (
            repository.datasets(session, principal, limit=limit, before=before)
            if may(list_datasets)
            else (None, None)
        )
        requests = (
            repository.open_requests(session, principal, at=now, limit=LISTED)
            if may(list_budget_requests)
            else None
        )
        own: Sequence[Grant] | None = None
        expiring: Sequence[Grant] | None = None
        if may(list_all_grants):
            own = repository.own_grants(session, principal, at=now, limit=OWN_GRANTS)
            expiring = repository.expiring_grants(
                session, principal, at=now, until=now + RECENT, limit=LISTED
            )
        live: list[JobView] | None = None
        failed: list[JobView] | None = None
        if may(list_jobs):
            served = served_devices(session, at=now)
            live = _jobs(repository.live_jobs(session, principal, limit=LISTED), served, at=now)
            failed = _jobs(
                repository.failed_jobs(session, principal, since=now - RECENT, limit=LISTED), served, at=now
            )
        refusals = (
            newest_refusals(session, since=now - RECENT, limit=LISTED) if may(list_audit_events) else None
        )
        grants = [*(own or ()), *(expiring or ())]
        shown = {row.population_id for row in datasets or ()} if may(read_budget) else set()
        courses = courses_of(session, shown)
        budgets = ledger_queries.summaries(
            session,
            shown
            | {grant.population_id for grant in grants}
            | {population_id for _, population_id, _ in requests or ()},
        )
        drawn = ledger_queries.grant_balances(session, grants)
        named = {row.id for row in datasets or ()} | {row.dataset_id for row, _, _ in requests or ()}
        granted_on, learning, ready = datasets_of(session, grants, principal, further=named)
        # The rows outlive the transaction: the remaining epsilon is searched for below, without a connection.
        session.expunge_all()

    def usable(grant: Grant) -> UsableGrant:
        return UsableGrant.of_balance(
            grant,
            drawn=drawn[grant.id],
            budget=budgets[grant.population_id],
            dataset_ids=granted_on[grant.population_id],
            ready=[one for one in granted_on[grant.population_id] if one in ready],
            thresholds=not learning.isdisjoint(granted_on[grant.population_id]),
            at=now,
        )

    return Overview(
        datasets=None
        if datasets is None
        else [
            DatasetBudget.of(
                row,
                budget=BudgetView.of(budgets[row.population_id], thresholds=row.id in learning)
                if row.population_id in shown
                else None,
                course=courses.get(row.population_id, ()),
            )
            for row in datasets
        ],
        next_before=next_before,
        requests=None
        if requests is None
        else [
            WaitingRequest.of(
                row,
                dataset_name=name,
                budget=budgets[population_id],
                thresholds=row.dataset_id in learning,
            )
            for row, population_id, name in requests
        ],
        own_grants=None if own is None else [usable(grant) for grant in own],
        expiring_grants=None if expiring is None else [usable(grant) for grant in expiring],
        live_jobs=live,
        failed_jobs=failed,
        refusals=None if refusals is None else [Refusal.of(event) for event in refusals],
    )


def _jobs(rows: Sequence[Job], served: Collection[str], *, at: datetime) -> list[JobView]:
    return [JobView.of(row, release_id=None, worker_lives=row.device in served, now=at) for row in rows]
