"""The chain of hashes over the audit log, without a database: what a link's hash covers, and how a chain is checked.

The hash of a link is SHA-256 over the hash before it followed by the link's position and the whole event as canonical
JSON. Positions count 1, 2, 3, ...: the sequences of events have gaps, because a transaction that was rolled back has
drawn one, and are not in the order of commits.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, Self

from core.signing.canonical import canonical

SCHEMA: Final = "understudy.audit-event/1"
NO_HASH: Final = bytes(32)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditHead:
    """The end of the chain: how many events it covers, and the hash of the last link."""

    position: int
    hash: bytes


EMPTY: Final = AuditHead(position=0, hash=NO_HASH)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What one event says."""

    sequence: int
    at: datetime
    actor: str
    action: str
    object: str
    outcome: str
    client_address: str | None
    request_id: str | None

    def to_json(self) -> dict[str, Any]:
        """The members that a hash covers and an export holds."""
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
class Link:
    """An event and its place in the chain.

    Args:
        position: its place, counted from 1.
        event: the event; None where it is not in the log any more.
        previous_hash: the hash of the link before.
        hash: the hash of this one.
    """

    position: int
    event: Event | None
    previous_hash: bytes
    hash: bytes

    @classmethod
    def after(cls, head: AuditHead, event: Event) -> Self:
        """The link that follows a head."""
        link = cls(position=head.position + 1, event=event, previous_hash=head.hash, hash=NO_HASH)
        return replace(link, hash=hash_of(link.position, event, previous_hash=head.hash))

    @property
    def head(self) -> AuditHead:
        """The head of the chain that ends here."""
        return AuditHead(position=self.position, hash=self.hash)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditCheck:
    """What a verification found.

    Args:
        checked: links that are whole, counted from the first.
        broken_at: position of the first link that is wrong or missing; None where that is not the problem.
        problem: what is wrong, or None.
        waiting: events that have no place in the chain yet.
        head: the head of what was checked.
    """

    checked: int
    broken_at: int | None = None
    problem: str | None = None
    waiting: int = 0
    head: AuditHead = EMPTY

    @property
    def intact(self) -> bool:
        """Whether nothing was found."""
        return self.problem is None


def hash_of(position: int, event: Event, *, previous_hash: bytes) -> bytes:
    """The hash that a link must carry."""
    content = {"schema": SCHEMA, "position": position} | event.to_json()
    return hashlib.sha256(previous_hash + canonical(content)).digest()


def check(links: Iterable[Link], *, witnesses: Iterable[AuditHead] = ()) -> AuditCheck:
    """Verify a whole chain: places, links, contents, and that it passes through every head noted elsewhere.

    Args:
        links: all of them, in order of position.
        witnesses: heads noted earlier outside the database.
    """
    noted = list(witnesses)
    last = EMPTY
    for link in links:
        problem = _problem_of(link, last)
        if problem is None and any(w.position == link.position and w != link.head for w in noted):
            problem = "history differs from the one witnessed"
        if problem is not None:
            return AuditCheck(checked=last.position, broken_at=last.position + 1, problem=problem, head=last)
        last = link.head
    if any(witness.position > last.position for witness in noted):
        problem = "events that were witnessed are missing"
        return AuditCheck(checked=last.position, broken_at=last.position + 1, problem=problem, head=last)
    return AuditCheck(checked=last.position, head=last)


def _problem_of(link: Link, last: AuditHead) -> str | None:
    if link.position != last.position + 1:
        return "a link is missing"
    if link.previous_hash != last.hash:
        return "the link to the event before is broken"
    if link.event is None:
        return "an event was removed"
    if link.hash != hash_of(link.position, link.event, previous_hash=link.previous_hash):
        return "the content of an event was changed"
    return None
