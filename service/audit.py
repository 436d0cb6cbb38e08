"""Writes to the append-only audit log: actor, action, object and client address, as opaque ids."""

from datetime import UTC
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


def record_daily(
    session: Session, principal: Principal, *, action: str, object_id: object, clock: Clock
) -> None:
    """Log a reading that a page repeats whenever it is opened: once for each key, network address and day in UTC.

    An auditor wants to know who read what, on which day and from where. A line for each view would hide among its equals the one that
    matters: the first of another key or from another address.
    """
    is_known = audit_log.is_logged(
        session,
        actor=actor_of(principal),
        action=action,
        object=str(object_id),
        client_address=current_trail().client_address,
        since=clock.now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0),
    )
    if not is_known:
        record(session, principal, action=action, object_id=object_id, clock=clock)


def concerns(object_id: UUID) -> None:
    """Name the object of a request whose path has no id, in case the request is refused and logged."""
    current_trail().object_id = object_id
