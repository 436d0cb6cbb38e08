"""Caps, grants and freezes: what people decide, in the chain and under the lock."""

from contextlib import suppress
from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import text

from core.clock import FixedClock
from core.dp.errors import InvalidGuarantee
from core.dp.filters import AdmissionRule
from core.errors import BudgetRefused
from core.ledger import governance, ledger, ledger_queries, repository
from core.ledger.entries import DecisionKind, GrantState, next_entry
from core.ledger.errors import (
    BudgetNotSet,
    GrantClosed,
    GrantNotFound,
    GrantRefused,
    LedgerBroken,
    PopulationFrozen,
    ReasonRequired,
)
from core.ledger.hash_chain import EMPTY
from tests.core.ledger.support import (
    ADMIN,
    CLOCK,
    HOLDER,
    NOON,
    charge,
    make_grant,
    new_population,
    reserve,
    set_cap,
)

LATER = FixedClock(NOON + timedelta(days=31))


def statement(database, population):
    with database.read_only() as session:
        assert ledger_queries.verify_chain(session, population).intact
        return ledger_queries.statement(session, population)


def decisions(database, population):
    return [entry.decision for entry in statement(database, population).entries if entry.decision is not None]


def spend(database, job):
    with database.transaction() as session:
        return ledger.spend(session, job, fence=1, clock=CLOCK)


def close(database, grant_id, outcome=GrantState.REVOKED):
    with database.transaction() as session:
        governance.close_grant(session, grant_id, outcome=outcome, by=ADMIN, clock=CLOCK)


def freeze(database, population):
    with database.transaction() as session:
        return governance.freeze(session, population, by=ADMIN, reason="an investigation", clock=CLOCK)


def unfreeze(database, population):
    with database.transaction() as session:
        return governance.unfreeze(session, population, by=ADMIN, reason="all is well", clock=CLOCK)


class TestCap:
    def test_every_change_is_an_entry_that_says_who_and_why(self, database):
        population = new_population(database, epsilon=1.0)
        set_cap(database, population, epsilon=2.0, reason="the board agreed")
        assert [decision.terms for decision in decisions(database, population)] == [
            {"epsilon": 1.0, "delta": 1e-5, "by": ADMIN, "reason": None},
            {"epsilon": 2.0, "delta": 1e-5, "by": ADMIN, "reason": "the board agreed"},
        ]

    @pytest.mark.parametrize("reason", [None, "", "  \n"])
    @pytest.mark.parametrize(("epsilon", "delta"), [(1.1, 1e-5), (1.0, 2e-5), (0.5, 2e-5)])
    def test_raising_needs_a_reason(self, database, epsilon, delta, reason):
        population = new_population(database, epsilon=1.0)
        with pytest.raises(ReasonRequired):
            set_cap(database, population, epsilon=epsilon, delta=delta, reason=reason)
        assert len(decisions(database, population)) == 1

    def test_lowering_needs_none_and_the_same_cap_again_is_no_entry(self, database):
        population = new_population(database, epsilon=1.0)
        set_cap(database, population, epsilon=0.5, reason=None)
        set_cap(database, population, epsilon=0.5, reason=None)
        assert len(decisions(database, population)) == 2


