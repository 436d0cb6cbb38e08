"""Writes to the append-only audit log: actor, action, object and client address, as opaque ids."""

from uuid import UUID

from sqlalchemy.orm import Session

from core.clock import Clock
from core.ledger import audit_log
from core.ledger.audit_log import DONE
from core.platform.access.roles import Principal
from service.current_request import current_request_id, current_trail


def actor_of(principal: Principal) -> str:
    """The audit log's spelling of a principal and its key."""
    return f"{principal.id}/{principal.key_id}"


def record(session: Session, principal: Principal, *, action: str, object_id: object, clock: Clock) -> None:
    """Log an action in the transaction that performs it. The client address comes from the current request."""
    audit_log.append(
        session,
        actor=actor_of(principal),
        action=action,
        object=str(object_id),
        outcome=DONE,
        at=clock.now(),
        client_address=current_trail().client_address,
        request_id=current_request_id() or None,
    )


def concerns(object_id: UUID) -> None:
    """Name the object of a request whose path has no id, in case the request is refused and logged."""
    current_trail().object_id = object_id
