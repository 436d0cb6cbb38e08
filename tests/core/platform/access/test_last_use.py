import threading
from datetime import timedelta

from sqlalchemy import event

from core.db.session import Database
from core.db.tables import ApiKey, BrowserSession
from core.platform.access.last_use import LastUse
from core.platform.access.roles import Role
from core.platform.access.sessions import BrowserSessions
from tests.core.platform.access.conftest import NOON, PEPPER


def issued(database, directory):
    with database.transaction() as session:
        row, key = directory.issue(session, name="a", roles=[Role.OWNER])
        return row.id, directory.find(session, key)


def last_used(database, key_id):
    with database.read_only() as session:
        return session.get_one(ApiKey, key_id).last_used_at


def test_a_use_is_noted_at_most_once_a_minute(database, directory, clock):
    key_id, known = issued(database, directory)
    assert last_used(database, key_id) is None
    last_use = LastUse(database, clock=clock)
    updates = []
    event.listen(
        database.engine,
        "before_cursor_execute",
        lambda *args: updates.append(args[2]) if args[2].startswith("UPDATE") else None,
    )
    for _ in range(50):
        last_use.note(known)
        clock.advance(seconds=1)
    assert (len(updates), last_used(database, key_id)) == (1, NOON)
    clock.advance(seconds=10)
    last_use.note(known)
    assert (len(updates), last_used(database, key_id)) == (2, NOON + timedelta(seconds=60))


def test_of_several_processes_one_writes(database, directory, clock):
    key_id, known = issued(database, directory)
    processes = [LastUse(database, clock=clock) for _ in range(8)]
    threads = [threading.Thread(target=process.note, args=(known,)) for process in processes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    clock.advance(seconds=30)
    LastUse(database, clock=clock).note(known)
    assert last_used(database, key_id) == NOON, "another process does not write again within the minute"


def test_a_row_that_somebody_holds_is_passed_over(database, directory, clock):
    key_id, known = issued(database, directory)
    with database.transaction() as session:
        directory.revoke(session, key_id, by=known.principal)
        LastUse(database, clock=clock).note(known)  # would wait for the lock for ever
    assert last_used(database, key_id) is None


def test_a_session_is_noted_with_its_key(database, directory, clock):
    sessions = BrowserSessions(
        pepper=PEPPER, clock=clock, entropy=bytes, longest=timedelta(hours=9), idle=timedelta(hours=1)
    )
    key_id, known = issued(database, directory)
    with database.transaction() as session:
        row, cookie = sessions.open(session, known)
    clock.advance(seconds=300)
    with database.read_only() as session:
        by_session = sessions.find(session, cookie)
    LastUse(database, clock=clock).note(by_session)
    with database.read_only() as session:
        assert session.get_one(BrowserSession, row.id).seen_at == clock.now()
    assert last_used(database, key_id) == clock.now()


def test_a_database_that_is_away_refuses_nobody(database, directory, clock):
    _, known = issued(database, directory)
    LastUse(Database("postgresql://nobody@127.0.0.1:1/nothing"), clock=clock).note(known)