class TestGrants:
    def test_an_order_draws_on_the_grant_and_on_the_cap(self, database):
        population = new_population(database, epsilon=3.0)
        grant_id = make_grant(database, population, epsilon=1.0)
        reserve(database, population, charge(0.6), grant_id=grant_id)
        with pytest.raises(GrantRefused) as refusal:
            reserve(database, population, charge(0.5), grant_id=grant_id)
        assert refusal.value.detail == (
            "This order costs epsilon 0.5, and your grant has 0.4 left for one more order."
        )
        reserve(database, population, charge(0.4), grant_id=grant_id)
        assert statement(database, population).summary.balance.reserved.epsilon_micros == 1_000_000

    def test_the_cap_binds_everybody_together_whatever_was_granted(self, database):
        population = new_population(database, epsilon=1.0)
        grants = [make_grant(database, population, epsilon=1.0, holder=uuid4()) for _ in range(3)]
        reserve(database, population, charge(0.7), grant_id=grants[0])
        with pytest.raises(BudgetRefused) as refusal:
            reserve(database, population, charge(0.7), grant_id=grants[1])
        assert type(refusal.value) is BudgetRefused
        reserve(database, population, charge(0.3), grant_id=grants[2])

    def test_what_a_job_gives_back_goes_back_to_its_grant(self, database):
        population = new_population(database, epsilon=3.0)
        grant_id = make_grant(database, population, epsilon=1.0)
        voided = reserve(database, population, charge(1.0), grant_id=grant_id)
        with database.transaction() as session:
            ledger.void(session, voided, clock=CLOCK)
        settled = reserve(database, population, charge(1.0), grant_id=grant_id)
        spend(database, settled)
        with database.transaction() as session:
            ledger.settle(session, settled, charge=charge(0.25), clock=CLOCK)
        reserve(database, population, charge(0.75), grant_id=grant_id)
        with pytest.raises(GrantRefused):
            reserve(database, population, charge(0.000001), grant_id=grant_id)
        assert statement(database, population)

    def test_grants_follow_the_rule_of_their_population(self, database):
        small = (10,) * 6
        filters = new_population(database, epsilon=9.0)
        basic = new_population(database, epsilon=9.0, rule=AdmissionRule.BASIC)
        reserve(
            database, filters, charge(5.0, rdp=small), grant_id=make_grant(database, filters, epsilon=2.0)
        )
        with pytest.raises(GrantRefused):
            reserve(
                database, basic, charge(5.0, rdp=small), grant_id=make_grant(database, basic, epsilon=2.0)
            )

    def test_a_grant_expires_by_the_clock_even_before_anybody_closes_it(self, database):
        population = new_population(database, epsilon=3.0)
        grant_id = make_grant(database, population, days=31)
        with pytest.raises(GrantClosed):
            reserve(database, population, charge(0.1), grant_id=grant_id, clock=LATER)

    @pytest.mark.parametrize("outcome", [GrantState.EXPIRED, GrantState.REVOKED])
    def test_a_closed_grant_keeps_what_it_reserved_and_takes_nothing_new(self, database, outcome):
        population = new_population(database, epsilon=3.0)
        grant_id = make_grant(database, population)
        job = reserve(database, population, charge(0.5), grant_id=grant_id)
        close(database, grant_id, outcome)
        close(database, grant_id, outcome)
        with pytest.raises(GrantClosed):
            reserve(database, population, charge(0.1), grant_id=grant_id)
        assert spend(database, job)
        kinds = [decision.kind for decision in decisions(database, population)]
        assert kinds == [DecisionKind.CAP_SET, DecisionKind.GRANTED, DecisionKind.GRANT_CLOSED]

    def test_open_grants_of_a_holder(self, database):
        population = new_population(database, epsilon=3.0)
        long, short = make_grant(database, population, days=30), make_grant(database, population, days=3)
        make_grant(database, population, holder=uuid4())
        close(database, make_grant(database, population))
        with database.read_only() as session:
            found = ledger_queries.open_grants(session, population, holder=HOLDER, at=NOON)
            assert [row.id for row in found] == [short, long]
            assert (
                ledger_queries.open_grants(session, population, holder=HOLDER, at=NOON + timedelta(days=30))
                == []
            )
            assert len(ledger_queries.grants_of(session, population)) == 4

    def test_a_grant_of_another_population_is_not_found(self, database):
        population, other = new_population(database), new_population(database)
        for grant_id in (make_grant(database, other), uuid4()):
            with pytest.raises(GrantNotFound):
                reserve(database, population, charge(0.1), grant_id=grant_id)
            with pytest.raises(GrantNotFound), database.read_only() as session:
                ledger_queries.preview_admission(session, population, charge(0.1), grant_id=grant_id)
        with pytest.raises(GrantNotFound):
            close(database, uuid4())

    @pytest.mark.parametrize(
        ("epsilon", "delta"), [(0, 1e-5), (float("inf"), 1e-5), (1, 0), (1, 1), (float("nan"), 1e-5)]
    )
    def test_a_grant_is_a_guarantee(self, database, epsilon, delta):
        population = new_population(database)
        with pytest.raises(InvalidGuarantee):
            make_grant(database, population, epsilon=epsilon, delta=delta)

    def test_nothing_is_granted_without_a_cap_or_while_frozen(self, database):
        population = new_population(database, epsilon=None)
        with pytest.raises(BudgetNotSet):
            make_grant(database, population)
        set_cap(database, population, epsilon=1.0)
        freeze(database, population)
        with pytest.raises(PopulationFrozen):
            make_grant(database, population)


