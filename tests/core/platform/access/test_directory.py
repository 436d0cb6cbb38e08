import os
from datetime import UTC, datetime, timedelta, timezone
from uuid import uuid4

import pytest

from core.clock import FixedClock
from core.db.tables import ApiKey, Person
from core.platform.access.directory import KeyDirectory
from core.platform.access.errors import ExpiryRefused, KeyEnded, KeyNotFound, KeyRefused
from core.platform.access.keys import make_key, pepper_from
from core.platform.access.roles import Principal, Role
from core.platform.access.scopes import Scope
from tests.core.platform.access.conftest import NOON


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
        directory.revoke(session, old.id, by=admin())
    with database.read_only() as session:
        with pytest.raises(KeyRefused):
            directory.recognise(session, old_key.text)
        assert directory.recognise(session, new_key.text).id == old.principal_id


def test_revoking_twice_keeps_the_first_time_and_revoking_nothing_is_refused(database, directory, clock):
    with database.transaction() as session:
        row, _ = directory.issue(session, name="a", roles=[Role.OWNER])
        directory.revoke(session, row.id, by=admin())
    clock.advance(seconds=60)
    with database.transaction() as session:
        assert directory.revoke(session, row.id, by=admin()).revoked_at == NOON
        with pytest.raises(KeyNotFound):
            directory.revoke(session, uuid4(), by=admin())


def test_registering_a_key_again_finds_it(database, directory):
    key = make_key(os.urandom)
    with database.transaction() as session:
        first = directory.register(session, key, name="a", roles=[Role.OWNER])
    with database.transaction() as session:
        assert directory.register(session, key, name="a", roles=[Role.OWNER]).id == first.id
        assert session.query(ApiKey).count() == 1
        session.get_one(ApiKey, first.id).enrolment_id = None
        session.get_one(Person, first.principal_id).enrolled_at = None
    with database.transaction() as session:
        again = directory.register(session, key, name="a", roles=[Role.OWNER])
        assert again.enrolment_id == again.principal_id, (
            "registered before there were enrolments: enrolled now"
        )
        assert session.get_one(Person, again.principal_id, populate_existing=True).enrolled_at == NOON


def test_a_key_ends_at_its_moment(database, directory, clock):
    with database.transaction() as session:
        _, key = directory.issue(
            session, name="a", roles=[Role.OWNER], expires_at=NOON + timedelta(seconds=60)
        )
    clock.advance(seconds=59.9)
    with database.read_only() as session:
        assert directory.recognise(session, key.text).has(Role.OWNER)
        clock.advance(seconds=0.1)
        with pytest.raises(KeyRefused):
            directory.recognise(session, key.text)


@pytest.mark.parametrize(
    "expires_at",
    [
        NOON,
        NOON - timedelta(days=1),
        NOON + timedelta(days=3651),
        datetime(9999, 12, 31, 23, 59, tzinfo=timezone(-timedelta(hours=14))),
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
        datetime.max.replace(tzinfo=UTC),
    ],
    ids=["now", "past", "too far", "end of time", "beginning of time", "maximum"],
)
def test_a_key_does_not_end_in_the_past_nor_too_far_away(database, directory, expires_at):
    with database.transaction() as session, pytest.raises(ExpiryRefused):
        directory.issue(session, name="a", roles=[Role.OWNER], expires_at=expires_at)


def admin() -> Principal:
    return Principal(id=uuid4(), key_id=uuid4(), roles=frozenset({Role.ADMIN}))


def holder(row: ApiKey) -> Principal:
    """Whoever presents this key."""
    return Principal(id=row.principal_id, key_id=row.id, roles=frozenset(map(Role, row.roles)))


HOUR = timedelta(hours=1)


def test_both_secrets_work_for_the_overlap_then_only_the_new_one(database, directory, clock):
    with database.transaction() as session:
        row, old_key = directory.issue(
            session,
            name="a",
            roles=[Role.OWNER, Role.ANALYST],
            scopes=[Scope.JOBS_READ],
            expires_at=NOON + timedelta(days=30),
        )
    clock.advance(seconds=10 * 24 * 3600)
    with database.transaction() as session:
        old, new, new_key = directory.rotate(session, row.id, by=holder(row), overlap=HOUR)
    assert (new.name, new.roles, new.scopes) == (row.name, row.roles, row.scopes)
    assert new.principal_id == row.principal_id
    assert (old.replaced_by, old.expires_at) == (new.id, clock.now() + HOUR)
    assert new.expires_at == NOON + timedelta(days=30), "it does not prolong its life"
    assert new.enrolment_id == old.enrolment_id
    assert new_key.text != old_key.text
    with database.read_only() as session:
        before = directory.recognise(session, old_key.text)
        after = directory.recognise(session, new_key.text)
        assert (before.id, before.roles, before.scopes) == (after.id, after.roles, after.scopes)
        clock.advance(seconds=3600)
        with pytest.raises(KeyRefused):
            directory.recognise(session, old_key.text)
        assert directory.recognise(session, new_key.text).key_id == new.id


def test_a_key_that_rotates_itself_does_not_live_longer(database, directory, clock):
    with database.transaction() as session:
        row, key = directory.issue(
            session, name="a", roles=[Role.OWNER], expires_at=NOON + timedelta(minutes=30)
        )
        itself = directory.recognise(session, key.text)
        old, new, _ = directory.rotate(session, row.id, by=itself, overlap=HOUR)
        assert (old.expires_at, new.expires_at) == (row.expires_at, row.expires_at)
        assert new.expires_at == NOON + timedelta(minutes=30)


def test_a_key_without_end_stays_without_end(database, directory):
    with database.transaction() as session:
        row, _ = directory.issue(session, name="a", roles=[Role.OWNER])
        old, new, _ = directory.rotate(session, row.id, by=holder(row), overlap=HOUR)
        assert (old.expires_at, new.expires_at) == (NOON + HOUR, None)


def test_a_key_does_not_rotate_its_sibling(database, directory):
    """Else a key of an analyst could take over the owner's key of the same principal."""
    with database.transaction() as session:
        mighty, _ = directory.issue(session, name="a", roles=[Role.OWNER])
        _, small = directory.issue(session, name="b", roles=[Role.ANALYST], principal_id=mighty.principal_id)
        by = directory.recognise(session, small.text)
        with pytest.raises(KeyNotFound):
            directory.rotate(session, mighty.id, by=by, overlap=HOUR)
        with pytest.raises(KeyNotFound):
            directory.rotate(session, mighty.id, by=admin(), overlap=HOUR)
        with pytest.raises(KeyNotFound):
            directory.rotate(session, uuid4(), by=admin(), overlap=HOUR)


def test_what_has_ended_is_not_rotated(database, directory, clock):
    with database.transaction() as session:
        revoked, _ = directory.issue(session, name="a", roles=[Role.OWNER])
        directory.revoke(session, revoked.id, by=admin())
        expired, _ = directory.issue(session, name="a", roles=[Role.OWNER], expires_at=NOON + HOUR)
        replaced, _ = directory.issue(session, name="a", roles=[Role.OWNER])
        directory.rotate(session, replaced.id, by=holder(replaced), overlap=10 * HOUR)
        clock.advance(seconds=3600)
        for row in (revoked, expired, replaced):
            with pytest.raises(KeyEnded):
                directory.rotate(session, row.id, by=holder(row), overlap=HOUR)
