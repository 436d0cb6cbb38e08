"""What the service writes into the append-only audit log: who did what to which object, by opaque ids."""

from sqlalchemy.orm import Session

from core.access.roles import Principal
from core.audit import log
from core.clock import Clock


def record(session: Session, principal: Principal, *, action: str, object_id: object, clock: Clock) -> None:
    """Note, in the transaction that does it, that a principal did something."""
    log.append(
        session,
        actor=f"{principal.id}/{principal.key_id}",
        action=action,
        object=str(object_id),
        outcome="done",
        at=clock.now(),
    )
