"""Display names of principals, set by admins. They are shown next to ids, never instead of them."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from sqlalchemy.orm import Session

from core.clock import Clock
from core.db.tables.principal_name import PrincipalName
from core.platform.access import repository


def name_principal(
    session: Session, principal_id: UUID, name: str, *, by: UUID, clock: Clock
) -> PrincipalName:
    """Set the name of a principal, replacing an earlier one.

    Any id may be named: a person who signs in with a token may have no row yet.
    """
    return repository.put_name(session, principal_id, name=name, by=by, at=clock.now())


def names_of(session: Session, principal_ids: Iterable[UUID]) -> Mapping[UUID, str]:
    """The names of those principals that have one, in one statement."""
    wanted = set(principal_ids)
    return repository.names_of(session, wanted) if wanted else {}
