from uuid import uuid4

import pytest
from sqlalchemy import text

from core.dp.errors import InvalidGuarantee
from core.dp.filters import AdmissionRule
from core.errors import BudgetRefused
from core.ledger import governance, ledger, ledger_queries
from core.ledger.errors import (
    AlreadyReserved,
    BudgetNotSet,
    CapBelowSpent,
    IllegalFold,
    PopulationNotFound,
    ReservationNotFound,
)
from core.ledger.reservation import NOTHING, EntryKind
from tests.core.ledger.support import ADMIN, CLOCK, MECHANISM, NOON, charge, new_population, reserve, set_cap


def spend(database, job_id, fence=1):
    with database.transaction() as session:
        return ledger.spend(session, job_id, fence=fence, clock=CLOCK)


def settle(database, job_id, amount):
    with database.transaction() as session:
        return ledger.settle(session, job_id, charge=amount, clock=CLOCK)


def void(database, job_id):
    with database.transaction() as session:
        ledger.void(session, job_id, clock=CLOCK)


def state(database, job_id):
    with database.read_only() as session:
        return ledger_queries.reservation_of(session, job_id).state


def statement(database, population_id):
    with database.read_only() as session:
        return ledger_queries.statement(session, population_id)


def test_a_reservation_counts_at_once(database):
    population = new_population(database, epsilon=1.0)
    job = reserve(database, population, charge(0.6))
    assert state(database, job) is EntryKind.RESERVED
    with pytest.raises(BudgetRefused):
        reserve(database, population, charge(0.5))
    reserve(database, population, charge(0.4))


def test_a_refusal_appends_nothing(database):
    population = new_population(database, epsilon=1.0)
    with pytest.raises(BudgetRefused):
        reserve(database, population, charge(1.000001))
    assert statement(database, population).movements == ()


def test_without_a_cap_nothing_may_be_spent(database):
    population = new_population(database, epsilon=None)
    with pytest.raises(BudgetNotSet):
        reserve(database, population, charge(0.1))
    with database.read_only() as session:
        assert ledger_queries.cap_of(session, population) is None


def test_spending_happens_once(database):
    job = reserve(database, new_population(database), charge(1.0))
    assert spend(database, job, fence=1) is True
    assert spend(database, job, fence=2) is False
    assert state(database, job) is EntryKind.SPENT


def test_the_spend_carries_the_fence_of_the_first_claim(database):
    population = new_population(database)
    job = reserve(database, population, charge(1.0))
    spend(database, job, fence=7)
    spend(database, job, fence=8)
    assert [entry.fence for entry in statement(database, population).movements] == [None, 7]


def test_settling_gives_the_rest_back(database):
    population = new_population(database, epsilon=1.0)
    job = reserve(database, population, charge(1.0))
    spend(database, job)
    assert settle(database, job, charge(0.3)) == charge(0.3)
    reserve(database, population, charge(0.7))
    with pytest.raises(BudgetRefused):
        reserve(database, population, charge(0.000001))


def test_settling_never_charges_more_than_was_reserved(database):
    job = reserve(database, new_population(database), charge(0.5))
    spend(database, job)
    assert settle(database, job, charge(2.0)) == charge(0.5)


def test_voiding_gives_all_back(database):
    population = new_population(database, epsilon=1.0)
    first = reserve(database, population, charge(1.0))
    void(database, first)
    second = reserve(database, population, charge(1.0))
    with database.read_only() as session:
        states = [ledger_queries.reservation_of(session, job).state for job in (first, second)]
    assert states == [EntryKind.VOIDED, EntryKind.RESERVED]


def test_what_was_spent_cannot_be_voided(database):
    job = reserve(database, new_population(database), charge(1.0))
    spend(database, job)
    with pytest.raises(IllegalFold):
        void(database, job)


def test_what_was_voided_cannot_be_spent(database):
    job = reserve(database, new_population(database), charge(1.0))
    void(database, job)
    with pytest.raises(IllegalFold):
        spend(database, job)


