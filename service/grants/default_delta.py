"""The delta of an order that names none: the cap's default, or what fits the grant that the order draws on."""

from datetime import datetime
from uuid import UUID

from sqlalchemy.orm import Session

from core.dp.filters import admit
from core.dp.typical_job import delta_under_grant, typical_charge
from core.ledger import ledger_queries
from service.grants.choosing import grant_without_name


def default_delta_of(
    session: Session,
    population_id: UUID,
    *,
    holder: UUID,
    grant_id: UUID | None,
    epsilon: float,
    thresholds: bool,
    at: datetime,
) -> float | None:
    """The default delta of an order; None before a cap is set.

    Args:
        holder: The principal who orders. Without open grants of its own, the cap alone decides.
        thresholds: Whether the order learns categories.
    """
    cap = ledger_queries.cap_of(session, population_id)
    if cap is None:
        return None
    usable = ledger_queries.open_grants(session, population_id, holder=holder, at=at)
    if grant_id is not None:
        usable = [grant for grant in usable if grant.id == grant_id]
    if not usable:
        return cap.default_job_delta()
    deltas, fitting = {}, []
    balances = ledger_queries.grant_balances(session, usable)
    for grant in usable:
        sub_cap, drawn = balances[grant.id].cap, balances[grant.id].balance.in_force
        delta = delta_under_grant(cap, sub_cap, [drawn], epsilon=epsilon, thresholds=thresholds)
        deltas[grant.id] = delta
        if admit(sub_cap, [drawn, typical_charge(epsilon, delta, thresholds=thresholds)]).admitted:
            fitting.append(grant)
    chosen = grant_without_name(usable, fitting)
    return cap.default_job_delta() if chosen is None else deltas[chosen.id]
