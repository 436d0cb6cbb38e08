"""The chain of hashes over a population's entries: editing or removing one breaks every later link.

The hash of an entry is SHA-256 over its predecessor's hash followed by its content as canonical JSON. The head (last
sequence and hash) stands on the budget's row. Whoever can rewrite the whole database can rewrite the chain; against
that, and against a restored backup, a head noted elsewhere (`Head`, shown by every statement) is the witness.
"""

import hashlib
import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from core.ledger.balance import Balance
from core.ledger.decisions import Decision
from core.ledger.reservation import Movement

SCHEMA: Final = "understudy.ledger-entry/2"
FIRST_SCHEMA: Final = "understudy.ledger-entry/1"
"""Entries of the first release: movements only, without running totals. They stay verifiable for ever."""
NO_HASH: Final = bytes(32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The end of a chain: how many entries it has, and the hash of the last."""

    sequence: int
    hash: bytes


EMPTY: Final = Head(sequence=0, hash=NO_HASH)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One link: a movement or a decision, its circumstances and its place in the chain.

    Args:
        population_id: whose chain.
        sequence: its place, from 1.
        movement: what happens to a job's reservation, or None.
        decision: what a person decided, or None; exactly one of the two is there.
        mechanism: what was reserved, with RESERVED.
        fence: the claim that spent, with SPENT.
        at: when, aware.
        balance: the population's totals after it; None in entries of the first release.
        grant_balance: the totals of the movement's grant after it; None without a grant.
        previous_hash: the hash of the entry before.
        hash: its own.
    """

    population_id: UUID
    sequence: int
    movement: Movement | None
    decision: Decision | None
    mechanism: dict[str, Any] | None
    fence: int | None
    at: datetime
    balance: Balance | None
    grant_balance: Balance | None
    previous_hash: bytes
    hash: bytes

    @property
    def kind(self) -> str:
        """What its kind is called in the database and in statements."""
        content = self.movement or self.decision
        return "" if content is None else content.kind.value

    @property
    def head(self) -> Head:
        """The head of the chain that ends here."""
        return Head(sequence=self.sequence, hash=self.hash)


def canonical(content: dict[str, Any]) -> bytes:
    """The one spelling of a JSON document: sorted keys, no spaces, ASCII; NaN and infinity are refused."""
    return json.dumps(
        content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    ).encode()


def link(
    head: Head,
    *,
    population_id: UUID,
    content: Movement | Decision,
    at: datetime,
    balance: Balance | None,
    grant_balance: Balance | None = None,
    mechanism: dict[str, Any] | None = None,
    fence: int | None = None,
) -> Entry:
    """The entry that follows `head`."""
    entry = Entry(
        population_id=population_id,
        sequence=head.sequence + 1,
        movement=content if isinstance(content, Movement) else None,
        decision=content if isinstance(content, Decision) else None,
        mechanism=mechanism,
        fence=fence,
        at=at,
        balance=balance,
        grant_balance=grant_balance,
        previous_hash=head.hash,
        hash=NO_HASH,
    )
    return replace(entry, hash=hash_of(entry))


def hash_of(entry: Entry) -> bytes:
    """The hash that an entry must carry."""
    content = {
        "schema": SCHEMA,
        "population_id": str(entry.population_id),
        "sequence": entry.sequence,
        **_what_happened(entry),
        "mechanism": entry.mechanism,
        "fence": entry.fence,
        "at": entry.at.astimezone(UTC).isoformat(timespec="microseconds"),
    }
    if entry.balance is None:
        content["schema"] = FIRST_SCHEMA
    else:
        content["balance"] = entry.balance.to_numbers()
        content["grant_balance"] = None if entry.grant_balance is None else entry.grant_balance.to_numbers()
        content["grant_id"] = _grant_text(entry)
    return hashlib.sha256(entry.previous_hash + canonical(content)).digest()


def _what_happened(entry: Entry) -> dict[str, Any]:
    """The members that differ between movements and decisions; an entry with both, or neither, says so."""
    happened: dict[str, Any] = {"kind": entry.kind}
    if entry.movement is not None:
        happened |= {"job_id": str(entry.movement.job_id), "charge": entry.movement.charge.to_json()}
    if entry.decision is not None:
        happened |= {"terms": entry.decision.terms}
    return happened


def _grant_text(entry: Entry) -> str | None:
    grant_id = None if entry.movement is None else entry.movement.grant_id
    return None if grant_id is None else str(grant_id)
