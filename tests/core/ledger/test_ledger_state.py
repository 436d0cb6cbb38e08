"""The pure ledger: random entries, legal and not, against a second, naive accountant that keeps no running totals."""

from datetime import timedelta
from uuid import UUID

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from core.dp.charge import ORDERS, Charge, total
from core.dp.filters import AdmissionRule, Cap, admit
from core.ledger import entries
from core.ledger.entries import Decision, Entry, GrantState, LedgerState, next_entry, verify_entries
from core.ledger.errors import IllegalFold
from core.ledger.hash_chain import EMPTY
from core.ledger.reservation import EMPTY_BALANCE, NOTHING, Balance, EntryKind, Movement, balance_of, fold_all
from tests.core.ledger.support import NOON

JOBS = [UUID(int=number) for number in range(1, 7)]
GRANTS = [UUID(int=number) for number in range(101, 104)]
CAP = Cap(epsilon=1.0, delta=1e-5, rule=AdmissionRule.FILTERS)
CHARGES = st.builds(
    Charge,
    epsilon_micros=st.integers(0, 700_000),
    delta_femtos=st.integers(0, 3_000_000_000),
    rdp_micros=st.tuples(*(st.integers(0, 700_000) for _ in ORDERS)),
)


class PureLedger(RuleBasedStateMachine):
    """Appends whatever it draws; a state that accepts must agree with the naive sums, one that refuses must be right."""

    def __init__(self):
        super().__init__()
        self.state = LedgerState(rule=CAP.rule)
        self.entries: list[Entry] = []
        self.now = NOON
        self.append(entries.cap_set(epsilon=CAP.epsilon, delta=CAP.delta, by="admin", reason=None))

    @property
    def movements(self) -> list[Movement]:
        return [entry.movement for entry in self.entries if entry.movement is not None]

    def of_grant(self, grant_id: UUID | None) -> Balance:
        drawn = [each for each in fold_all(self.movements).values() if each.grant_id == grant_id]
        return balance_of(drawn)

    def append(self, content: Movement | Decision) -> bool:
        """Write the entry with the totals that a correct writer would give it. Returns whether it was accepted."""
        balance, drawn, grant_id = self.state.balance, None, None
        if isinstance(content, Movement):
            grant_id = content.grant_id
            try:
                after = fold_all([*self.movements, content])
            except IllegalFold:
                pass
            else:
                balance = balance_of(after.values())
                drawn = balance_of(each for each in after.values() if each.grant_id == grant_id)
        head = self.entries[-1].head if self.entries else EMPTY
        entry = next_entry(
            head,
            population_id=UUID(int=9),
            content=content,
            at=self.now,
            balance=balance,
            grant_balance=drawn if grant_id is not None else None,
            mechanism={"version": 1} if isinstance(content, Movement) else None,
        )
        trial = LedgerState(rule=CAP.rule)
        for each in self.entries:
            trial.apply(each)
        try:
            trial.apply(entry)
        except IllegalFold:
            return False
        self.state = trial
        self.entries.append(entry)
        return True

    @rule(job=st.sampled_from(JOBS), amount=CHARGES, grant=st.sampled_from([None, *GRANTS]))
    def reserve(self, job, amount, grant):
        known = {each.job_id for each in self.movements}
        cap = self.state.cap
        fits = admit(cap, [balance_of(fold_all(self.movements).values()).in_force, amount]).admitted
        terms = self.state.grants.get(grant) if grant else None
        if grant is not None:
            fits = (
                fits and terms is not None and terms.state is GrantState.OPEN and self.now < terms.expires_at
            )
            fits = fits and admit(terms.cap, [self.of_grant(grant).in_force, amount]).admitted
        accepted = self.append(Movement(kind=EntryKind.RESERVED, job_id=job, charge=amount, grant_id=grant))
        assert accepted == (fits and job not in known and not self.state.frozen)

    @precondition(lambda self: self.movements)
    @rule(data=st.data(), kind=st.sampled_from(list(EntryKind)), amount=CHARGES)
    def move(self, data, kind, amount):
        reservation = data.draw(st.sampled_from(list(fold_all(self.movements).values())))
        match kind:
            case EntryKind.SPENT:
                amount = reservation.reserved
            case EntryKind.VOIDED:
                amount = NOTHING
        self.append(
            Movement(kind=kind, job_id=reservation.job_id, charge=amount, grant_id=reservation.grant_id)
        )

    @precondition(lambda self: self.movements)
    @rule(data=st.data(), grant=st.sampled_from(GRANTS))
    def move_to_another_grant(self, data, grant):
        reservation = data.draw(st.sampled_from(list(fold_all(self.movements).values())))
        if reservation.grant_id != grant:
            spent = Movement(
                kind=EntryKind.SPENT, job_id=reservation.job_id, charge=reservation.reserved, grant_id=grant
            )
            assert not self.append(spent)

    @rule(grant=st.sampled_from(GRANTS), epsilon=st.floats(0.01, 2.0), days=st.integers(0, 3))
    def grant(self, grant, epsilon, days):
        decision = entries.granted(
            grant_id=grant, holder=UUID(int=77), epsilon=epsilon, delta=1e-5,
            expires_at=self.now + timedelta(days=days), by="admin",
        )  # fmt: skip
        fresh = grant not in self.state.grants
        assert self.append(decision) == fresh

    @rule(grant=st.sampled_from(GRANTS), outcome=st.sampled_from([GrantState.EXPIRED, GrantState.REVOKED]))
    def close(self, grant, outcome):
        terms = self.state.grants.get(grant)
        is_open = terms is not None and terms.state is GrantState.OPEN
        assert self.append(entries.grant_closed(grant_id=grant, outcome=outcome, by="upkeep")) == is_open

    @rule(epsilon=st.floats(0.1, 3.0))
    def set_cap(self, epsilon):
        cap = Cap(epsilon=epsilon, delta=1e-5, rule=CAP.rule)
        fits = admit(cap, [self.state.balance.in_force]).admitted
        assert self.append(entries.cap_set(epsilon=epsilon, delta=1e-5, by="admin", reason="r")) == fits

    @rule(freezing=st.booleans())
    def freeze(self, freezing):
        decision = entries.frozen if freezing else entries.unfrozen
        differs = self.state.frozen != freezing
        assert self.append(decision(by="admin", reason="r")) == differs

    @rule(days=st.integers(1, 2))
    def wait(self, days):
        self.now += timedelta(days=days)

    @invariant()
    def the_cap_holds_at_every_order_and_totals_are_sums(self):
        naive = total(each.in_force for each in fold_all(self.movements).values())
        assert self.state.balance.in_force == naive
        assert admit(self.state.cap, [naive]).admitted
        for grant_id, terms in self.state.grants.items():
            assert terms.balance == self.of_grant(grant_id)
            assert admit(terms.cap, [terms.balance.in_force]).admitted

    @invariant()
    def the_chain_verifies(self):
        head = self.entries[-1].head if self.entries else EMPTY
        assert verify_entries(self.entries, head=head, state=LedgerState(rule=CAP.rule)).intact


TestPureLedger = PureLedger.TestCase
TestPureLedger.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def test_a_wrong_running_total_is_refused():
    state = LedgerState(rule=CAP.rule)
    cap = entries.cap_set(epsilon=1.0, delta=1e-5, by="admin", reason=None)
    first = next_entry(EMPTY, population_id=UUID(int=9), content=cap, at=NOON, balance=EMPTY_BALANCE)
    one = Charge(epsilon_micros=10, delta_femtos=10, rdp_micros=(10,) * len(ORDERS))
    lie = next_entry(
        first.head,
        population_id=UUID(int=9),
        content=Movement(kind=EntryKind.RESERVED, job_id=JOBS[0], charge=one),
        at=NOON,
        balance=EMPTY_BALANCE,
    )
    found = verify_entries([first, lie], head=lie.head, state=state)
    assert found.problem == "the entry may not follow the ones before it: a running total that is not the sum"
