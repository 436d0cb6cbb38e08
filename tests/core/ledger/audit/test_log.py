from datetime import UTC, datetime

import pytest
from sqlalchemy import select, text

from core.db.errors import DatabaseRefused
from core.db.tables import AuditEvent
from core.ledger.audit import log

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def write(database, action):
    with database.transaction() as session:
        log.append(session, actor="key-1", action=action, object="dataset-1", outcome="done", at=NOON)


def actions(database):
    with database.read_only() as session:
        return list(session.scalars(select(AuditEvent.action).order_by(AuditEvent.sequence)))


def test_events_are_kept_in_order(database):
    for action in ("budget.set", "job.ordered", "job.cancelled"):
        write(database, action)
    assert actions(database) == ["budget.set", "job.ordered", "job.cancelled"]


def test_what_was_rolled_back_was_not_done(database):
    def act_and_fail():
        with database.transaction() as session:
            log.append(session, actor="a", action="b", object="c", outcome="done", at=NOON)
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
        log.append(
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
