"""The audit log: who did what to which thing, from where, when, with which outcome. Append-only and chained, like the ledger.

An event is appended in the transaction that it describes, and gets its place in the hash chain after the commit
(docs/decisions/audit-chain.md). Positions count 1, 2, 3, ... The sequences of events cannot: a transaction that is rolled
back leaves a gap, and transactions do not commit in the order of their sequences.
"""

from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, Self

from sqlalchemy import ColumnElement, delete, exists, func, insert, or_, select, text
from sqlalchemy.orm import Session

from core.db.session import Database
from core.db.tables.audit_event import AuditEvent
from core.db.tables.audit_link import AuditLink
from core.db.tables.audit_unlinked import AuditUnlinked
from core.ledger.hash_chain import EMPTY, ChainCheck, ChainLink, HashChain, Head

DONE: Final = "done"
"""Outcome of an action that was carried out; every other outcome is the code of a refusal."""

SCHEMA: Final = "understudy.audit-event/1"
BATCH: Final = 1000
_LINKERS: Final = 7_253_104_866_022
"""Key of the advisory lock that admits one linker at a time. Requests never take it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event of the audit log."""

    sequence: int
    at: datetime
    actor: str
    action: str
    object: str
    outcome: str
    client_address: str | None
    request_id: str | None

    def to_json(self) -> dict[str, Any]:
        """Return the members that a hash covers and an export contains."""
        return {
            "sequence": self.sequence,
            "at": self.at.astimezone(UTC).isoformat(timespec="microseconds"),
            "actor": self.actor,
            "action": self.action,
            "object": self.object,
            "outcome": self.outcome,
            "client_address": self.client_address,
            "request_id": self.request_id,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Link(ChainLink):
    """An event and its place in the chain.

    Attributes:
        position: its place, counted from 1.
        event: the event; None if it is no longer in the log.
    """

    position: int
    event: Event | None

    @classmethod
    def after(cls, head: Head, event: Event) -> "Link":
        """Return the link that follows `head`."""
        return AUDIT_CHAIN.append(head, cls(position=head.sequence + 1, event=event))

    @property
    def head(self) -> Head:
        """The head of the chain that ends with this link."""
        return Head(sequence=self.position, hash=self.hash)

    def content(self) -> dict[str, Any] | None:
        """The JSON object that the hash covers; None if the event is gone."""
        if self.event is None:
            return None
        return {"schema": SCHEMA, "position": self.position} | self.event.to_json()


AUDIT_CHAIN: Final[HashChain[Link]] = HashChain(noun="event", plural="events")


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

    The event gets its place in the hash chain after the commit (`link_waiting`).

    Args:
        actor: id of the principal and key, or name of the process.
        action: a stable name, such as `budget.set`.
        object: id of the thing acted on.
        outcome: a stable code, such as `done` or the code of an error.
        at: when, aware.
        client_address: the network address of the request; None if no request acted.
        request_id: the request in the operator's log; None likewise.
    """
    # A trigger queues it for the linker.
    session.add(
        AuditEvent(
            at=at,
            actor=actor,
            action=action,
            object=object,
            outcome=outcome,
            client_address=client_address,
            request_id=request_id,
        )
    )
    session.flush()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Which events are wanted; None does not restrict.

    Attributes:
        actor: a principal's id (with any of its keys), `principal/key`, or the name of a process.
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


def is_logged(
    session: Session,
    *,
    actor: str,
    action: str,
    object: str,  # noqa: A002 - as in `append`
    client_address: str | None,
    since: datetime,
) -> bool:
    """Return whether this actor did this to this thing from this address since a moment."""
    event = (
        select(AuditEvent.sequence)
        .where(AuditEvent.object == object, AuditEvent.at >= since, AuditEvent.outcome == DONE)
        .where(AuditEvent.actor == actor, AuditEvent.action == action)
        .where(AuditEvent.client_address.is_not_distinct_from(client_address))
    )
    return session.scalar(event.limit(1)) is not None


def newest_refusals(session: Session, *, since: datetime, limit: int) -> Sequence[AuditEvent]:
    """Return the newest refused attempts since a moment, newest first."""
    return session.scalars(
        select(AuditEvent)
        .where(AuditEvent.at >= since, AuditEvent.outcome != DONE)
        .order_by(AuditEvent.at.desc(), AuditEvent.sequence.desc())
        .limit(limit)
    ).all()


def head(session: Session) -> Head:
    """Return the head of the chain."""
    row = session.execute(
        select(AuditLink.position, AuditLink.hash).order_by(AuditLink.position.desc()).limit(1)
    ).one_or_none()
    return EMPTY if row is None else Head(sequence=row.position, hash=row.hash)


def links(session: Session, *, batch_rows: int = 1000) -> Generator[Link, None, None]:
    """Yield the whole chain in order, read a batch at a time. Close it if you stop early."""
    # Columns instead of mapped objects, which would take half of the time.
    rows = session.execute(
        select(*AuditLink.__table__.columns, *AuditEvent.__table__.columns)
        .outerjoin(AuditEvent, AuditEvent.sequence == AuditLink.event_sequence)
        .order_by(AuditLink.position)
        .execution_options(yield_per=batch_rows)
    )
    try:
        for row in rows:
            yield _link_of(row, None if row.sequence is None else row)
    finally:
        rows.close()


def link_waiting(database: Database, *, batch: int = BATCH) -> int:
    """Link every event that is committed by now, a batch per transaction. Several linkers may run at once.

    Returns:
        The number of events linked here.
    """
    done = 0
    while True:
        with database.transaction() as session:
            linked = _link_batch(session, limit=batch)
        done += linked
        if linked < batch:
            return done


def _link_batch(session: Session, *, limit: int) -> int:
    """Link at most `limit` waiting events in the caller's transaction. Returns how many."""
    lock_chain(session)
    # A separate statement after the lock, so that it sees what the previous linker committed.
    last = head(session)
    linked: list[Link] = []
    for event in _waiting(session, limit=limit):
        linked.append(Link.after(last, event))
        last = linked[-1].head
    if linked:
        _add_links(session, linked)
    return len(linked)


def lock_chain(session: Session) -> None:
    """Wait to be the only linker, until the transaction ends."""
    session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LINKERS})


