from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID, uuid4

import psycopg
import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import StatementError

from core.db.errors import DatabaseBusy, DatabaseRefused, DatabaseUnavailable, ReadOnlyTransaction
from core.db.session import Database, driver_url, on_commit
from core.db.tables import Budget

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def budget(**values):
    return Budget(population_id=uuid4(), rule="filters", created_at=NOON, **values)


def count(database):
    with database.read_only() as session:
        return session.execute(text("SELECT count(*) FROM budgets")).scalar_one()


def in_transaction(database, *steps):
    with database.transaction() as session:
        for step in steps:
            step(session)


def fail(session):
    raise RuntimeError


def test_returning_commits(database):
    in_transaction(database, lambda session: session.add(budget()))
    assert count(database) == 1


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, GeneratorExit])
def test_raising_rolls_back(database, error):
    def fall_over(session):
        session.add(budget())
        session.flush()
        raise error

    with pytest.raises(error):
        in_transaction(database, fall_over)
    assert count(database) == 0


def test_a_commit_that_fails_is_an_error(database):
    with pytest.raises(DatabaseRefused):
        in_transaction(database, lambda session: session.add(budget(head_sequence=-1)))
    assert count(database) == 0


class TestHooks:
    def test_they_run_after_the_commit_in_order(self, database):
        seen = []
        with database.transaction() as session:
            session.add(budget())
            on_commit(session, lambda: seen.append(("first", count(database))))
            on_commit(session, lambda: seen.append(("second", count(database))))
            session.flush()
            assert seen == []
        assert seen == [("first", 1), ("second", 1)]

    def test_a_rollback_drops_them(self, database):
        seen = []
        with pytest.raises(RuntimeError):
            in_transaction(database, lambda session: on_commit(session, lambda: seen.append(1)), fail)
        assert seen == []

    def test_a_failed_commit_drops_them(self, database):
        seen = []
        with pytest.raises(DatabaseRefused):
            in_transaction(
                database,
                lambda session: on_commit(session, lambda: seen.append(1)),
                lambda session: session.add(budget(head_sequence=-1)),
            )
        assert seen == []

    def test_a_broken_one_harms_neither_the_work_nor_the_others(self, database):
        seen = []
        in_transaction(
            database,
            lambda session: session.add(budget()),
            lambda session: on_commit(session, lambda: 1 / 0),
            lambda session: on_commit(session, lambda: seen.append(1)),
        )
        assert seen == [1]
        assert count(database) == 1

    def test_a_hook_may_open_its_own_transaction(self, database):
        small = Database(
            str(database.engine.url.render_as_string(hide_password=False)), pool_size=1, max_overflow=0
        )
        hook = lambda: in_transaction(small, lambda session: session.add(budget()))  # noqa: E731 - one line
        in_transaction(small, lambda session: on_commit(session, hook))
        assert count(database) == 1
        small.close()

    def test_a_read_only_transaction_takes_none(self, database):
        with database.read_only() as session, pytest.raises(ReadOnlyTransaction):
            on_commit(session, lambda: None)


class TestReadOnly:
    def test_the_server_refuses_writes(self, database):
        with pytest.raises(DatabaseRefused), database.read_only() as session:
            session.execute(text("DELETE FROM budgets"))

    def test_the_next_writer_on_the_same_connection_may_write(self, database):
        one = Database(
            str(database.engine.url.render_as_string(hide_password=False)), pool_size=1, max_overflow=0
        )
        with one.read_only() as session:
            session.execute(text("SELECT 1"))
        in_transaction(one, lambda session: session.add(budget()))
        with one.transaction() as session:
            assert session.execute(text("SHOW transaction_isolation")).scalar_one() == "read committed"
        one.close()

    def test_it_is_one_snapshot(self, database):
        with database.read_only() as session:
            before = session.execute(text("SELECT count(*) FROM budgets")).scalar_one()
            in_transaction(database, lambda other: other.add(budget()))
            assert session.execute(text("SELECT count(*) FROM budgets")).scalar_one() == before
        assert count(database) == before + 1

    def test_it_never_commits(self, database):
        with database.read_only() as session:
            session.add(budget())
        assert count(database) == 0


def backend(session):
    return session.execute(text("SELECT pg_backend_pid()")).scalar_one()


