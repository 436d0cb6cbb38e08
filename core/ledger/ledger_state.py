"""The state of a ledger: its entries folded from the first to the last, and the verification of a whole chain.

The fold enforces the rules of the ledger. It raises `IllegalFold` for an entry that may not follow, a running total
that is not the sum, a reservation that did not fit under the cap or the grant of its moment, or a movement while frozen.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from core.dp.errors import InvalidGuarantee
from core.dp.filters import AdmissionRule, Cap, admit
from core.ledger.entries import LEDGER_CHAIN, Decision, DecisionKind, Entry, GrantState
from core.ledger.errors import IllegalFold
from core.ledger.hash_chain import ChainCheck, Head
from core.ledger.reservation import EMPTY_BALANCE, Balance, EntryKind, Movement, Reservation, fold_into


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
        reservations: by job.
        grants: by id.
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
