"""The audit log: who did what to which thing, when, with which outcome. Append-only, like the ledger."""

from datetime import datetime

from sqlalchemy.orm import Session

from core.db.tables.audit_event import AuditEvent


def append(session: Session, *, actor: str, action: str, object: str, outcome: str, at: datetime) -> None:  # noqa: A002 - the word auditors use
    """Add one event to the caller's transaction: what is rolled back was not done, and is not logged as done.

    Args:
        session: the open transaction.
        actor: id of the key or process that acted.
        action: stable name, such as `budget.set`.
        object: id of the thing acted on.
        outcome: stable code, such as `done` or the code of an error.
        at: when, aware.
    """
    session.add(AuditEvent(at=at, actor=actor, action=action, object=object, outcome=outcome))
    session.flush()
