import os
from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from core.access.directory import KeyDirectory
from core.access.errors import KeyNotFound, KeyRefused
from core.access.keys import make_key, pepper_from
from core.access.roles import Role
from core.clock import FixedClock
from core.db.session import Database
from core.db.tables import ApiKey

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    yield database
    database.close()


@pytest.fixture
def directory() -> KeyDirectory:
    return KeyDirectory(pepper=pepper_from(b"m" * 32), clock=FixedClock(NOON), entropy=os.urandom)


def test_an_issued_key_is_recognised_with_its_roles(database, directory):
    with database.transaction() as session:
        row, key = directory.issue(session, name="a", roles=[Role.OWNER, Role.ANALYST])
    with database.read_only() as session:
        principal = directory.recognise(session, key.text)
    assert principal.key_id == row.id
    assert principal.id == row.principal_id
    assert principal.roles == {Role.OWNER, Role.ANALYST}
    assert principal.has(Role.ADMIN, Role.OWNER)
    assert not principal.has(Role.ADMIN)


def test_the_database_never_sees_the_key(database, directory):
    with database.transaction() as session:
        row, key = directory.issue(session, name="a", roles=[Role.OWNER])
    stored = " ".join(str(value) for value in vars(row).values())
    assert key.text not in stored
    assert key.text[12:] not in stored
    assert key.text.encode() not in row.digest


def test_unknown_malformed_and_wrong_keys_are_refused_alike(database, directory):
    with database.transaction() as session:
        _, key = directory.issue(session, name="a", roles=[Role.OWNER])
    twin = make_key(os.urandom).text
    same_prefix = key.text[:12] + twin[12:]
    with database.read_only() as session:
        for text in (twin, same_prefix, "nonsense", ""):
            with pytest.raises(KeyRefused):
                directory.recognise(session, text)


def test_keys_with_one_prefix_do_not_shadow_each_other(database, directory):
    keys = [make_key(os.urandom) for _ in range(2)]
    alike = type(keys[0])(keys[0].text[:12] + keys[1].text[12:])
    with database.transaction() as session:
        first = directory.register(session, keys[0], name="a", roles=[Role.OWNER])
        second = directory.register(session, alike, name="b", roles=[Role.ADMIN])
    with database.read_only() as session:
        assert directory.recognise(session, keys[0].text).key_id == first.id
        assert directory.recognise(session, alike.text).key_id == second.id


def test_a_key_of_another_master_key_is_refused(database, directory):
    other = KeyDirectory(pepper=pepper_from(b"n" * 32), clock=FixedClock(NOON), entropy=os.urandom)
    with database.transaction() as session:
        _, key = other.issue(session, name="a", roles=[Role.OWNER])
    with database.read_only() as session, pytest.raises(KeyRefused):
        directory.recognise(session, key.text)


def test_a_revoked_key_is_refused_and_its_rotated_sibling_is_not(database, directory):
    with database.transaction() as session:
        old, old_key = directory.issue(session, name="old", roles=[Role.OWNER])
        _, new_key = directory.issue(session, name="new", roles=[Role.OWNER], principal_id=old.principal_id)
        directory.revoke(session, old.id)
    with database.read_only() as session:
        with pytest.raises(KeyRefused):
            directory.recognise(session, old_key.text)
        assert directory.recognise(session, new_key.text).id == old.principal_id


def test_revoking_twice_keeps_the_first_time_and_revoking_nothing_is_told(database):
    clock = FixedClock(NOON)
    directory = KeyDirectory(pepper=pepper_from(b"m" * 32), clock=clock, entropy=os.urandom)
    with database.transaction() as session:
        row, _ = directory.issue(session, name="a", roles=[Role.OWNER])
        directory.revoke(session, row.id)
    clock.advance(seconds=60)
    with database.transaction() as session:
        assert directory.revoke(session, row.id).revoked_at == NOON
        with pytest.raises(KeyNotFound):
            directory.revoke(session, uuid4())


def test_registering_a_key_again_finds_it(database, directory):
    key = make_key(os.urandom)
    with database.transaction() as session:
        first = directory.register(session, key, name="a", roles=[Role.OWNER])
    with database.transaction() as session:
        assert directory.register(session, key, name="a", roles=[Role.OWNER]).id == first.id
        assert session.query(ApiKey).count() == 1
