import os
from datetime import timedelta

import pytest

from core.db.tables import BrowserSession
from core.platform.access.directory import principal_of
from core.platform.access.errors import SessionRefused
from core.platform.access.roles import Role, Via
from core.platform.access.scopes import Scope
from core.platform.access.sessions import BrowserSessions
from tests.core.platform.access.conftest import NOON, PEPPER

LONGEST, IDLE = timedelta(hours=12), timedelta(minutes=30)


@pytest.fixture
def sessions(clock) -> BrowserSessions:
    return BrowserSessions(pepper=PEPPER, clock=clock, entropy=os.urandom, longest=LONGEST, idle=IDLE)


def opened(session, sessions, directory, **options):
    row, key = directory.issue(session, name="a", roles=[Role.OWNER], **options)
    _, cookie = sessions.open(session, directory.find(session, key))
    return row, cookie


def test_a_session_speaks_for_its_key(database, directory, sessions):
    with database.transaction() as session:
        row, cookie = opened(session, sessions, directory, scopes=[Scope.JOBS_READ])
        known = sessions.find(session, cookie)
    assert (known.principal.id, known.principal.key_id) == (row.principal_id, row.id)
    assert known.principal.scopes == {Scope.JOBS_READ}
    assert known.principal.via is Via.SESSION
    assert known.expires_at == NOON + LONGEST


def test_the_database_never_sees_cookie_or_token(database, directory, sessions):
    with database.transaction() as session:
        _, cookie = opened(session, sessions, directory)
        row = session.query(BrowserSession).one()
        stored = " ".join(str(value) for value in vars(row).values())
    for secret in (cookie, sessions.csrf_token(cookie)):
        assert len(secret) == 43
        assert secret not in stored
        assert secret.encode() not in row.digest


def test_a_session_ends_by_age_however_busy(database, directory, sessions, clock):
    with database.transaction() as session:
        _, cookie = opened(session, sessions, directory)
        for _ in range(60):
            clock.advance(seconds=12 * 60 - 0.01)
            session.query(BrowserSession).one().seen_at = clock.now()
            assert sessions.find(session, cookie)
        clock.advance(seconds=1)
        with pytest.raises(SessionRefused):
            sessions.find(session, cookie)


def test_a_session_ends_by_idleness(database, directory, sessions, clock):
    with database.transaction() as session:
        _, cookie = opened(session, sessions, directory)
        clock.advance(seconds=30 * 60 - 1)
        assert sessions.find(session, cookie)
        clock.advance(seconds=1)
        with pytest.raises(SessionRefused):
            sessions.find(session, cookie)


def test_a_session_ends_with_its_key(database, directory, sessions, clock):
    with database.transaction() as session:
        row, cookie = opened(session, sessions, directory)
        directory.revoke(session, row.id, by=principal_of(row))
        _, other = opened(session, sessions, directory, expires_at=NOON + timedelta(minutes=5))
        assert sessions.find(session, other).expires_at == NOON + timedelta(minutes=5)
        clock.advance(seconds=300)
        for ended in (cookie, other):
            with pytest.raises(SessionRefused):
                sessions.find(session, ended)


def test_a_session_is_ended_and_others_are_not(database, directory, sessions):
    with database.transaction() as session:
        _, cookie = opened(session, sessions, directory)
        _, other = opened(session, sessions, directory)
        sessions.end(session, cookie)
        sessions.end(session, cookie)
        with pytest.raises(SessionRefused):
            sessions.find(session, cookie)
        assert sessions.find(session, other)


@pytest.mark.parametrize("cookie", ["", "x", "A" * 43, "A" * 10_000, "\udcff", "ü\x00"], ids=str.__len__)
def test_an_invented_cookie_is_refused(database, sessions, cookie):
    with database.read_only() as session, pytest.raises(SessionRefused):
        sessions.find(session, cookie)


def test_a_token_belongs_to_one_session(sessions):
    token = sessions.csrf_token("one")
    assert sessions.proves(token, cookie="one")
    for wrong in ("", "one", token[:-1], token + "A", sessions.csrf_token("two"), "ü", "\udcff"):
        assert not sessions.proves(wrong, cookie="one")


def test_sessions_long_expired_are_deleted_at_the_next_login(database, directory, sessions, clock):
    with database.transaction() as session:
        opened(session, sessions, directory)
        clock.advance(seconds=36 * 3600)
        opened(session, sessions, directory)
        assert session.query(BrowserSession).count() == 2
        clock.advance(seconds=1)
        opened(session, sessions, directory)
        assert session.query(BrowserSession).count() == 2
