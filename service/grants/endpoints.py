"""Grants: visible to their holders and to those who oversee the dataset; revoked by its owner or an admin."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query
from sqlalchemy.orm import Session

from core.db.tables.grant import Grant
from core.ledger import governance, ledger_queries
from core.ledger.entries import GrantState
from core.ledger.errors import GrantNotFound, LedgerBroken
from core.ledger.ledger_queries import GrantBalance
from core.platform.access.roles import Principal
from service.audit import record
from service.datasets.errors import DatasetNotFound
from service.datasets.repository import visible
from service.dependencies import CurrentPrincipal, InjectedContext, OpenSession
from service.grants import repository
from service.grants.repository import GrantFilter
from service.grants.schemas import GrantList, GrantView, StandingGrant, StandingGrantPage
from service.problem import problems
from service.strict_route import StrictRoute
from service.wire import DEFAULT_PAGE, Before, PageSize

router = APIRouter(tags=["grants"], route_class=StrictRoute)


async def wanted_grants(
    dataset_id: Annotated[
        UUID | None, Query(description="Only grants on the population of this dataset.")
    ] = None,
    holder_id: Annotated[UUID | None, Query(description="Only grants of this principal.")] = None,
    state: Annotated[GrantState | None, Query(description="Only grants in this state.")] = None,
) -> GrantFilter:
    """The filter of a request."""
    return GrantFilter(dataset_id=dataset_id, holder_id=holder_id, state=state)


WantedGrants = Annotated[GrantFilter, Depends(wanted_grants)]


@router.get("/datasets/{dataset_id}/grants", summary="List the grants", responses=problems(DatasetNotFound))
def list_grants(dataset_id: UUID, principal: CurrentPrincipal, context: InjectedContext) -> GrantList:
    """The grants on the dataset's population, including closed ones. Analysts see only their own."""
    with context.database.read_only() as session:
        dataset = visible(session, dataset_id, principal)
        rows = repository.shown(session, dataset, principal)
        return GrantList(items=[GrantView.of(row, at=context.clock.now()) for row in rows])


@router.get("/grants", summary="List the grants on all datasets")
def list_all_grants(
    principal: CurrentPrincipal,
    context: InjectedContext,
    wanted: WantedGrants,
    limit: PageSize = DEFAULT_PAGE,
    before: Before = None,
) -> StandingGrantPage:
    """The grants that the key may see, newest first, with their usage: the caller's own, and those on datasets the caller oversees."""
    now = context.clock.now()
    with context.database.read_only() as session:
        rows, next_before = repository.page(session, principal, wanted, at=now, limit=limit, before=before)
        read = _read(session, rows, principal, at=now)
    return StandingGrantPage(items=[_standing(one) for one in read], next_before=next_before)


@router.get("/grants/{grant_id}", summary="Read a grant", responses=problems(GrantNotFound))
def read_grant(grant_id: UUID, principal: CurrentPrincipal, context: InjectedContext) -> StandingGrant:
    """A grant with its usage. For its holder, and for those who oversee the dataset."""
    with context.database.read_only() as session:
        row = repository.visible(session, grant_id, principal)
        (read,) = _read(session, [row], principal, at=context.clock.now())
    return _standing(read)


@router.delete(
    "/grants/{grant_id}", summary="Revoke a grant", responses=problems(GrantNotFound, LedgerBroken)
)
def revoke_grant(
    grant_id: UUID, principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> GrantView:
    """Block further orders on a grant. Spent budget stays spent, and jobs already ordered continue.

    Revoking a closed grant changes nothing.
    """
    grant = repository.governed(session, grant_id, principal)
    if governance.close_grant(
        session, grant_id, outcome=GrantState.REVOKED, by=str(principal.id), clock=context.clock
    ):
        record(session, principal, action="grant.revoke", object_id=grant_id, clock=context.clock)
    return GrantView.of(grant)


def _read(
    session: Session, rows: Sequence[Grant], principal: Principal, *, at: datetime
) -> list[tuple[GrantView, GrantBalance, list[UUID], bool]]:
    """The database facts of grants. The remaining epsilon is searched for afterwards, without a connection."""
    balances = ledger_queries.grant_balances(session, rows)
    datasets, learning, _ = repository.datasets_of(session, rows, principal)
    return [
        (
            GrantView.of(row, at=at),
            balances[row.id],
            datasets[row.population_id],
            not learning.isdisjoint(datasets[row.population_id]),
        )
        for row in rows
    ]


def _standing(read: tuple[GrantView, GrantBalance, list[UUID], bool]) -> StandingGrant:
    view, standing, dataset_ids, thresholds = read
    return StandingGrant.with_balance(view, standing, dataset_ids, thresholds=thresholds)
