"""What a ledger records: entries, each a movement of a job's reservation or a decision that a person made.

Caps, grants and freezes bound what jobs may spend. A change of one that left no trace would be a way around the ledger,
so decisions are entries of the same hash chain as movements. The rows that show them (budgets, grants) are copies, and
every verification compares them with the chain.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from core.ledger.hash_chain import ChainLink, HashChain, Head
from core.ledger.reservation import Balance, Movement

SCHEMA: Final = "understudy.ledger-entry/2"
FIRST_SCHEMA: Final = "understudy.ledger-entry/1"
"""Entries of the first release: movements only, without running totals. They stay verifiable for ever."""


class DecisionKind(StrEnum):
    """What was decided."""

    CAP_SET = "CAP_SET"
    GRANTED = "GRANTED"
    GRANT_CLOSED = "GRANT_CLOSED"
    FROZEN = "FROZEN"
    UNFROZEN = "UNFROZEN"


class GrantState(StrEnum):
    """The state of a grant; expired and revoked are final."""

    OPEN = "open"
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A person's decision about a budget.

    Attributes:
        kind: what was decided.
        terms: a JSON object: who decided (`by`), why (`reason`), and what the kind needs.
    """

    kind: DecisionKind
    terms: dict[str, Any]


def cap_set(*, epsilon: float, delta: float, by: str, reason: str | None) -> Decision:
    """A cap was set or changed."""
    return Decision(
        kind=DecisionKind.CAP_SET, terms={"epsilon": epsilon, "delta": delta, "by": by, "reason": reason}
    )


def granted(
    *, grant_id: UUID, holder: UUID, epsilon: float, delta: float, expires_at: datetime, by: str
) -> Decision:
    """A grant was made."""
    return Decision(
        kind=DecisionKind.GRANTED,
        terms={
            "grant_id": str(grant_id),
            "holder_id": str(holder),
            "epsilon": epsilon,
            "delta": delta,
            "expires_at": expires_at.astimezone(UTC).isoformat(timespec="microseconds"),
            "by": by,
        },
    )


def grant_closed(*, grant_id: UUID, outcome: GrantState, by: str) -> Decision:
    """A grant expired or was revoked: no new reservation draws on it."""
    return Decision(
        kind=DecisionKind.GRANT_CLOSED,
        terms={"grant_id": str(grant_id), "outcome": outcome.value, "by": by},
    )


def frozen(*, by: str, reason: str) -> Decision:
    """Nothing new is reserved or spent until the population is unfrozen."""
    return Decision(kind=DecisionKind.FROZEN, terms={"by": by, "reason": reason})


def unfrozen(*, by: str, reason: str) -> Decision:
    """Orders are accepted again."""
    return Decision(kind=DecisionKind.UNFROZEN, terms={"by": by, "reason": reason})


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(ChainLink):
    """One link of a population's chain: a movement or a decision, its circumstances and its place.

    Attributes:
        population_id: whose chain.
        sequence: its place, counted from 1.
        movement: what happens to a job's reservation. Exactly one of `movement` and `decision` is present.
        decision: what a person decided.
        mechanism: what was reserved; only RESERVED has one.
        fence: the number of the claim that spent; only SPENT has one.
        at: when, aware.
        balance: the population's balance after the entry; None in entries of the first release.
        grant_balance: the balance of the movement's grant after it; None without a grant.
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

    @property
    def kind(self) -> str:
        """The name of the kind in the database and in statements; empty if there is no content."""
        content = self.movement or self.decision
        return "" if content is None else content.kind.value

    @property
    def head(self) -> Head:
        """The head of the chain that ends with this entry."""
        return Head(sequence=self.sequence, hash=self.hash)

    def content(self) -> dict[str, Any]:
        """The JSON object that the hash covers."""
        # An entry with both a movement and a decision, or with neither, gets members that no legal entry has.
        happened: dict[str, Any] = {"kind": self.kind}
        if self.movement is not None:
            happened |= {"job_id": str(self.movement.job_id), "charge": self.movement.charge.to_json()}
        if self.decision is not None:
            happened |= {"terms": self.decision.terms}
        document = {
            "schema": SCHEMA,
            "population_id": str(self.population_id),
            "sequence": self.sequence,
            **happened,
            "mechanism": self.mechanism,
            "fence": self.fence,
            "at": self.at.astimezone(UTC).isoformat(timespec="microseconds"),
        }
        if self.balance is None:
            return document | {"schema": FIRST_SCHEMA}
        grant_id = None if self.movement is None else self.movement.grant_id
        return document | {
            "balance": self.balance.to_numbers(),
            "grant_balance": None if self.grant_balance is None else self.grant_balance.to_numbers(),
            "grant_id": None if grant_id is None else str(grant_id),
        }


LEDGER_CHAIN: Final[HashChain[Entry]] = HashChain(noun="entry", plural="entries")


def next_entry(
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
    """Return the hashed entry that follows `head`."""
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
    )
    return LEDGER_CHAIN.append(head, entry)