def _waiting(session: Session, *, limit: int) -> Sequence[Event]:
    """Return committed events without a place in the chain, in order of sequence."""
    rows = session.scalars(
        select(AuditEvent)
        .join(AuditUnlinked, AuditUnlinked.event_sequence == AuditEvent.sequence)
        .order_by(AuditEvent.sequence)
        .limit(limit)
    )
    return [_event_of(row) for row in rows]


def _add_links(session: Session, linked: Sequence[Link]) -> None:
    """Store links and take their events off the queue. The caller holds the lock of the chain."""
    values = [
        {
            "position": link.position,
            "event_sequence": link.event.sequence,
            "previous_hash": link.previous_hash,
            "hash": link.hash,
        }
        for link in linked
        if link.event is not None
    ]
    session.execute(insert(AuditLink), values)
    session.execute(
        delete(AuditUnlinked).where(
            AuditUnlinked.event_sequence.in_([value["event_sequence"] for value in values])
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditCheck(ChainCheck):
    """The result of verifying the audit log.

    Attributes:
        waiting: how many events have no place in the chain yet.
    """

    waiting: int = 0

    @classmethod
    def of(cls, found: ChainCheck, *, waiting: int) -> Self:
        """Return the check of the chain together with how many events wait for a place."""
        return cls(
            checked=found.checked,
            broken_at=found.broken_at,
            problem=found.problem,
            head=found.head,
            waiting=waiting,
        )


def verify(session: Session, *, witnesses: Iterable[Head] = ()) -> AuditCheck:
    """Recompute the whole chain, and search for events that were kept out of it.

    Args:
        session: a transaction; the snapshot of `Database.read_only` hides concurrent linkers.
        witnesses: heads noted earlier outside this database.
    """
    with closing(links(session)) as chained:
        chain = AUDIT_CHAIN.verify(chained, witnesses=witnesses)
    found = AuditCheck.of(chain, waiting=_waiting_count(session))
    if not found.intact:
        return found
    if _withheld(session):
        return replace(found, problem="an event was kept out of the chain")
    if _vanished(session):
        return replace(found, problem="an event was removed before it was linked")
    return found


def _waiting_count(session: Session) -> int:
    """Return how many events have no place in the chain yet."""
    return session.scalar(select(func.count()).select_from(AuditUnlinked)) or 0


def _withheld(session: Session) -> bool:
    """Return whether some event is neither linked nor waiting, so that its removal would go unnoticed."""
    linked = exists().where(AuditLink.event_sequence == AuditEvent.sequence)
    queued = exists().where(AuditUnlinked.event_sequence == AuditEvent.sequence)
    return session.scalar(select(AuditEvent.sequence).where(~linked, ~queued).limit(1)) is not None


def _vanished(session: Session) -> bool:
    """Return whether some waiting event is no longer in the log."""
    there = exists().where(AuditEvent.sequence == AuditUnlinked.event_sequence)
    return session.scalar(select(AuditUnlinked.event_sequence).where(~there).limit(1)) is not None


def _event_of(row: Any) -> Event:  # noqa: ANN401 - a mapped row, or a tuple with the same names
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


def _link_of(row: Any, event: Any | None) -> Link:  # noqa: ANN401 - likewise
    return Link(
        position=row.position,
        event=None if event is None else _event_of(event),
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