def test_what_was_not_spent_cannot_be_settled_and_nothing_settles_twice(database):
    job = reserve(database, new_population(database), charge(1.0))
    with pytest.raises(IllegalFold):
        settle(database, job, NOTHING)
    spend(database, job)
    settle(database, job, NOTHING)
    with pytest.raises(IllegalFold):
        settle(database, job, NOTHING)
    with pytest.raises(IllegalFold):
        spend(database, job)


def test_a_job_is_reserved_once(database):
    population = new_population(database)
    job = reserve(database, population, charge(0.1))
    with pytest.raises(AlreadyReserved):
        reserve(database, population, charge(0.1), job_id=job)


def test_unknown_jobs_and_populations(database):
    with database.transaction() as session:
        for call in (
            lambda: ledger.spend(session, uuid4(), fence=1, clock=CLOCK),
            lambda: ledger.settle(session, uuid4(), charge=NOTHING, clock=CLOCK),
            lambda: ledger.void(session, uuid4(), clock=CLOCK),
            lambda: ledger_queries.reservation_of(session, uuid4()),
        ):
            with pytest.raises(ReservationNotFound):
                call()
        for call in (
            lambda: ledger_queries.statement(session, uuid4()),
            lambda: ledger_queries.verify_chain(session, uuid4()),
            lambda: ledger_queries.cap_of(session, uuid4()),
            lambda: governance.set_cap(
                session, uuid4(), epsilon=1, delta=1e-6, by=ADMIN, reason=None, clock=CLOCK
            ),
        ):
            with pytest.raises(PopulationNotFound):
                call()
        assert ledger_queries.reserved_mechanisms(session, uuid4()) == {}
    with pytest.raises(PopulationNotFound):
        reserve(database, uuid4(), charge(0.1))


def test_the_mechanism_comes_back_to_the_letter(database):
    population = new_population(database)
    job = reserve(database, population, charge(0.1))
    with database.read_only() as session:
        assert ledger_queries.reserved_mechanisms(session, job) == {population: MECHANISM}
        assert isinstance(
            ledger_queries.reserved_mechanisms(session, job)[population]["noise_multiplier"], float
        )


class TestCaps:
    def test_a_cap_may_rise(self, database):
        population = new_population(database, epsilon=1.0)
        reserve(database, population, charge(1.0))
        admission = set_cap(database, population, epsilon=2.0)
        assert admission.filters["basic"].remaining_micros == 10**6
        reserve(database, population, charge(1.0))

    def test_a_cap_may_fall_to_what_is_spent_and_reserved(self, database):
        population = new_population(database, epsilon=3.0)
        spend(database, reserve(database, population, charge(1.0)))
        reserve(database, population, charge(0.5))
        set_cap(database, population, epsilon=1.5, delta=1e-5)
        with pytest.raises(CapBelowSpent) as refusal:
            set_cap(database, population, epsilon=1.4)
        assert refusal.value.detail.startswith("A cap of epsilon 1.4 and delta ")
        assert "spent and reserved: epsilon 1.5 and delta " in refusal.value.detail
        with database.read_only() as session:
            cap = ledger_queries.cap_of(session, population)
        assert (cap.epsilon, cap.delta) == (1.5, 1e-5)

    def test_voided_and_settled_amounts_do_not_hold_a_cap_up(self, database):
        population = new_population(database, epsilon=3.0)
        void(database, reserve(database, population, charge(1.0)))
        settled = reserve(database, population, charge(1.0))
        spend(database, settled)
        settle(database, settled, charge(0.1))
        set_cap(database, population, epsilon=0.1, delta=1e-5)
        with database.read_only() as session:
            assert ledger_queries.cap_of(session, population).epsilon == 0.1

    @pytest.mark.parametrize(
        ("epsilon", "delta"), [(0, 1e-5), (float("nan"), 1e-5), (1, 0), (1, 1e-13), (1, 1)]
    )
    def test_a_cap_is_a_guarantee(self, database, epsilon, delta):
        population = new_population(database, epsilon=None)
        with pytest.raises(InvalidGuarantee):
            set_cap(database, population, epsilon=epsilon, delta=delta)


