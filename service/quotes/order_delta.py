"""The delta of an order that names none, from public facts: cap, grant and ledger."""

from datetime import datetime

from sqlalchemy.orm import Session

from core.ledger import ledger_queries
from core.platform.access.roles import Principal
from service.grants.default_delta import default_delta_of
from service.planning.facts import DatasetFacts
from service.planning.orders import GeneratorOrder


def default_delta_of_order(
    session: Session, order: GeneratorOrder, facts: DatasetFacts, principal: Principal, *, at: datetime
) -> float | None:
    """The default delta of an order on a dataset; None before a cap is set.

    Of a member of a federation it follows from the cap alone: its plan must be the board's, which knows no grants.
    """
    if order.federation is not None:
        cap = ledger_queries.cap_of(session, facts.population_id)
        return None if cap is None else cap.default_job_delta()
    makes_generator = order.report is None and order.model is None
    return default_delta_of(
        session,
        facts.population_id,
        holder=principal.id,
        grant_id=order.named_grants[facts.id],
        epsilon=order.epsilon,
        thresholds=facts.has_thresholds and makes_generator,
        at=at,
    )
