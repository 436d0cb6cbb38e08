"""What principals are called, for pages that show their ids: one statement for all of a page."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from core.access.names import names_of
from service.dashboard.visit import Visit
from service.principals.endpoints import list_principal_names


def called(visit: Visit, principal_ids: Iterable[UUID | None]) -> Mapping[UUID, str]:
    """The names of those of these principals that have one."""
    wanted = {one for one in principal_ids if one is not None}
    if not wanted or not visit.may(list_principal_names):
        return {}
    with visit.parts.database.read_only() as session:
        return names_of(session, wanted)


def principal_in(actor: str) -> UUID | None:
    """The principal of an actor of the audit log; None for a process or for nobody."""
    try:
        return UUID(actor.partition("/")[0])
    except ValueError:
        return None
