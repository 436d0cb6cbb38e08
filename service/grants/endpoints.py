"""Grants: seen by their holders and by who oversees the dataset, revoked by its owner or an admin."""

from uuid import UUID

from fastapi import APIRouter

from core.ledger import book
from core.ledger.decisions import GrantState
from core.ledger.errors import GrantNotFound
from service.audit import record
from service.datasets.errors import DatasetNotFound
from service.datasets.repository import visible
from service.dependencies import CurrentPrincipal, InjectedParts, OpenSession
from service.grants import repository
from service.grants.schemas import GrantList, GrantView
from service.problem import problems
from service.strict_route import StrictRoute

router = APIRouter(tags=["grants"], route_class=StrictRoute)


@router.get("/datasets/{dataset_id}/grants", summary="List the grants", responses=problems(DatasetNotFound))
def list_grants(dataset_id: UUID, principal: CurrentPrincipal, parts: InjectedParts) -> GrantList:
    """The grants on the dataset's population, closed ones too; analysts see their own."""
    with parts.database.read_only() as session:
        dataset = visible(session, dataset_id, principal)
        rows = repository.shown(session, dataset, principal)
        return GrantList(items=[GrantView.of(row) for row in rows])


@router.delete("/grants/{grant_id}", summary="Revoke a grant", responses=problems(GrantNotFound))
def revoke_grant(
    grant_id: UUID, principal: CurrentPrincipal, parts: InjectedParts, session: OpenSession
) -> GrantView:
    """Let no further order draw on a grant. What was drawn stays spent, and jobs already ordered go on.

    Revoking a grant that is closed changes nothing.
    """
    grant = repository.governed(session, grant_id, principal)
    if grant.state == GrantState.OPEN:
        book.close_grant(
            session, grant_id, outcome=GrantState.REVOKED, by=str(principal.id), clock=parts.clock
        )
        record(session, principal, action="grant.revoke", object_id=grant_id, clock=parts.clock)
        session.refresh(grant)
    return GrantView.of(grant)
