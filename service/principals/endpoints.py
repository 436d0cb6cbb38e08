"""Names of principals: set by admins, visible to everyone who knows the id."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from core.platform.access.names import name_principal as set_name
from core.platform.access.names import names_of
from service.audit import record
from service.dependencies import CurrentPrincipal, InjectedContext, OpenSession
from service.principals.schemas import NameOrder, PrincipalList, PrincipalView
from service.strict_route import StrictRoute

MOST_AT_ONCE = 100

router = APIRouter(prefix="/principals", tags=["principals"], route_class=StrictRoute)

Ids = Annotated[
    list[UUID],
    Query(
        alias="id", min_length=1, max_length=MOST_AT_ONCE, description="Id of a principal; can be repeated."
    ),
]


@router.get("", summary="Look up names of principals")
def list_principal_names(_principal: CurrentPrincipal, context: InjectedContext, ids: Ids) -> PrincipalList:
    """The names of these principals, omitting those without a name.

    Names are public within the installation: anyone who knows an id may know its name. Names cannot be listed without
    their ids.
    """
    with context.database.read_only() as session:
        found = names_of(session, ids)
    return PrincipalList(
        items=[PrincipalView(principal_id=each, name=name) for each, name in sorted(found.items())]
    )


@router.put("/{principal_id}", summary="Name a principal")
def name_principal(
    principal_id: UUID,
    order: NameOrder,
    principal: CurrentPrincipal,
    context: InjectedContext,
    session: OpenSession,
) -> PrincipalView:
    """Set the name of a principal. A name grants no rights; all references remain by id."""
    row = set_name(session, principal_id, order.name, by=principal.id, clock=context.clock)
    record(session, principal, action="principal.name", object_id=principal_id, clock=context.clock)
    return PrincipalView(principal_id=row.principal_id, name=row.name)
