"""Objects that no row refers to: what a crash between a put and its commit leaves."""

from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest

from core.clock import FixedClock
from core.data.failure_notes import failure_note_key
from core.db.tables import Dataset
from core.platform.deletion import mark_deleted
from core.platform.stored_objects import AGE, bundle_key, checkpoint_key, measurement_key, sweep_orphans
from tests.workers.support import Workshop


@pytest.fixture
def clock():
    """Objects are stamped by the store, so this clock starts at the present."""
    return FixedClock(datetime.now(UTC))


@pytest.fixture
def workshop(settings, clock):
    workshop = Workshop(settings, clock=clock)
    yield workshop
    workshop.close()


def sweep(workshop):
    return sweep_orphans(workshop.database, workshop.store, clock=workshop.clock)


def rows_key(workshop):
    with workshop.database.read_only() as session:
        return session.get_one(Dataset, workshop.dataset_id).rows_key


def test_rows_whose_commit_never_came_are_removed_once_they_are_old(workshop, clock):
    orphan = f"datasets/{workshop.dataset_id}/rows-{uuid4().hex}.sealed"
    strangers = f"datasets/{uuid4()}/rows-{uuid4().hex}.sealed"
    for key in (orphan, strangers):
        workshop.store.put_bytes(key, b"x")
    assert sweep(workshop) == 0, "an upload may be about to commit"
    clock.advance(seconds=AGE.total_seconds() + 60)
    assert sweep(workshop) == 2
    assert not workshop.store.exists(orphan)
    assert not workshop.store.exists(strangers)
    assert workshop.store.exists(rows_key(workshop))
    assert sweep(workshop) == 0


def test_what_a_live_job_or_a_release_needs_is_kept(workshop, clock):
    live = workshop.order()
    ended = workshop.order()
    workshop.cancel(ended)
    kept = [
        checkpoint_key(live, 1),
        measurement_key(live, 1),
        bundle_key(live, 1),
        failure_note_key(live, 1),
        failure_note_key(ended, 1),
    ]
    gone = [
        checkpoint_key(ended, 1),
        measurement_key(ended, 1),
        bundle_key(ended, 1),
        checkpoint_key(UUID(int=1), 1),
    ]
    others = [
        bundle_key(UUID(int=1), 2),
        "witness/audit.json",
        "jobs/notes.txt",
        f"jobs/{live}/something-else",
        "uploads/1/part-1",
    ]
    for key in kept + gone + others:
        workshop.store.put_bytes(key, b"x")
    clock.advance(seconds=AGE.total_seconds() + 60)
    assert sweep(workshop) == len(gone)
    assert [key for key in kept + others if not workshop.store.exists(key)] == []
    assert [key for key in gone if workshop.store.exists(key)] == []


def test_notes_on_a_deleted_dataset_are_removed(workshop, clock):
    job_id = workshop.order()
    workshop.store.put_bytes(failure_note_key(job_id, 1), b"written by a child that was still running")
    with workshop.database.transaction() as session:
        mark_deleted(session, session.get_one(Dataset, workshop.dataset_id), by=uuid4(), clock=clock)
    clock.advance(seconds=AGE.total_seconds() + 60)
    assert sweep(workshop) == 1
    assert not workshop.store.exists(failure_note_key(job_id, 1))
    assert workshop.store.exists(rows_key(workshop)), (
        "the tombstone still names them: another chore's business"
    )


def test_an_object_that_cannot_be_removed_stops_nobody(workshop, clock, monkeypatch):
    keys = [f"datasets/{uuid4()}/rows-{number}.sealed" for number in range(3)]
    for key in keys:
        workshop.store.put_bytes(key, b"x")
    clock.advance(seconds=AGE.total_seconds() + 60)
    delete = workshop.store.delete

    def failing(key):
        if key == keys[1]:
            raise OSError("away")
        delete(key)

    monkeypatch.setattr(workshop.store, "delete", failing)
    assert sweep(workshop) == 2
    monkeypatch.undo()
    assert sweep(workshop) == 1
