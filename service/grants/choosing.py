"""Selects the grant to charge for an order: the given one, or the analyst's only open one in which the order fits."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy.orm import Session

from core.db.tables.grant import Grant
from core.dp.charge import Charge
from core.ledger import ledger_queries
from core.ledger.errors import BudgetNotSet, GrantClosed, GrantNotFound, PopulationFrozen
from core.platform.budget_requests.errors import GrantAmbiguous, NoGrant


def choose(
    session: Session,
    population_id: UUID,
    *,
    holder: UUID,
    grant_id: UUID | None,
    charge: Charge,
    at: datetime,
) -> Grant:
    """The holder's grant that an order is charged to.

    Of several open grants an order that names none takes the only one in which it fits: used-up grants stay open until
    they expire, and must not stop an order under a new one. If it fits in none, it takes the newest, whose refusal says how
    much is left.

    Raises:
        GrantNotFound: The given grant is not on this population, or someone else's.
        GrantClosed: The given grant is closed.
        PopulationFrozen, BudgetNotSet: No open grant, and this is the more helpful reason for the refusal.
        NoGrant: No open grant.
        GrantAmbiguous: None is given, and the order fits in several open grants.
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
                "No budget is set for this dataset, so nothing can be spent.",
                remedy="Ask an admin to set one.",
            )
        raise NoGrant
    if len(usable) == 1:
        return usable[0]
    fitting = ledger_queries.grants_with_room(session, usable, charge)
    chosen = grant_without_name(usable, fitting)
    if chosen is None:
        raise GrantAmbiguous([grant.id for grant in fitting])
    return chosen


def grant_without_name(usable: Sequence[Grant], fitting: Sequence[Grant]) -> Grant | None:
    """The grant of an order that names none: the only one in which it fits, the newest if it fits in none, None if in several.

    `usable` are all open grants of the holder, one at least; `fitting` those in which the order fits.
    """
    if len(fitting) > 1:
        return None
    return fitting[0] if fitting else max(usable, key=lambda grant: grant.created_at)


def _refuse(session: Session, population_id: UUID, holder: UUID, grant_id: UUID) -> Grant:
    for grant in ledger_queries.grants_of(session, population_id):
        if grant.id == grant_id and grant.holder_id == holder:
            raise GrantClosed
    raise GrantNotFound