class TestFreeze:
    def test_nothing_is_reserved_or_spent_until_it_is_unfrozen(self, database):
        population = new_population(database, epsilon=3.0)
        waiting, begun = (reserve(database, population, charge(0.5)) for _ in range(2))
        spend(database, begun)
        assert freeze(database, population)
        assert not freeze(database, population)
        with pytest.raises(PopulationFrozen):
            reserve(database, population, charge(0.1))
        with pytest.raises(PopulationFrozen):
            spend(database, waiting)
        assert spend(database, begun) is False
        with database.transaction() as session:
            ledger.settle(session, begun, charge=charge(0.1), clock=CLOCK)
        with database.read_only() as session:
            assert ledger_queries.is_frozen(session, population)
            assert (
                ledger_queries.preview_admission(session, population, charge(0.1), grant_id=None).refusal
                == "dataset-frozen"
            )
        assert unfreeze(database, population)
        assert not unfreeze(database, population)
        assert spend(database, waiting)
        kinds = [decision.kind for decision in decisions(database, population)]
        assert kinds == [DecisionKind.CAP_SET, DecisionKind.FROZEN, DecisionKind.UNFROZEN]

    def test_a_waiting_job_may_still_be_cancelled(self, database):
        population = new_population(database, epsilon=3.0)
        waiting = reserve(database, population, charge(0.5))
        freeze(database, population)
        with database.transaction() as session:
            ledger.void(session, waiting, clock=CLOCK)
        assert statement(database, population).summary.balance.reserved.epsilon_micros == 0


class TestOneMore:
    def test_it_says_what_an_order_would_meet(self, database):
        population = new_population(database, epsilon=1.0)
        grant_id = make_grant(database, population, epsilon=0.5)
        reserve(database, population, charge(0.4), grant_id=grant_id)

        def one_more(epsilon, drawn=grant_id):
            with database.read_only() as session:
                return ledger_queries.preview_admission(session, population, charge(epsilon), grant_id=drawn)

        fits = one_more(0.1)
        assert (fits.fits, fits.refusal) == (True, None)
        assert fits.after.filters["basic"].remaining_micros == 500_000
        assert fits.grant_after.filters["basic"].remaining_micros == 0
        assert one_more(0.2).refusal == "grant-refused"
        assert one_more(0.2, None).fits
        assert one_more(0.7).refusal == "budget-refused"

    def test_without_a_cap(self, database):
        population = new_population(database, epsilon=None)
        with database.read_only() as session:
            found = ledger_queries.preview_admission(session, population, charge(0.1), grant_id=None)
        assert (found.fits, found.after, found.refusal) == (False, None, "budget-not-set")


def tamper(database, *statements):
    with database.transaction() as session:
        session.execute(text("ALTER TABLE ledger_entries DISABLE TRIGGER ALL"))
        for each in statements:
            session.execute(text(each))


