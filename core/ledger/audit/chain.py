"""The hash chain over the audit log: an event, and its place in the chain.

Positions count 1, 2, 3, ... The sequences of events cannot: a transaction that is rolled back leaves a gap, and
transactions do not commit in the order of their sequences.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Self

from core.ledger.hash_chain import ChainCheck, ChainLink, HashChain, Head

SCHEMA: Final = "understudy.audit-event/1"


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
