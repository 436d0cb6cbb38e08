"""Connections are probed after idling, and only then."""

import pytest
from sqlalchemy import text

from core.db import session as sessions
from core.db.errors import DatabaseUnavailable


def own_pid(database):
    with database.transaction() as session:
        return session.execute(text("SELECT pg_backend_pid()")).scalar_one()


class Clock:
    """Moves when told."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(sessions, "time", clock)
    return clock


@pytest.fixture
def probes(database, monkeypatch):
    counted = []
    probe = database.engine.dialect.do_ping
    monkeypatch.setattr(
        database.engine.dialect, "do_ping", lambda connection: counted.append(1) or probe(connection)
    )
    return counted


def test_a_connection_used_a_moment_ago_is_not_probed(database, clock, probes):
    pid = own_pid(database)
    clock.now += 0.5
    assert own_pid(database) == pid
    assert probes == []


def test_one_that_idled_is_probed_and_kept(database, clock, probes):
    pid = own_pid(database)
    clock.now += 2.0
    assert own_pid(database) == pid
    assert probes == [1]


def test_one_that_died_while_idle_is_replaced_unseen(database, clock):
    pid = own_pid(database)
    with database.transaction() as killer:  # takes the idle one, so that another one is killed
        mine = killer.execute(text("SELECT pg_backend_pid()")).scalar_one()
        assert mine == pid
        other = own_pid(database)
        killer.execute(text("SELECT pg_terminate_backend(:pid, 10000)"), {"pid": other})
    clock.now += 2.0
    assert own_pid(database) != other
    assert own_pid(database) != other


def test_one_that_died_a_moment_ago_fails_that_transaction_and_no_further_one(database, clock):
    with database.transaction() as killer:
        killer.execute(text("SELECT 1"))
        other = own_pid(database)
        killer.execute(text("SELECT pg_terminate_backend(:pid, 10000)"), {"pid": other})
        with pytest.raises(DatabaseUnavailable):
            own_pid(database)
        assert own_pid(database) != other
