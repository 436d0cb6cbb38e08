"""The chain of hashes over a population's entries: editing or removing one breaks every later link.

The hash of an entry is SHA-256 over its predecessor's hash followed by its content as canonical JSON. The head (last
sequence and hash) stands on the budget's row. Whoever can rewrite the whole database can rewrite the chain; against
that, and against a restored backup, a head noted elsewhere (`Head`, shown by every statement) is the witness.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from core.ledger.errors import IllegalFold
from core.ledger.reservation import Movement, Reservation, fold_into

SCHEMA: Final = "understudy.ledger-entry/1"
NO_HASH: Final = bytes(32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The end of a chain: how many entries it has, and the hash of the last."""

    sequence: int
    hash: bytes


EMPTY: Final = Head(sequence=0, hash=NO_HASH)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One link: a movement, its circumstances and its place in the chain."""

    population_id: UUID
    sequence: int
    movement: Movement
    mechanism: dict[str, Any] | None
    fence: int | None
    at: datetime
    previous_hash: bytes
    hash: bytes

    @property
    def head(self) -> Head:
        """The head of the chain that ends here."""
        return Head(sequence=self.sequence, hash=self.hash)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainCheck:
    """What a verification found.

    Args:
        checked: entries whose links are intact, counted from the first.
        broken_at: sequence of the first entry that is wrong or missing; None when the chain is intact.
        problem: what is wrong there, or None.
    """

    checked: int
    broken_at: int | None = None
    problem: str | None = None

    @property
    def intact(self) -> bool:
        """Whether nothing was found."""
        return self.broken_at is None


def canonical(content: dict[str, Any]) -> bytes:
    """The one spelling of a JSON document: sorted keys, no spaces, ASCII; NaN and infinity are refused."""
    return json.dumps(
        content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    ).encode()


def link(
    head: Head,
    *,
    population_id: UUID,
    movement: Movement,
    mechanism: dict[str, Any] | None,
    fence: int | None,
    at: datetime,
) -> Entry:
    """The entry that follows `head`."""
    entry = Entry(
        population_id=population_id,
        sequence=head.sequence + 1,
        movement=movement,
        mechanism=mechanism,
        fence=fence,
        at=at,
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
        "kind": entry.movement.kind.value,
        "job_id": str(entry.movement.job_id),
        "charge": entry.movement.charge.to_json(),
        "mechanism": entry.mechanism,
        "fence": entry.fence,
        "at": entry.at.astimezone(UTC).isoformat(timespec="microseconds"),
    }
    return hashlib.sha256(entry.previous_hash + canonical(content)).digest()


def check(entries: Iterable[Entry], *, head: Head, witness: Head | None = None) -> ChainCheck:
    """Verify a whole chain: places, links, contents, and that every reservation folds.

    Args:
        entries: all entries of a population in order of sequence.
        head: the head on the budget's row.
        witness: a head noted earlier outside the database; the chain must pass through it.
    """
    last = EMPTY
    reservations: dict[UUID, Reservation] = {}
    for entry in entries:
        problem = _problem_of_link(entry, last) or _problem_of_fold(entry, reservations)
        if problem is None and witness is not None and witness.sequence == entry.sequence:
            problem = None if witness == entry.head else "history differs from the one witnessed"
        if problem is not None:
            return ChainCheck(checked=last.sequence, broken_at=last.sequence + 1, problem=problem)
        last = entry.head
    problem = None
    if last != head:
        problem = "the end of the chain is not the head on the budget"
    elif witness is not None and witness.sequence > last.sequence:
        problem = "entries that were witnessed are missing"
    broken_at = None if problem is None else last.sequence + 1
    return ChainCheck(checked=last.sequence, broken_at=broken_at, problem=problem)


def _problem_of_link(entry: Entry, last: Head) -> str | None:
    if entry.sequence != last.sequence + 1:
        return "an entry is missing"
    if entry.previous_hash != last.hash:
        return "the link to the entry before is broken"
    return None if entry.hash == hash_of(entry) else "the content was changed"


def _problem_of_fold(entry: Entry, reservations: dict[UUID, Reservation]) -> str | None:
    try:
        fold_into(reservations, entry.movement)
    except IllegalFold:
        return "the entry may not follow the ones before it"
    return None
