"""The audit log: who did what to which thing, from where, when, with which outcome. Append-only, like the ledger."""

from datetime import datetime

from sqlalchemy.orm import Session

from core.db.tables.audit_event import AuditEvent
from core.ledger.audit import repository


def append(
    session: Session,
    *,
    actor: str,
    action: str,
    object: str,  # noqa: A002 - the word auditors use
    outcome: str,
    at: datetime,
    client_address: str | None = None,
    request_id: str | None = None,
) -> None:
    """Add one event to the caller's transaction, so that what is rolled back is not logged as done.

    The event gets its place in the hash chain after the commit (``core.ledger.audit.linking``).

    Args:
        session: the open transaction.
        actor: id of the principal and key, or name of the process.
        action: a stable name, such as `budget.set`.
        object: id of the thing acted on.
        outcome: a stable code, such as `done` or the code of an error.
        at: when, aware.
        client_address: the network address of the request; None if no request acted.
        request_id: the request in the operator's log; None likewise.
    """
    repository.add(
        session,
        AuditEvent(
            at=at,
            actor=actor,
            action=action,
            object=object,
            outcome=outcome,
            client_address=client_address,
            request_id=request_id,
        ),
    )
