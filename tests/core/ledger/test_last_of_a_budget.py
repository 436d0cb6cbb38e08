"""Two hundred clients in several processes fight for the last of a budget: seven times daily, a hundred times in `make check-long`."""

import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from uuid import UUID, uuid4

import pytest

from core.db.session import Database
from core.errors import BudgetRefused
from core.ledger import ledger, ledger_queries
from core.ledger.reservation import EntryKind
from tests.core.ledger.support import CLOCK, MECHANISM, charge, new_population

FORK = multiprocessing.get_context("fork")
PROCESSES, CLIENTS_EACH, CONNECTIONS_EACH = 4, 50, 8
JOB_EPSILON = 0.1


def fight(url: str, orders: Connection) -> None:
    """In a process of its own: in every round fifty clients set off together; report who was admitted."""
    database = Database(url, pool_size=CONNECTIONS_EACH, max_overflow=0, pool_timeout_seconds=300)
    gate = threading.Barrier(CLIENTS_EACH)

    def client(population: UUID) -> UUID | None:
        job = uuid4()
        gate.wait()
        try:
            with database.transaction() as session:
                ledger.reserve(
                    session,
                    population_id=population,
                    job_id=job,
                    charge=charge(JOB_EPSILON),
                    mechanism_json=MECHANISM,
                    grant_id=None,
                    clock=CLOCK,
                )
        except BudgetRefused:
            return None
        return job

    with ThreadPoolExecutor(CLIENTS_EACH) as pool:
        while (population := orders.recv()) is not None:
            orders.send([job for job in pool.map(client, [population] * CLIENTS_EACH) if job is not None])
    database.close()


@pytest.mark.parametrize("rounds", [7, pytest.param(100, marks=pytest.mark.long)])
def test_exactly_as_many_are_admitted_as_fit_in_every_round(database, database_url, rounds):
    ends = [FORK.Pipe() for _ in range(PROCESSES)]
    fighters = [FORK.Process(target=fight, args=(database_url, theirs), daemon=True) for _, theirs in ends]
    for fighter in fighters:
        fighter.start()
    try:
        for number in range(rounds):
            fits = number % 7 + 1
            population = new_population(database, epsilon=fits * JOB_EPSILON + 0.05)
            for ours, _ in ends:
                ours.send(population)
            admitted = [job for ours, _ in ends for job in ours.recv()]
            assert len(admitted) == fits, f"round {number}"
            with database.read_only() as session:
                assert ledger_queries.verify_chain(session, population).intact
                shown = ledger_queries.statement(session, population)
            assert {entry.movement.job_id for entry in shown.movements} == set(admitted)
            assert {entry.kind for entry in shown.movements} == {EntryKind.RESERVED}
    finally:
        for ours, _ in ends:
            ours.send(None)
        for fighter in fighters:
            fighter.join(60)
            fighter.kill()
