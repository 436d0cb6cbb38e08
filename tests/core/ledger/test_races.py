"""Many clients with real connections at once: what is admitted is exactly what fits."""

import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from core.db.session import Database
from core.dp.charge import ORDERS
from core.dp.filters import admit
from core.errors import BudgetRefused, UnderstudyError
from core.ledger import ledger, ledger_queries
from core.ledger.errors import CapBelowSpent, IllegalFold
from core.ledger.reservation import EntryKind, fold_into
from tests.core.ledger.support import CLOCK, charge, new_population, reserve, set_cap

PROCESSES = multiprocessing.get_context("fork")
CLIENTS = 50


def at_once(*tasks):
    """Run tasks in threads that set off together. Returns their results or UnderstudyErrors, in order."""
    gate = threading.Barrier(len(tasks))

    def run(task):
        gate.wait()
        try:
            return task()
        except UnderstudyError as error:
            return error

    with ThreadPoolExecutor(len(tasks)) as pool:
        return list(pool.map(run, tasks))


def statement(database, population):
    with database.read_only() as session:
        assert ledger_queries.verify_chain(session, population).intact
        return ledger_queries.statement(session, population)


def never_over_the_cap(shown):
    """Replay the ledger: after every entry what is in force fits under the cap."""
    reservations = {}
    for entry in shown.movements:
        fold_into(reservations, entry.movement)
        if not admit(shown.summary.cap, [each.in_force for each in reservations.values()]).admitted:
            return False
    return True


@pytest.mark.parametrize("fits", [1, 3, 7, 20, 49])
def test_fifty_clients_race_for_the_last_epsilon(database, fits):
    population = new_population(database, epsilon=fits * 0.1 + 0.05)
    outcomes = at_once(*[lambda: reserve(database, population, charge(0.1))] * CLIENTS)
    refused = [outcome for outcome in outcomes if isinstance(outcome, BudgetRefused)]
    assert len(refused) == CLIENTS - fits
    assert len(outcomes) - len(refused) == fits
    shown = statement(database, population)
    assert len(shown.movements) == fits
    assert shown.summary.balance.reserved.epsilon_micros == fits * 100_000


def test_a_filter_of_renyi_divergence_is_raced_for_as_well(database):
    population = new_population(database, epsilon=3.0)
    with database.read_only() as session:
        capacity = admit(ledger_queries.cap_of(session, population), ()).filters["rdp-8"].capacity_micros
    dear = [10**12] * len(ORDERS)
    dear[ORDERS.index(8)] = capacity // 4
    outcomes = at_once(*[lambda: reserve(database, population, charge(9.0, rdp=tuple(dear)))] * 20)
    assert sum(isinstance(outcome, BudgetRefused) for outcome in outcomes) == 16
    assert statement(database, population).summary.carried_by == "rdp-8"


def test_one_job_is_spent_once_by_many_claims(database):
    population = new_population(database)
    job = reserve(database, population, charge(0.5))

    def spend(fence):
        with database.transaction() as session:
            return ledger.spend(session, job, fence=fence, clock=CLOCK)

    outcomes = at_once(*[lambda fence=fence: spend(fence) for fence in range(1, 21)])
    assert sorted(outcomes) == [False] * 19 + [True]
    assert [entry.movement.kind for entry in statement(database, population).movements] == [
        EntryKind.RESERVED,
        EntryKind.SPENT,
    ]


def test_spending_and_voiding_exclude_each_other(database):
    population = new_population(database, epsilon=10.0)
    for _ in range(8):
        job = reserve(database, population, charge(0.1))

        def spend(job=job):
            with database.transaction() as session:
                return ledger.spend(session, job, fence=1, clock=CLOCK)

        def void(job=job):
            with database.transaction() as session:
                ledger.void(session, job, clock=CLOCK)

        outcomes = at_once(spend, void)
        assert sum(isinstance(outcome, IllegalFold) for outcome in outcomes) == 1
    assert len(statement(database, population).movements) == 16


def test_one_id_is_reserved_once(database):
    population, job = new_population(database, epsilon=10.0), uuid4()
    outcomes = at_once(*[lambda: reserve(database, population, charge(0.1), job_id=job)] * 10)
    assert outcomes.count(job) == 1


def test_a_cap_that_falls_among_orders(database):
    population = new_population(database, epsilon=5.0)

    def lower(epsilon):
        set_cap(database, population, epsilon=epsilon, delta=1e-5)

    orders = [lambda: reserve(database, population, charge(0.5))] * 20
    cuts = [lambda epsilon=epsilon: lower(epsilon) for epsilon in (4.0, 3.0, 2.0, 1.0)]
    outcomes = at_once(*orders, *cuts)
    refused = [outcome for outcome in outcomes if isinstance(outcome, UnderstudyError)]
    assert all(isinstance(error, BudgetRefused | CapBelowSpent) for error in refused)
    assert never_over_the_cap(statement(database, population))


def test_populations_do_not_wait_for_each_other(database):
    held, free = new_population(database), new_population(database)
    with database.transaction() as session:
        ledger.reserve(
            session,
            population_id=held,
            job_id=uuid4(),
            charge=charge(0.1),
            mechanism_json={"v": 1},
            grant_id=None,
            clock=CLOCK,
        )
        with ThreadPoolExecutor(1) as pool:
            job = pool.submit(reserve, database, free, charge(0.1)).result(timeout=600)
        assert [entry.movement.job_id for entry in statement(database, free).movements] == [job]
        assert not statement(database, held).movements, "the other reservation is not committed yet"


def hold(database_url, population, job, word, ready):
    """In a process of its own: do a word of the ledger and never reach the commit."""
    with Database(database_url).transaction() as session:
        match word:
            case "reserve":
                ledger.reserve(
                    session,
                    population_id=population,
                    job_id=job,
                    charge=charge(0.6),
                    mechanism_json={"version": 1},
                    grant_id=None,
                    clock=CLOCK,
                )
            case "spend":
                ledger.spend(session, job, fence=1, clock=CLOCK)
            case "settle":
                ledger.settle(session, job, charge=charge(0.1), clock=CLOCK)
            case "void":
                ledger.void(session, job, clock=CLOCK)
        ready.send(word)
        threading.Event().wait()


@pytest.mark.parametrize("word", ["reserve", "spend", "settle", "void"])
def test_a_process_killed_before_its_commit_leaves_no_trace_and_no_lock(database, database_url, word):
    population = new_population(database, epsilon=1.0)
    job = uuid4()
    if word != "reserve":
        reserve(database, population, charge(0.6), job_id=job)
    if word == "settle":
        with database.transaction() as session:
            ledger.spend(session, job, fence=1, clock=CLOCK)
    before = statement(database, population)
    ready, ready_there = PROCESSES.Pipe(duplex=False)
    holder = PROCESSES.Process(target=hold, args=(database_url, population, job, word, ready_there))
    holder.start()
    assert ready.poll(60)
    assert ready.recv() == word
    holder.kill()
    holder.join()
    assert statement(database, population).entries == before.entries
    reserve(database, population, charge(0.4))
