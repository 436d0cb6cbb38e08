"""What a ledger records, and the state that its entries fold to. An entry moves a job's reservation or is a person's decision.

Caps, grants and freezes bound what jobs may spend. A change of one that left no trace would be a way around the ledger,
so decisions are entries of the same hash chain as movements. The rows that show them (budgets, grants) are copies, and
every verification compares them with the chain.

The fold enforces the rules of the ledger. It raises `IllegalFold` for an entry that may not follow, a running total
that is not the sum, a reservation that did not fit under the cap or the grant of its moment, or a movement while frozen.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from core.dp.errors import InvalidGuarantee
from core.dp.filters import AdmissionRule, Cap, admit
from core.ledger.errors import IllegalFold
from core.ledger.hash_chain import ChainCheck, ChainLink, HashChain, Head
from core.ledger.reservation import EMPTY_BALANCE, Balance, EntryKind, Movement, Reservation, fold_into

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


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantTerms:
    """A grant, as the entries state it.

    Attributes:
        holder_id: who may draw on it.
        cap: how much, under the population's rule.
        expires_at: until when, aware.
        balance: what was drawn.
    """

    holder_id: UUID
    cap: Cap
    expires_at: datetime
    state: GrantState = GrantState.OPEN
    balance: Balance = EMPTY_BALANCE


@dataclass(slots=True, kw_only=True)
class LedgerState:
    """The state of one population's ledger.

    Attributes:
        rule: which filters guard the population; fixed when it was opened.
        cap: the cap decided last; None before any decision.
        frozen: whether nothing new may be reserved or spent.
        balance: what counts against the cap.
        older_release: whether some entry is of the first release, which did not write its caps into the chain.
    """

    rule: AdmissionRule
    reservations: dict[UUID, Reservation] = field(default_factory=dict)
    grants: dict[UUID, GrantTerms] = field(default_factory=dict)
    cap: Cap | None = None
    frozen: bool = False
    balance: Balance = EMPTY_BALANCE
    older_release: bool = False

    def apply(self, entry: Entry) -> None:
        """Fold one more entry.

        Raises:
            IllegalFold: the entry may not follow the ones before it.
        """
        if (entry.movement is None) == (entry.decision is None):
            raise IllegalFold(None, "neither a movement nor a decision")
        if entry.movement is not None:
            self._move(entry.movement, entry)
        if entry.decision is not None:
            try:
                self._decide(entry.decision)
            except (KeyError, ValueError, TypeError, InvalidGuarantee):
                raise IllegalFold(None, "terms that cannot be read") from None
        if entry.balance is None:
            self.older_release = True
        elif entry.balance != self.balance:
            raise IllegalFold(None, "a running total that is not the sum")

    def differs_from(
        self,
        *,
        cap: Cap | None,
        frozen: bool,
        grants: Mapping[UUID, tuple[UUID, float, float, datetime, str]],
    ) -> str | None:
        """Compare the rows that copy decisions with the decisions themselves.

        Args:
            cap: the cap on the budget's row.
            frozen: whether the budget's row says frozen.
            grants: holder, epsilon, delta, expiry and state on the rows of the grants, by id.

        Returns:
            What differs, in constant words, or None.
        """
        # The first release kept caps on the row alone. From the first decision on, the chain has them.
        if cap != self.cap and not (self.cap is None and self.older_release):
            return "the cap on the budget is not the one decided"
        if frozen != self.frozen:
            return "the budget and the chain disagree on whether it is frozen"
        decided = {
            grant_id: (
                terms.holder_id,
                terms.cap.epsilon,
                terms.cap.delta,
                terms.expires_at,
                terms.state.value,
            )
            for grant_id, terms in self.grants.items()
        }
        return None if decided == dict(grants) else "the grants are not the ones decided"

    def _move(self, movement: Movement, entry: Entry) -> None:
        before = self.reservations.get(movement.job_id)
        if self.frozen and movement.kind in {EntryKind.RESERVED, EntryKind.SPENT}:
            raise IllegalFold(movement.job_id, "moved while frozen")
        fold_into(self.reservations, movement)
        now = self.reservations[movement.job_id]
        self.balance = self.balance.after(before, now)
        opening = movement.kind is EntryKind.RESERVED
        if opening and self.cap is not None and not admit(self.cap, [self.balance.in_force]).admitted:
            raise IllegalFold(movement.job_id, "reserved above the cap")
        if movement.grant_id is not None:
            self._draw(movement.grant_id, before, now, entry)
        elif entry.grant_balance is not None:
            raise IllegalFold(movement.job_id, "the total of a grant without a grant")

    def _draw(self, grant_id: UUID, before: Reservation | None, now: Reservation, entry: Entry) -> None:
        terms = self.grants.get(grant_id)
        if terms is None:
            raise IllegalFold(now.job_id, "drew on a grant that was never made")
        terms = replace(terms, balance=terms.balance.after(before, now))
        if before is None:
            if terms.state is not GrantState.OPEN or entry.at >= terms.expires_at:
                raise IllegalFold(now.job_id, "drew on a closed grant")
            if not admit(terms.cap, [terms.balance.in_force]).admitted:
                raise IllegalFold(now.job_id, "reserved above its grant")
        if entry.grant_balance != terms.balance:
            raise IllegalFold(now.job_id, "a grant's running total that is not the sum")
        self.grants[grant_id] = terms

    def _decide(self, decision: Decision) -> None:
        terms = decision.terms
        match decision.kind:
            case DecisionKind.CAP_SET:
                self.cap = self._cap(terms["epsilon"], terms["delta"])
                if not admit(self.cap, [self.balance.in_force]).admitted:
                    raise IllegalFold(None, "a cap below what was spent")
            case DecisionKind.GRANTED:
                grant_id = UUID(terms["grant_id"])
                if grant_id in self.grants:
                    raise IllegalFold(None, "granted twice")
                self.grants[grant_id] = GrantTerms(
                    holder_id=UUID(terms["holder_id"]),
                    cap=self._cap(terms["epsilon"], terms["delta"]),
                    expires_at=datetime.fromisoformat(terms["expires_at"]),
                )
            case DecisionKind.GRANT_CLOSED:
                grant_id = UUID(terms["grant_id"])
                if self.grants[grant_id].state is not GrantState.OPEN:
                    raise IllegalFold(None, "closed twice")
                self.grants[grant_id] = replace(self.grants[grant_id], state=GrantState(terms["outcome"]))
            case DecisionKind.FROZEN | DecisionKind.UNFROZEN:
                freezing = decision.kind is DecisionKind.FROZEN
                if freezing == self.frozen:
                    raise IllegalFold(None, "frozen or unfrozen twice")
                self.frozen = freezing

    def _cap(self, epsilon: float, delta: float) -> Cap:
        return Cap(epsilon=epsilon, delta=delta, rule=self.rule)


def verify_entries(
    entries: Iterable[Entry], *, head: Head, state: LedgerState, witnesses: Iterable[Head] = ()
) -> ChainCheck:
    """Verify a whole ledger: its hash chain, and the rules of the fold.

    Args:
        entries: all entries of a population in order of sequence.
        head: the head that is kept beside the chain, on the budget's row.
        state: an empty state, which the entries are applied to.
        witnesses: heads noted earlier outside the database; the chain must pass through all of them.
    """

    def illegal(entry: Entry) -> str | None:
        try:
            state.apply(entry)
        except IllegalFold as error:
            return f"the entry may not follow the ones before it: {error.reason}"
        return None

    return LEDGER_CHAIN.verify(entries, end=head, witnesses=witnesses, rule=illegal)