class TestTampering:
    @pytest.fixture
    def population(self, database):
        population = new_population(database, epsilon=3.0)
        grant_id = make_grant(database, population)
        reserve(database, population, charge(0.5), grant_id=grant_id)
        return population

    def problem(self, database, population):
        with database.read_only() as session:
            return ledger_queries.verify_chain(session, population).problem

    @pytest.mark.parametrize(
        ("statement", "problem"),
        [
            ("UPDATE budgets SET epsilon_cap = 9", "the cap on the budget is not the one decided"),
            ("UPDATE budgets SET delta_cap = 0.1", "the cap on the budget is not the one decided"),
            (
                "UPDATE budgets SET frozen_at = now()",
                "the budget and the chain disagree on whether it is frozen",
            ),
            ("UPDATE grants SET epsilon = 9", "the grants are not the ones decided"),
            ("UPDATE grants SET expires_at = now()", "the grants are not the ones decided"),
            ("UPDATE grants SET holder_id = gen_random_uuid()", "the grants are not the ones decided"),
            ("DELETE FROM grants", "the grants are not the ones decided"),
            (
                "UPDATE ledger_entries SET balance[1] = 1 WHERE sequence = 3",
                "the content of an entry was changed",
            ),
            (
                "UPDATE ledger_entries SET grant_balance[9] = 0 WHERE sequence = 3",
                "the content of an entry was changed",
            ),
            (
                "UPDATE ledger_entries SET grant_id = NULL WHERE sequence = 3",
                "the content of an entry was changed",
            ),
            (
                """UPDATE ledger_entries SET terms = '{"epsilon": 9}' WHERE sequence = 1""",
                "the content of an entry was changed",
            ),
        ],
    )
    def test_every_copy_and_every_total_is_verified(self, database, population, statement, problem):
        tamper(database, statement)
        assert self.problem(database, population) == problem

    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE ledger_entries SET balance[9] = 0 WHERE sequence = 3",
            "UPDATE ledger_entries SET epsilon_micros = 0 WHERE sequence = 3",
            "DELETE FROM ledger_entries WHERE sequence = 3",
            "UPDATE budgets SET head_hash = decode(repeat('00', 32), 'hex')",
        ],
    )
    def test_a_last_entry_that_was_changed_refuses_orders_at_once_and_can_be_frozen(
        self, database, population, statement
    ):
        tamper(database, statement)
        with pytest.raises(LedgerBroken):
            reserve(database, population, charge(0.1))
        with pytest.raises(LedgerBroken):
            set_cap(database, population, epsilon=9.0)
        assert freeze(database, population)
        with pytest.raises(PopulationFrozen):
            reserve(database, population, charge(0.1))
        with pytest.raises(LedgerBroken):
            unfreeze(database, population)

    def test_a_freeze_lifted_by_hand_is_found_and_put_back(self, database, population):
        freeze(database, population)
        tamper(database, "UPDATE budgets SET frozen_at = NULL")
        assert self.problem(database, population) == (
            "the budget and the chain disagree on whether it is frozen"
        )
        assert freeze(database, population)
        assert self.problem(database, population) is None
        assert unfreeze(database, population)
        assert self.problem(database, population) is None

    def test_a_cap_that_nobody_decided(self, database):
        population = new_population(database, epsilon=None)
        tamper(database, "UPDATE budgets SET epsilon_cap = 9, delta_cap = 0.1")
        assert self.problem(database, population) == "the cap on the budget is not the one decided"


class TestEntriesOfTheFirstRelease:
    """Its rows have no totals and no decisions; during an upgrade both releases write to one chain."""

    def forget_totals(self, database):
        """Turn the entries into what the first release would have written, hashes and all."""
        with database.transaction() as session:
            session.execute(text("ALTER TABLE ledger_entries DISABLE TRIGGER ALL"))
            population = session.execute(text("SELECT population_id FROM budgets")).scalar_one()
            old = [entry for entry in repository.entries(session, population) if entry.movement is not None]
            session.execute(text("DELETE FROM ledger_entries"))
            empty = {"sequence": EMPTY.sequence, "hash": EMPTY.hash}
            session.execute(text("UPDATE budgets SET head_sequence = :sequence, head_hash = :hash"), empty)
            for entry in old:
                assert entry.movement is not None
                again = next_entry(
                    repository.head_of(ledger.lock(session, population)),
                    population_id=population,
                    content=entry.movement,
                    at=entry.at,
                    balance=None,
                    mechanism=entry.mechanism,
                    fence=entry.fence,
                )
                ledger.append(session, again)

    def test_they_verify_count_and_are_continued(self, database):
        population = new_population(database, epsilon=1.0)
        job = reserve(database, population, charge(0.4))
        spend(database, job)
        reserve(database, population, charge(0.3))
        self.forget_totals(database)
        with database.read_only() as session:
            assert ledger_queries.verify_chain(session, population).intact
            assert ledger_queries.summary(session, population).balance.spent == charge(0.4)
        with pytest.raises(BudgetRefused):
            reserve(database, population, charge(0.4))
        reserve(database, population, charge(0.3))
        shown = statement(database, population)
        assert shown.entries[-1].balance.reserved.epsilon_micros == 600_000
        set_cap(database, population, epsilon=2.0)
        with suppress(BudgetRefused):
            reserve(database, population, charge(1.0))
        assert statement(database, population).summary.balance.in_force.epsilon_micros == 2_000_000
