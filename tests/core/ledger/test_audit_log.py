"""The audit log and its chain on a real database: order, races, gaps, and every kind of tampering."""

import threading
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import create_engine, select, text

from core.db.errors import DatabaseRefused
from core.db.session import driver_url
from core.db.tables import AuditEvent
from core.ledger import audit_log
from core.ledger.audit_log import AUDIT_CHAIN, AuditFilter, Event, Link
from core.ledger.hash_chain import EMPTY, Head

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def append(session, action, *, actor="person/key", minute=0):
    audit_log.append(
        session,
        actor=actor,
        action=action,
        object="thing",
        outcome="done",
        at=NOON + timedelta(minutes=minute),
    )


def write(database, *actions):
    for action in actions:
        with database.transaction() as session:
            append(session, action)


def actions(database):
    with database.read_only() as session:
        return list(session.scalars(select(AuditEvent.action).order_by(AuditEvent.sequence)))


def verified(database, *witnesses):
    with database.read_only() as session:
        return audit_log.verify(session, witnesses=witnesses)


def head(database):
    with database.read_only() as session:
        return audit_log.head(session)


def linked(database):
    with database.read_only() as session:
        return [(link.position, link.event.action) for link in audit_log.links(session)]


@pytest.fixture
def tamper(database_url):
    """Statements of somebody with all rights on the database."""

    def tamper(*statements):
        engine = create_engine(driver_url(database_url), isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            for table in ("audit_events", "audit_links", "audit_unlinked"):
                connection.execute(text(f"ALTER TABLE {table} DISABLE TRIGGER ALL"))
            for statement in statements:
                assert connection.execute(text(statement)).rowcount > 0, "the tampering must have happened"
            for table in ("audit_events", "audit_links", "audit_unlinked"):
                connection.execute(text(f"ALTER TABLE {table} ENABLE TRIGGER ALL"))
        engine.dispose()

    return tamper


def test_events_are_kept_in_order(database):
    for action in ("budget.set", "job.ordered", "job.cancelled"):
        write(database, action)
    assert actions(database) == ["budget.set", "job.ordered", "job.cancelled"]


def test_what_was_rolled_back_was_not_done(database):
    def act_and_fail():
        with database.transaction() as session:
            audit_log.append(session, actor="a", action="b", object="c", outcome="done", at=NOON)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        act_and_fail()
    assert actions(database) == []


@pytest.mark.parametrize(
    "change", ["UPDATE audit_events SET outcome = 'x'", "DELETE FROM audit_events", "TRUNCATE audit_events"]
)
def test_nothing_is_changed_or_removed(database, change):
    write(database, "budget.set")
    with pytest.raises(DatabaseRefused), database.transaction() as session:
        session.execute(text(change))
    assert actions(database) == ["budget.set"]


def test_where_an_event_came_from_is_kept(database):
    with database.transaction() as session:
        audit_log.append(
            session,
            actor="a",
            action="b",
            object="c",
            outcome="done",
            at=NOON,
            client_address="::1",
            request_id="r",
        )
    with database.read_only() as session:
        event = session.scalars(select(AuditEvent)).one()
        assert (event.client_address, event.request_id) == ("::1", "r")


def test_events_are_linked_in_order_and_once(database):
    write(database, "a", "b", "c")
    assert verified(database).waiting == 3
    assert audit_log.link_waiting(database, batch=2) == 3
    assert audit_log.link_waiting(database) == 0
    assert linked(database) == [(1, "a"), (2, "b"), (3, "c")]
    found = verified(database)
    assert (found.intact, found.checked, found.waiting) == (True, 3, 0)
    assert found.head == head(database)


def test_an_empty_log_is_whole(database):
    assert audit_log.link_waiting(database) == 0
    assert verified(database).intact
    assert head(database) == EMPTY


def test_a_rolled_back_event_leaves_no_gap_in_the_chain(database):
    class Stop(Exception):
        pass

    def act_and_fail():
        with database.transaction() as session:
            append(session, "never")
            raise Stop

    write(database, "a")
    with pytest.raises(Stop):
        act_and_fail()
    write(database, "b")
    audit_log.link_waiting(database)
    assert linked(database) == [(1, "a"), (2, "b")]
    assert verified(database).intact


def test_an_event_that_commits_late_is_linked_late_and_not_lost(database):
    with database.transaction() as slow:
        append(slow, "early, committed late")
        write(database, "late, committed early")
        assert audit_log.link_waiting(database) == 1
    assert audit_log.link_waiting(database) == 1
    assert linked(database) == [(1, "late, committed early"), (2, "early, committed late")]
    assert verified(database).intact


def test_requests_do_not_wait_for_the_linker(database):
    with database.transaction() as linker:
        audit_log.lock_chain(linker)
        write(database, "a")  # would wait for the lock's timeout if it took the lock
    assert audit_log.link_waiting(database) == 1


def test_many_writers_and_linkers_make_one_chain(database):
    start = threading.Barrier(12)

    def work(number):
        start.wait()
        for turn in range(10):
            if number % 3:
                write(database, f"{number}-{turn}")
            else:
                audit_log.link_waiting(database, batch=7)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    audit_log.link_waiting(database)
    found = verified(database)
    assert (found.intact, found.checked, found.waiting) == (True, 80, 0)


@pytest.mark.parametrize(
    ("statement", "problem", "broken_at"),
    [
        ("UPDATE audit_events SET outcome = 'done!' WHERE sequence = 2", "changed", 2),
        ("UPDATE audit_events SET actor = 'other/key' WHERE sequence = 2", "changed", 2),
        ("UPDATE audit_events SET at = at + interval '1 microsecond' WHERE sequence = 2", "changed", 2),
        ("UPDATE audit_events SET client_address = '10.0.0.1' WHERE sequence = 2", "changed", 2),
        ("DELETE FROM audit_events WHERE sequence = 2", "event was removed", 2),
        ("DELETE FROM audit_links WHERE position = 2", "event is missing", 2),
        ("UPDATE audit_links SET event_sequence = 99 WHERE position = 2", "event was removed", 2),
        ("UPDATE audit_links SET previous_hash = hash WHERE position = 2", "broken", 2),
        ("DELETE FROM audit_links WHERE position = 4", "kept out of the chain", None),
        ("DELETE FROM audit_unlinked", "kept out of the chain", None),
        ("DELETE FROM audit_events WHERE sequence = 5", "before it was linked", None),
    ],
)
def test_tampering_is_found(database, tamper, statement, problem, broken_at):
    write(database, "a", "b", "c", "d")
    audit_log.link_waiting(database)
    write(database, "waits")
    tamper(statement)
    found = verified(database)
    assert not found.intact
    assert problem in found.problem
    assert found.broken_at == broken_at


def test_a_removed_end_is_found_by_a_head_that_was_noted_elsewhere(database, tamper):
    write(database, "a", "b", "c")
    audit_log.link_waiting(database)
    noted = head(database)
    assert verified(database, noted).intact
    tamper("DELETE FROM audit_links WHERE position > 1", "DELETE FROM audit_events WHERE sequence > 1")
    assert verified(database).intact, "in itself the rest is whole"
    assert verified(database, noted).problem == "events that were witnessed are missing"
    write(database, "x", "y", "z")
    audit_log.link_waiting(database)
    assert verified(database, noted).problem == "history differs from the one witnessed"


@pytest.mark.parametrize(
    "change", ["UPDATE audit_links SET position = 9", "DELETE FROM audit_links", "TRUNCATE audit_links"]
)
def test_links_are_never_changed_or_removed(database, change):
    write(database, "a")
    audit_log.link_waiting(database)
    with pytest.raises(DatabaseRefused), database.transaction() as session:
        session.execute(text(change))
    assert verified(database).checked == 1


def test_events_are_found_by_what_they_say(database):
    with database.transaction() as session:
        append(session, "job.order", actor="p1/k1", minute=1)
        append(session, "job.order", actor="p1/k2", minute=2)
        append(session, "key.create", actor="p2/k3", minute=3)

    def found(**wanted):
        with database.read_only() as session:
            rows = audit_log.page(session, AuditFilter(**wanted), limit=10, before=None)
            return [event.sequence for event, _ in rows]

    assert found() == [3, 2, 1]
    assert found(actor="p1") == [2, 1]
    assert found(actor="p1/k2") == [2]
    assert found(actor="p") == []
    assert found(action="job.order", at_from=NOON + timedelta(minutes=2)) == [2]
    assert found(at_to=NOON + timedelta(minutes=2)) == [1]
    assert found(object="thing", outcome="refused") == []
    with database.read_only() as session:
        assert [event.sequence for event, _ in audit_log.page(session, AuditFilter(), limit=1, before=2)] == [
            1
        ]


def test_the_hash_of_a_link_is_fixed():
    event = Event(
        sequence=7,
        at=NOON,
        actor="a/b",
        action="c",
        object="d",
        outcome="done",
        client_address=None,
        request_id=None,
    )
    link = Link.after(EMPTY, event)
    assert link.hash.hex() == "7db62237eca13b661bcb0be3e84494ac8d0afa7b189a6736a98295cb3b628eb8"
    assert AUDIT_CHAIN.verify([link], witnesses=[Head(sequence=1, hash=link.hash)]).intact
