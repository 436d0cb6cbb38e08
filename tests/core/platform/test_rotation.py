"""Rotation on a real database, with a dataset that has rows, a signing key and API keys."""

import os
import threading
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import SecretStr
from sqlalchemy import select, text

from core.artifacts.signing import keyring
from core.clock import FixedClock
from core.data.errors import SealBroken
from core.data.master_keys import MasterKeys
from core.data.sealing import unwrap
from core.db.tables import Dataset, NotificationEndpoint
from core.platform import rotation
from core.platform.access.directory import KeyDirectory, principal_of
from core.platform.access.keys import pepper_from
from core.platform.access.pepper import kept_pepper
from core.platform.access.roles import Role
from core.platform.notifications.details import Details
from core.platform.notifications.registering import Registry
from service.rotate_master_key import main
from tests.workers.support import Workshop
from workers.assignment import read_assignment

CLOCK = FixedClock(datetime(2026, 3, 1, 12, tzinfo=UTC))
NEW = bytes.fromhex("5a" * 31 + "77")


@pytest.fixture
def workshop(settings):
    workshop = Workshop(settings, clock=CLOCK)
    yield workshop
    workshop.close()


@pytest.fixture
def old(settings):
    return settings.master_keys


@pytest.fixture
def both(old):
    return MasterKeys(current=NEW, previous=old.current)


def pepper(workshop, keys):
    with workshop.database.transaction() as session:
        return kept_pepper(session, master_keys=keys, clock=CLOCK)


def signer(workshop, keys):
    with workshop.database.transaction() as session:
        return keyring.signer(session, master_keys=keys, clock=CLOCK)


def data_key(workshop, keys):
    with workshop.database.read_only() as session:
        wrapped = session.scalars(select(Dataset.wrapped_data_key)).one()
    return keys.unwrap(wrapped, context=f"dataset:{workshop.dataset_id}")


def test_afterwards_the_new_key_alone_opens_everything_and_the_old_one_nothing(workshop, old, both):
    job_id = workshop.order()
    kept, signs = pepper(workshop, old), signer(workshop, old).key_id
    directory = KeyDirectory(pepper=kept, clock=CLOCK, entropy=os.urandom)
    with workshop.database.transaction() as session:
        row, api_key = directory.issue(session, name="a", roles=[Role.OWNER])
        registry = Registry(
            master_keys=old, clock=CLOCK, entropy=os.urandom, limit=10, overlap=timedelta(days=1)
        )
        endpoint, details = registry.register(
            session, principal_of(row), channel="webhook", target="https://example.org/", kinds=()
        )
    assert pepper(workshop, both) == kept, "during the rotation both keys will do"
    assert data_key(workshop, both) == workshop.data_key
    assert rotation.remaining(workshop.database, both) == 4
    assert [progress.done for progress in rotation.rotate(workshop.database, both)] == [0, 1, 0, 1, 1, 1]
    assert rotation.remaining(workshop.database, both) == 0
    after = MasterKeys(current=NEW)
    assert data_key(workshop, after) == workshop.data_key
    assert signer(workshop, after).key_id == signs
    directory = KeyDirectory(pepper=pepper(workshop, after), clock=CLOCK, entropy=os.urandom)
    with workshop.database.read_only() as session:
        assert directory.recognise(session, api_key.text).has(Role.OWNER)
        wrapped = session.get_one(NotificationEndpoint, endpoint.id).wrapped_details
        assert Details.open(wrapped, after, endpoint.id) == details
    claim = workshop.claim(job_id)
    work = read_assignment(workshop.database, job_id=job_id, fence=claim.fence, master_keys=after)
    assert work.data_key == workshop.data_key, "a job ordered before runs after"
    for opens in (pepper, signer, data_key):
        with pytest.raises(SealBroken):
            opens(workshop, old)


def test_nothing_sealed_under_the_master_key_is_forgotten(workshop, old, both):
    """Looks through every binary column of the database, so that a new table cannot be left out of the rotation."""
    pepper(workshop, old)
    signer(workshop, old)
    with workshop.database.read_only() as session:
        columns = session.execute(
            text(
                "SELECT table_name, column_name FROM information_schema.columns"
                " WHERE table_schema = 'public' AND data_type = 'bytea' AND column_name LIKE 'wrapped%'"
            )
        )
        found = {(table, column) for table, column in columns}
    assert found == {(each.column.class_.__tablename__, each.column.key) for each in rotation.COLUMNS}


