"""What the service writes into the append-only audit log: who did what to which object, from where, by opaque ids."""

from uuid import UUID

from sqlalchemy.orm import Session

from core.access.roles import Principal
from core.audit import log
from core.clock import Clock
from service.edge.audit_trail import actor_of, current_trail
from service.edge.request_id import current_request_id


def record(session: Session, principal: Principal, *, action: str, object_id: object, clock: Clock) -> None:
    """Note, in the transaction that does it, that a principal did something; the request says from where."""
    log.append(
        session,
        actor=actor_of(principal),
        action=action,
        object=str(object_id),
        outcome="done",
        at=clock.now(),
        client_address=current_trail().client_address,
        request_id=current_request_id() or None,
    )


def concerns(object_id: UUID) -> None:
    """Say what a request is about whose path does not, for the case that it is refused."""
    current_trail().object_id = object_id
