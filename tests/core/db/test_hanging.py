"""Waits for Postgres end where the server hangs, and only there."""

import threading
import time
from collections.abc import Callable

import psycopg
import pytest
from sqlalchemy import text

from core.db import hanging
from core.db.errors import DatabaseBusy, DatabaseUnavailable
from core.db.hanging import CONNECT_SECONDS, PATIENCE_SECONDS, ServerHangs, ServerWatch
from core.db.session import Database
from tests.core.db.stopping import stopped
from understudy.embedded.postgres import PostgresServer

LONGEST = PATIENCE_SECONDS + CONNECT_SECONDS


def one(database: Database) -> object:
    with database.transaction() as session:
        return session.scalar(text("SELECT 1"))


def test_statements_commits_and_autocommit_reads_end_and_nothing_stays_open(
    database: Database, database_url: str, postgres_server: PostgresServer
) -> None:
    begun, ended = threading.Barrier(4), []

    def inside(work: Callable[[], object]) -> None:
        begun.wait(timeout=60)
        began = time.monotonic()
        with pytest.raises(DatabaseUnavailable) as refusal:
            work()
        ended.append((time.monotonic() - began, refusal.value.detail))

    def commit() -> None:
        with database.transaction() as session:
            session.execute(text("CREATE TABLE hung (number integer)"))
            held.wait(timeout=60)

    def statement() -> None:
        with database.transaction() as session:
            session.execute(text("SELECT 1"))
            held.wait(timeout=60)
            session.execute(text("SELECT 2"))

    def autocommit_read() -> None:
        held.wait(timeout=60)
        database.autocommit_read(lambda session: session.scalar(text("SELECT 1")))

    held = threading.Event()
    threads = [threading.Thread(target=inside, args=(work,)) for work in (commit, statement, autocommit_read)]
    database.autocommit_read(lambda session: session.scalar(text("SELECT 1")))
    for thread in threads:
        thread.start()
    begun.wait(timeout=60)
    time.sleep(0.5)
    with stopped(postgres_server):
        held.set()
        for thread in threads:
            thread.join(timeout=120)
    assert len(ended) == 3
    # Each of them waits at most for one verdict and one connection.
    assert max(seconds for seconds, _ in ended) < 2 * LONGEST + 1
    assert sum("not known whether the change was made" in detail for _, detail in ended) == 1
    # Nobody waits in the middle of connecting: that would keep the server's place for a minute.
    began = time.monotonic()
    while True:
        time.sleep(0.1)
        try:
            assert one(database) == 1
        except DatabaseUnavailable:
            assert time.monotonic() - began < 60
        else:
            break
    with psycopg.connect(database_url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute("SET statement_timeout = '20s'")
        # Waits for every process of the server to answer.
        connection.execute("CREATE DATABASE hung_after STRATEGY FILE_COPY")
        connection.execute("DROP DATABASE hung_after WITH (FORCE)")


def test_a_connection_that_cannot_be_had_is_given_up(
    database_url: str, postgres_server: PostgresServer
) -> None:
    fresh = Database(database_url, pool_size=1, max_overflow=0)
    with stopped(postgres_server):
        began = time.monotonic()
        with pytest.raises(DatabaseUnavailable):
            one(fresh)
        assert time.monotonic() - began < LONGEST
        again = time.monotonic()
        with pytest.raises(DatabaseUnavailable):
            one(fresh)
        # Known to hang: nobody waits.
        assert time.monotonic() - again < 1
    time.sleep(hanging.REFUSED_SECONDS)
    assert one(fresh) == 1
    fresh.close()


def test_a_wait_for_a_lock_goes_on_while_the_server_answers_others(database: Database) -> None:
    with database.transaction() as session:
        session.execute(text("CREATE TABLE locked (number integer)"))
    waited: list[float] = []

    def wait() -> None:
        began = time.monotonic()
        with database.transaction() as session:
            session.execute(text("LOCK TABLE locked"))
        waited.append(time.monotonic() - began)

    with database.transaction() as session:
        session.execute(text("LOCK TABLE locked"))
        waiter = threading.Thread(target=wait)
        waiter.start()
        time.sleep(2 * PATIENCE_SECONDS + 0.5)
    waiter.join(timeout=60)
    assert len(waited) == 1
    assert waited[0] >= 2 * PATIENCE_SECONDS


def test_the_server_ends_statements_that_take_too_long(database_url: str) -> None:
    short = Database(database_url, pool_size=1, max_overflow=0, statement_seconds=0.2)
    with pytest.raises(DatabaseBusy), short.transaction() as session:
        session.execute(text("SELECT pg_sleep(30)"))
    assert one(short) == 1
    short.close()


def test_upkeep_may_take_longer_than_requests(database_url: str) -> None:
    for given, told in ({}, "45s"), ({"statement_seconds": 3600.0}, "1h"):
        database = Database(database_url, pool_size=1, max_overflow=0, **given)
        with database.transaction() as session:
            assert session.scalar(text("SHOW statement_timeout")) == told
        database.close()


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def watch(clock: Clock) -> ServerWatch:
    return ServerWatch(statement_seconds=45, monotonic=clock)


def test_a_connection_that_alone_is_not_answered_is_given_up_after_the_servers_own_limit(
    watch: ServerWatch, clock: Clock
) -> None:
    since = clock.now
    for _ in range(50):
        clock.now += 1
        watch.probe(since=since, ask=watch.answered)
    clock.now += 1
    with pytest.raises(ServerHangs):
        watch.probe(since=since, ask=watch.answered)


def test_the_server_is_asked_only_where_nobody_was_answered_for_a_while(
    watch: ServerWatch, clock: Clock
) -> None:
    asked: list[float] = []

    def ask() -> None:
        asked.append(clock.now)
        watch.answered()

    since = clock.now
    for _ in range(100):
        clock.now += 0.1
        if clock.now < since + 5:
            watch.answered()  # somebody else is
        watch.probe(since=since, ask=ask)
    assert [round(at - since) for at in asked] == [7, 9]
