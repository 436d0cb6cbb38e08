"""Which grant an order draws on: the one it names, or the analyst's only open one."""

from datetime import datetime
from uuid import UUID

from sqlalchemy.orm import Session

from core.db.tables.grant import Grant
from core.governance.errors import GrantAmbiguous, NoGrant
from core.ledger import ledger_queries
from core.ledger.errors import BudgetNotSet, GrantClosed, GrantNotFound, PopulationFrozen


def choose(
    session: Session, population_id: UUID, *, holder: UUID, grant_id: UUID | None, at: datetime
) -> Grant:
    """The grant that an order of the holder draws on at a moment.

    Raises:
        GrantNotFound: The named grant is not on this population, or somebody else's.
        GrantClosed: The named grant is over.
        PopulationFrozen, BudgetNotSet: There is no open grant, and this is the better reason why nothing can be ordered.
        NoGrant: There is no open grant.
        GrantAmbiguous: There are several, and none is named.
    """
    usable = ledger_queries.open_grants(session, population_id, holder=holder, at=at)
    if grant_id is not None:
        named = [grant for grant in usable if grant.id == grant_id]
        return named[0] if named else _refuse(session, population_id, holder, grant_id)
    if not usable:
        if ledger_queries.is_frozen(session, population_id):
            raise PopulationFrozen
        if ledger_queries.cap_of(session, population_id) is None:
            raise BudgetNotSet(
                "No budget has been set for this dataset, so nothing may be spent.",
                remedy="Ask an admin to set one.",
            )
        raise NoGrant
    if len(usable) > 1:
        raise GrantAmbiguous([grant.id for grant in usable])
    return usable[0]


def _refuse(session: Session, population_id: UUID, holder: UUID, grant_id: UUID) -> Grant:
    for grant in ledger_queries.grants_of(session, population_id):
        if grant.id == grant_id and grant.holder_id == holder:
            raise GrantClosed
    raise GrantNotFound
