"""The lock and the entry at the head come together, however long one waited for the lock."""

import threading
from uuid import uuid4

import pytest
from sqlalchemy import text

from core.ledger import ledger
from core.ledger.errors import PopulationNotFound
from tests.core.ledger.support import CLOCK, charge, new_population, reserve


def test_who_waited_sees_the_entry_that_was_appended_meanwhile(database):
    population, job_id, seen = new_population(database, epsilon=9.0), uuid4(), []

    def wait_for_the_lock(pids):
        with database.transaction() as session:
            pids.append(session.execute(text("SELECT pg_backend_pid()")).scalar_one())
            seen.append(ledger.lock(session, population, job_id=job_id))

    pids: list[int] = []
    waiter = threading.Thread(target=wait_for_the_lock, args=(pids,))
    blocked = text("SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = :pid")
    with database.transaction() as session:
        before = ledger.lock(session, population, job_id=job_id)
        assert not before.job_is_known
        waiter.start()
        with database.transaction() as watcher:
            while not (pids and watcher.execute(blocked, {"pid": pids[0]}).scalar_one()):
                watcher.execute(text("SELECT pg_stat_clear_snapshot()"))
        ledger.reserve(
            session, population_id=population, job_id=job_id, charge=charge(0.1), mechanism_json={},
            grant_id=None, clock=CLOCK,
        )  # fmt: skip
    waiter.join()
    (after,) = seen
    assert after.head_sequence == before.head_sequence + 1
    assert after.last is not None
    assert after.last.head.hash == after.head_hash
    assert after.job_is_known


def test_an_entry_that_is_gone_is_missing_not_taken_for_another(database):
    population = new_population(database, epsilon=9.0)
    reserve(database, population, charge(0.1))
    with database.transaction() as session:
        session.execute(text("ALTER TABLE ledger_entries DISABLE TRIGGER ALL"))
        session.execute(text("DELETE FROM ledger_entries WHERE sequence = 2"))
        locked = ledger.lock(session, population)
    assert locked.head_sequence == 2
    assert locked.last is None


def test_a_population_without_a_budget(database):
    with pytest.raises(PopulationNotFound), database.transaction() as session:
        ledger.lock(session, uuid4())