class TestAutocommitRead:
    def test_the_server_refuses_writes(self, database):
        with pytest.raises(DatabaseRefused):
            database.autocommit_read(lambda session: session.execute(text("DELETE FROM budgets")))
        with pytest.raises(ReadOnlyTransaction):
            database.autocommit_read(lambda session: on_commit(session, lambda: None))

    def test_each_statement_sees_what_is_committed_when_it_begins(self, database):
        def look_twice(session):
            before = session.scalar(text("SELECT count(*) FROM budgets"))
            in_transaction(database, lambda other: other.add(budget()))
            return session.scalar(text("SELECT count(*) FROM budgets")) - before

        assert database.autocommit_read(look_twice) == 1

    def test_it_leaves_no_transaction_behind_and_keeps_what_it_read(self, database):
        in_transaction(database, lambda session: session.add(budget(epsilon_cap=1.0, delta_cap=0.5)))
        row = database.autocommit_read(lambda session: session.scalars(select(Budget)).one())
        assert row.epsilon_cap == 1.0
        pid = database.autocommit_read(backend)
        question = text("SELECT state FROM pg_stat_activity WHERE pid = :pid")
        with database.transaction() as session:
            assert session.execute(question, {"pid": pid}).scalar_one() == "idle"

    def test_connections_that_died_meanwhile_are_replaced_unseen(self, database):
        pid = database.autocommit_read(backend)
        with database.transaction() as session:
            session.execute(text("SELECT pg_terminate_backend(:pid, 10000)"), {"pid": pid})
        assert database.autocommit_read(backend) != pid

    def test_a_server_that_is_not_there(self):
        database = Database("postgresql://nobody@/nothing?host=/nowhere")
        with pytest.raises(DatabaseUnavailable):
            database.autocommit_read(backend)


class TestErrors:
    def test_a_lock_that_is_not_given_in_time(self, database):
        in_transaction(database, lambda session: session.add(budget()))
        with database.transaction() as holder:
            holder.execute(text("SELECT * FROM budgets FOR UPDATE"))
            with pytest.raises(DatabaseBusy) as refusal:
                in_transaction(
                    database,
                    lambda session: session.execute(text("SET LOCAL lock_timeout = '50ms'")),
                    lambda session: session.execute(text("SELECT * FROM budgets FOR UPDATE")),
                )
        assert refusal.value.status == 503
        assert refusal.value.__cause__ is None

    def test_a_server_that_is_not_there(self):
        database = Database("postgresql://nobody@/nothing?host=/nowhere")
        with pytest.raises(DatabaseUnavailable), database.transaction() as session:
            session.execute(text("SELECT 1"))
        with pytest.raises(DatabaseUnavailable), database.read_only():
            pass

    def test_a_connection_that_is_killed_leaves_nothing_and_the_pool_recovers(self, database):
        def is_killed(session):
            session.add(budget())
            session.flush()
            pid = session.execute(text("SELECT pg_backend_pid()")).scalar_one()
            with database.engine.connect() as other:
                other.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": pid})

        with pytest.raises(DatabaseUnavailable):
            in_transaction(database, is_killed, lambda session: session.execute(text("SELECT 1")))
        with pytest.raises(DatabaseUnavailable):
            in_transaction(database, is_killed)
        with pytest.raises(RuntimeError):
            in_transaction(database, is_killed, fail)
        assert count(database) == 0

    def test_neither_values_nor_the_drivers_words_are_logged(self, database):
        canary = UUID("cafecafe-0000-4000-8000-00000000cafe")
        row = {"population_id": canary, "rule": "canary-rule", "created_at": NOON}
        with pytest.raises(DatabaseRefused) as refusal:
            in_transaction(database, lambda session: session.add(Budget(**row)))
        told = f"{refusal.value!r} {refusal.value.detail} {refusal.value.facts}"
        assert "canary" not in told
        assert "cafe" not in told
        assert refusal.value.__cause__ is None


class TestTimes:
    def test_they_come_back_as_aware_utc(self, database):
        east = NOON.astimezone(timezone(timedelta(hours=9)))
        in_transaction(database, lambda session: session.add(Budget(rule="basic", created_at=east)))
        with database.read_only() as session:
            session.execute(text("SET LOCAL timezone = 'Asia/Tokyo'"))
            found = session.scalars(select(Budget.created_at)).one()
        assert found == NOON
        assert found.tzinfo is UTC

    def test_naive_ones_are_refused(self, database):
        naive = NOON.replace(tzinfo=None)
        with pytest.raises(StatementError):
            in_transaction(database, lambda session: session.add(Budget(rule="basic", created_at=naive)))


@pytest.mark.parametrize("spelling", ["postgresql", "postgresql+psycopg", "postgres"])
def test_every_spelling_means_psycopg_3(spelling):
    assert (
        driver_url(f"{spelling}://u:p@h/d").render_as_string(hide_password=False)
        == "postgresql+psycopg://u:p@h/d"
    )
    assert psycopg.__version__.startswith("3")


@pytest.mark.parametrize("state", ["53100", "58030", "XX000"])
def test_a_server_with_a_full_or_broken_disk_is_away_and_has_not_refused(database, state):
    broken = text(f"DO $$ BEGIN RAISE EXCEPTION 'a private value' USING ERRCODE = '{state}'; END $$")
    with pytest.raises(DatabaseUnavailable) as failure, database.transaction() as session:
        session.execute(broken)
    assert "private" not in str(failure.value)
