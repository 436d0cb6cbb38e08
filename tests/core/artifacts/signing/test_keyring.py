import threading
from datetime import UTC, datetime

import pytest
from sqlalchemy import text

from core.artifacts.signing import keyring
from core.artifacts.signing.signed import verify
from core.clock import FixedClock
from core.data.errors import SealBroken
from core.data.master_keys import MasterKeys
from core.db.session import Database

CLOCK = FixedClock(datetime(2026, 3, 1, 12, tzinfo=UTC))
KEYS = MasterKeys(current=bytes(range(32)))
OTHER = MasterKeys(current=bytes(range(1, 33)))


@pytest.fixture
def database(database_url):
    database = Database(database_url, pool_size=4, max_overflow=60)
    yield database
    database.close()


def signer(database, master_keys=KEYS):
    with database.transaction() as session:
        return keyring.signer(session, master_keys=master_keys, clock=CLOCK)


def test_the_first_use_makes_the_key_and_later_ones_find_it(database):
    assert signer(database).key_id == signer(database).key_id
    with database.read_only() as session:
        (row,) = keyring.all_keys(session)
        assert row.created_at == CLOCK.now()
        assert row.retired_at is None


def test_many_first_users_get_one_key(database):
    found, start = [], threading.Barrier(16)

    def use():
        start.wait()
        found.append(signer(database).key_id)

    threads = [threading.Thread(target=use) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 16
    assert len(set(found)) == 1


def test_the_private_key_lies_sealed(database):
    private = signer(database).private_key.private_bytes_raw()
    with database.read_only() as session:
        (wrapped,) = session.scalars(text("SELECT wrapped_private_key FROM signing_keys")).all()
    assert private not in bytes(wrapped)
    with pytest.raises(SealBroken):
        signer(database, OTHER)


def test_a_retired_key_signs_no_more_but_still_verifies(database):
    with database.transaction() as session:
        assert keyring.retire(session, clock=CLOCK) is None
    old = signer(database)
    signed = old.sign({"a": 1}, context="test/1")
    with database.transaction() as session:
        assert keyring.retire(session, clock=CLOCK) == old.key_id
    new = signer(database)
    assert new.key_id != old.key_id
    with database.read_only() as session:
        known = keyring.public_keys(session)
    assert set(known) == {old.key_id, new.key_id}
    assert verify(signed, context="test/1", public_keys=known) == {"a": 1}