class TestStatement:
    def test_it_shows_entries_caps_sums_and_filters(self, database):
        population = new_population(database, epsilon=2.0)
        kept, settled, voided, waiting = (
            reserve(database, population, charge(amount)) for amount in (0.5, 0.4, 0.3, 0.2)
        )
        spend(database, kept)
        spend(database, settled)
        settle(database, settled, charge(0.1))
        void(database, voided)
        shown = statement(database, population).to_json()
        assert shown["cap"] == {"epsilon": 2.0, "delta": 1e-5}
        assert shown["spent"]["epsilon"] == "0.6"
        assert shown["reserved"]["epsilon"] == "0.2"
        assert {state: amount["epsilon"] for state, amount in shown["totals"].items()} == {
            "reserved": "0.2", "spent": "0.5", "settled": "0.1", "voided": "0",
        }  # fmt: skip
        assert shown["carried_by"] == "basic"
        basic = shown["filters"][0]
        assert (basic["filter"], basic["holds"], basic["carries"]) == ("basic", True, True)
        assert (basic["capacity"], basic["used"], basic["remaining"]) == ("2", "0.8", "1.2")
        assert basic["delta"] == {"capacity": "0.000005", "used": "0.000000003", "remaining": "0.000004997"}
        assert all(not each["holds"] and each["delta"] is None for each in shown["filters"][1:])
        assert [(entry["sequence"], entry["kind"]) for entry in shown["entries"]] == [
            (1, "CAP_SET"), (2, "RESERVED"), (3, "RESERVED"), (4, "RESERVED"), (5, "RESERVED"),
            (6, "SPENT"), (7, "SPENT"), (8, "SETTLED"), (9, "VOIDED"),
        ]  # fmt: skip
        assert shown["entries"][1]["at"] == NOON.isoformat()
        assert shown["entries"][1]["mechanism"] == MECHANISM
        assert shown["head"] == {"sequence": 9, "hash": shown["entries"][-1]["hash"]}
        assert waiting

    def test_without_a_cap(self, database):
        population = new_population(database, epsilon=None, rule=AdmissionRule.BASIC)
        shown = statement(database, population)
        assert shown.summary.carried_by is None
        assert shown.in_force == ()
        assert shown.to_json()["cap"] is None
        assert shown.to_json()["filters"] == []
        assert shown.to_json()["rule"] == "basic"

    def test_what_a_quote_needs(self, database):
        population = new_population(database, epsilon=2.0)
        reserve(database, population, charge(0.5))
        with database.read_only() as session:
            assert ledger_queries.charges_in_force(session, population) == [charge(0.5)]
        assert statement(database, population).in_force == (charge(0.5),)


def test_an_aborted_transaction_leaves_no_entry_and_no_head(database):
    population = new_population(database)

    def reserve_and_fail():
        with database.transaction() as session:
            ledger.reserve(
                session,
                population_id=population,
                job_id=uuid4(),
                charge=charge(1.0),
                mechanism_json=MECHANISM,
                grant_id=None,
                clock=CLOCK,
            )
            raise RuntimeError

    with pytest.raises(RuntimeError):
        reserve_and_fail()
    assert statement(database, population).movements == ()
    assert statement(database, population).summary.head.sequence == 1


def test_the_database_itself_refuses_a_second_spend(database):
    population = new_population(database)
    job = reserve(database, population, charge(1.0))
    spend(database, job)
    copy = text(
        "INSERT INTO ledger_entries (population_id, sequence, kind, job_id, epsilon_micros, delta_femtos, rdp_micros,"
        " mechanism, fence, at, previous_hash, hash) SELECT population_id, 4, kind, job_id, epsilon_micros,"
        " delta_femtos, rdp_micros, mechanism, fence, at, previous_hash, hash FROM ledger_entries WHERE sequence = 3"
    )
    with pytest.raises(Exception, match="Something failed") as refusal, database.transaction() as session:
        session.execute(copy)
    assert refusal.value.code == "database-refused"
