"""All SQL of the audit log and its chain."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, delete, exists, func, insert, or_, select, text
from sqlalchemy.orm import Session

from core.db.tables.audit_event import AuditEvent
from core.db.tables.audit_link import AuditLink
from core.db.tables.audit_unlinked import AuditUnlinked
from core.ledger.audit.chain import Event, Link
from core.ledger.hash_chain import EMPTY, Head

DONE = "done"
"""Outcome of an action that was carried out; every other outcome is the code of a refusal."""

_LINKERS = 7_253_104_866_022
"""Key of the advisory lock that admits one linker at a time. Requests never take it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Which events are wanted; None does not restrict.

    Attributes:
        actor: a principal's id (with any of its keys), `principal/key`, or the name of a process.
        action: name of an action.
        object: id of a thing.
        outcome: `done`, or the code of a refusal.
        at_from: not before this moment.
        at_to: before this moment.
    """

    actor: str | None = None
    action: str | None = None
    object: str | None = None
    outcome: str | None = None
    at_from: datetime | None = None
    at_to: datetime | None = None


def add(session: Session, event: AuditEvent) -> None:
    """Insert an event; a trigger queues it for the linker."""
    session.add(event)
    session.flush()


def newest_refusals(session: Session, *, since: datetime, limit: int) -> Sequence[AuditEvent]:
    """Return the newest refused attempts since a moment, newest first."""
    return session.scalars(
        select(AuditEvent)
        .where(AuditEvent.at >= since, AuditEvent.outcome != DONE)
        .order_by(AuditEvent.at.desc(), AuditEvent.sequence.desc())
        .limit(limit)
    ).all()


def lock_chain(session: Session) -> None:
    """Wait to be the only linker, until the transaction ends."""
    session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LINKERS})


def waiting(session: Session, *, limit: int) -> Sequence[Event]:
    """Return committed events without a place in the chain, in order of sequence."""
    rows = session.scalars(
        select(AuditEvent)
        .join(AuditUnlinked, AuditUnlinked.event_sequence == AuditEvent.sequence)
        .order_by(AuditEvent.sequence)
        .limit(limit)
    )
    return [event_of(row) for row in rows]


def waiting_count(session: Session) -> int:
    """Return how many events have no place in the chain yet."""
    return session.scalar(select(func.count()).select_from(AuditUnlinked)) or 0


def add_links(session: Session, links: Sequence[Link]) -> None:
    """Store links and take their events off the queue. The caller holds the lock of the chain."""
    values = [
        {
            "position": link.position,
            "event_sequence": link.event.sequence,
            "previous_hash": link.previous_hash,
            "hash": link.hash,
        }
        for link in links
        if link.event is not None
    ]
    session.execute(insert(AuditLink), values)
    session.execute(
        delete(AuditUnlinked).where(
            AuditUnlinked.event_sequence.in_([value["event_sequence"] for value in values])
        )
    )


def head(session: Session) -> Head:
    """Return the head of the chain."""
    row = session.execute(
        select(AuditLink.position, AuditLink.hash).order_by(AuditLink.position.desc()).limit(1)
    ).one_or_none()
    return EMPTY if row is None else Head(sequence=row.position, hash=row.hash)


def links(session: Session, *, batch_rows: int = 1000) -> Generator[Link, None, None]:
    """Yield the whole chain in order, read a batch at a time. Close it if you stop early."""
    rows = session.execute(
        select(AuditLink, AuditEvent)
        .outerjoin(AuditEvent, AuditEvent.sequence == AuditLink.event_sequence)
        .order_by(AuditLink.position)
        .execution_options(yield_per=batch_rows)
    )
    try:
        for row in rows:
            yield _link_of(row.AuditLink, row.AuditEvent)
    finally:
        rows.close()


def links_after(
    session: Session, position: int, *, up_to: int, wanted: AuditFilter, limit: int
) -> Sequence[Link]:
    """Return the next links after a position whose events are wanted."""
    query = (
        select(AuditLink, AuditEvent)
        .join(AuditEvent, AuditEvent.sequence == AuditLink.event_sequence)
        .where(AuditLink.position > position, AuditLink.position <= up_to, *_conditions(wanted))
        .order_by(AuditLink.position)
        .limit(limit)
    )
    return [_link_of(row.AuditLink, row.AuditEvent) for row in session.execute(query)]


def page(
    session: Session, wanted: AuditFilter, *, limit: int, before: int | None
) -> list[tuple[AuditEvent, AuditLink | None]]:
    """Return events before a sequence (None: from the newest), newest first, each with its link if it has one."""
    query = (
        select(AuditEvent, AuditLink)
        .outerjoin(AuditLink, AuditLink.event_sequence == AuditEvent.sequence)
        .where(*_conditions(wanted))
        .order_by(AuditEvent.sequence.desc())
        .limit(limit)
    )
    if before is not None:
        query = query.where(AuditEvent.sequence < before)
    return [(event, link) for event, link in session.execute(query)]


def withheld(session: Session) -> bool:
    """Return whether some event is neither linked nor waiting, so that its removal would go unnoticed."""
    linked = exists().where(AuditLink.event_sequence == AuditEvent.sequence)
    queued = exists().where(AuditUnlinked.event_sequence == AuditEvent.sequence)
    return session.scalar(select(AuditEvent.sequence).where(~linked, ~queued).limit(1)) is not None


def vanished(session: Session) -> bool:
    """Return whether some waiting event is no longer in the log."""
    there = exists().where(AuditEvent.sequence == AuditUnlinked.event_sequence)
    return session.scalar(select(AuditUnlinked.event_sequence).where(~there).limit(1)) is not None


def event_of(row: AuditEvent) -> Event:
    """Return the event that a row holds."""
    return Event(
        sequence=row.sequence,
        at=row.at,
        actor=row.actor,
        action=row.action,
        object=row.object,
        outcome=row.outcome,
        client_address=row.client_address,
        request_id=row.request_id,
    )


def _link_of(row: AuditLink, event: AuditEvent | None) -> Link:
    return Link(
        position=row.position,
        event=None if event is None else event_of(event),
        previous_hash=row.previous_hash,
        hash=row.hash,
    )


def _conditions(wanted: AuditFilter) -> list[ColumnElement[bool]]:
    conditions = [
        column == value
        for column, value in (
            (AuditEvent.action, wanted.action),
            (AuditEvent.object, wanted.object),
            (AuditEvent.outcome, wanted.outcome),
        )
        if value is not None
    ]
    if wanted.actor is not None:
        principal = func.split_part(AuditEvent.actor, "/", 1)
        conditions.append(or_(AuditEvent.actor == wanted.actor, principal == wanted.actor))
    if wanted.at_from is not None:
        conditions.append(AuditEvent.at >= wanted.at_from)
    if wanted.at_to is not None:
        conditions.append(AuditEvent.at < wanted.at_to)
    return conditions