def test_a_rotation_goes_on_where_it_was_broken_off(workshop, old, both, monkeypatch):
    pepper(workshop, old)
    signer(workshop, old)

    def broken(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        # private: breaks off between two columns, where no collaborator is called
        patched.setattr(rotation, "_rotate_column", _after(2, rotation._rotate_column, broken))
        with pytest.raises(KeyboardInterrupt):
            rotation.rotate(workshop.database, both)
    assert rotation.remaining(workshop.database, both) == 2
    assert data_key(workshop, both) == workshop.data_key
    assert [progress.done for progress in rotation.rotate(workshop.database, both)] == [0, 0, 0, 1, 1, 0]


def _after(times, first, then):
    calls = []

    def work(*arguments):
        calls.append(1)
        return first(*arguments) if len(calls) <= times else then(*arguments)

    return work


def test_two_rotations_at_once_do_the_work_once(workshop, old, both):
    pepper(workshop, old)
    start, done = threading.Barrier(4), []

    def work():
        start.wait()
        done.append(sum(progress.done for progress in rotation.rotate(workshop.database, both)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(done) == 2
    assert data_key(workshop, MasterKeys(current=NEW)) == workshop.data_key


def test_a_deleted_dataset_has_nothing_to_rotate(workshop, both):
    with workshop.database.transaction() as session:
        session.execute(
            text(
                "UPDATE datasets SET state = 'deleted', wrapped_data_key = NULL, deleted_at = now(),"
                " deleted_by = owner_id, intake_report = NULL"
            )
        )
    assert rotation.remaining(workshop.database, both) == 0
    assert [progress.done for progress in rotation.rotate(workshop.database, both)] == [0, 0, 0, 0, 0, 0]


def test_what_no_key_opens_is_counted_and_left(workshop):
    strangers = MasterKeys(current=NEW, previous=bytes(range(32)))
    (_waiting, datasets, *_) = rotation.rotate(workshop.database, strangers)
    assert (datasets.done, datasets.closed) == (0, 1)
    assert rotation.remaining(workshop.database, strangers) == 1


def test_the_pepper_is_the_one_the_first_release_derived(workshop, old):
    found, start = [], threading.Barrier(6)

    def ask(keys):
        start.wait()
        found.append(pepper(workshop, keys))

    threads = [threading.Thread(target=ask, args=(keys,)) for keys in [old] * 6]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=600)
    assert found == [pepper_from(old.current)] * 6


def test_a_pepper_that_was_never_kept_is_that_of_the_key_before_the_rotation(workshop, old, both):
    assert pepper(workshop, both) == pepper_from(old.current)


def test_the_command(workshop, settings, old, capsys):
    pepper(workshop, old)
    rotated = settings.model_copy(
        update={
            "master_key": SecretStr(NEW.hex()),
            "previous_master_key": SecretStr(settings.master_key.get_secret_value()),
        }
    )
    assert main(["--check"], settings=rotated) == 1
    assert "2 under another key" in capsys.readouterr().out
    assert main([], settings=rotated) == 0
    printed = capsys.readouterr().out
    assert "data keys: 1 sealed anew" in printed
    assert "everything is under the current master key" in printed
    alone = rotated.model_copy(update={"previous_master_key": None})
    assert main(["--check"], settings=alone) == 0
    assert main([], settings=alone) == 0
    with pytest.raises(SealBroken):
        unwrap(
            settings.master_key_bytes, workshop_wrapped(workshop), context=f"dataset:{workshop.dataset_id}"
        )


def test_a_stolen_key_takes_the_signing_key_with_it(workshop, settings, old, both, capsys):
    before = signer(workshop, old).key_id
    rotated = settings.model_copy(
        update={"master_key": SecretStr(NEW.hex()), "previous_master_key": settings.master_key}
    )
    assert main(["--new-signing-key"], settings=rotated) == 0
    assert f"signing key {before} is retired" in capsys.readouterr().out
    assert signer(workshop, both).key_id != before
    assert main([], settings=rotated) == 0


def workshop_wrapped(workshop):
    with workshop.database.read_only() as session:
        return session.scalars(select(Dataset.wrapped_data_key)).one()
