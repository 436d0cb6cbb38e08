"""Deleted means unreadable, from the commit on, whatever happens to the steps after it."""

import threading
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from sqlalchemy import select, text, update

from core.clock import FixedClock
from core.data.errors import ObjectMissing, SealBroken
from core.data.failure_notes import failure_note_key
from core.data.private_rows import open_private_rows
from core.data.sealing import unwrap
from core.db.tables import Dataset, Job
from core.jobs.states import JobState
from core.ledger import ledger_queries
from core.ledger.reservation import EntryKind
from core.plan.domain.table import TableDomain
from core.platform.deletion import finish_deletions, mark_deleted
from tests.workers.support import DOCUMENT, ROWS, Workshop
from workers.assignment import read_assignment

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def clock():
    return FixedClock(NOON)


@pytest.fixture
def workshop(settings, clock):
    workshop = Workshop(settings, clock=clock)
    yield workshop
    workshop.close()


def mark(workshop, *, by=None):
    with workshop.database.transaction() as session:
        row = session.get_one(Dataset, workshop.dataset_id, with_for_update={"key_share": True})
        return mark_deleted(session, row, by=by or uuid4(), clock=workshop.clock)


def finish(workshop):
    return finish_deletions(workshop.database, workshop.store, clock=workshop.clock)


def row_of(workshop):
    with workshop.database.read_only() as session:
        row = session.get_one(Dataset, workshop.dataset_id)
        session.expunge(row)
        return row


def test_nothing_that_is_left_opens_the_rows(workshop):
    before = row_of(workshop)
    sealed = workshop.store.get_bytes(before.rows_key)
    domain, master = TableDomain.from_json(DOCUMENT), workshop.settings.master_key_bytes
    data_key = unwrap(master, before.wrapped_data_key, context=f"dataset:{before.id}")
    opened = open_private_rows(workshop.store, before.rows_key, data_key, domain)
    assert sum(batch.num_rows for batch in opened) == ROWS, "the test would notice"
    by = uuid4()
    assert mark(workshop, by=by)
    assert finish(workshop) == 1
    after = row_of(workshop)
    assert (after.state, after.deleted_by, after.deleted_at) == ("deleted", by, NOON)
    assert (after.wrapped_data_key, after.rows_key, after.intake_report) == (None, None, None)
    assert not workshop.store.exists(before.rows_key)
    # Somebody kept a copy of the sealed rows, and has the master key and the whole database.
    workshop.store.put_bytes(before.rows_key, sealed)
    with workshop.database.read_only() as session:
        stored = [
            bytes(value)
            for table, column in session.execute(
                text(
                    "SELECT table_name, column_name FROM information_schema.columns"
                    " WHERE table_schema = 'public' AND data_type = 'bytea'"
                )
            )
            for value in session.scalars(
                text(f'SELECT "{column}" FROM "{table}" WHERE "{column}" IS NOT NULL')
            )
        ]

    def open_with(candidate):
        wrapped = len(candidate) != 32
        key = unwrap(master, candidate, context=f"dataset:{before.id}") if wrapped else candidate
        return list(open_private_rows(workshop.store, before.rows_key, key, domain))

    assert open_with(data_key), "the test would notice"
    for candidate in [master, *stored]:
        with pytest.raises(SealBroken):
            open_with(candidate)


def test_the_key_is_gone_before_the_objects_and_a_crash_between_is_made_good(workshop, monkeypatch):
    key = row_of(workshop).rows_key
    mark(workshop)

    def away(_key):
        raise OSError("away")

    with monkeypatch.context() as patched:
        patched.setattr(workshop.store, "delete", away)
        assert finish(workshop) == 0
    row = row_of(workshop)
    assert row.wrapped_data_key is None, "unreadable already"
    assert (row.rows_key, workshop.store.exists(key)) == (key, True)
    assert finish(workshop) == 1
    assert not workshop.store.exists(key)
    assert finish(workshop) == 0


def test_a_crash_after_the_objects_and_before_the_last_commit_is_made_good(workshop):
    key = row_of(workshop).rows_key
    mark(workshop)
    workshop.store.delete(key)
    assert finish(workshop) == 1
    assert row_of(workshop).rows_key is None


def test_deleting_twice_changes_nothing(workshop, clock):
    by = uuid4()
    assert mark(workshop, by=by)
    clock.advance(seconds=60)
    assert not mark(workshop)
    row = row_of(workshop)
    assert (row.deleted_by, row.deleted_at) == (by, NOON)


def test_everything_else_of_the_dataset_goes_too(workshop):
    job_id = workshop.order()
    workshop.claim(job_id)
    others = [f"datasets/{workshop.dataset_id}/rows-other.sealed", failure_note_key(job_id, 1)]
    kept = [f"datasets/{uuid4()}/rows.sealed", failure_note_key(uuid4(), 1)]
    for key in others + kept:
        workshop.store.put_bytes(key, b"x")
    mark(workshop)
    finish(workshop)
    assert [workshop.store.exists(key) for key in others + kept] == [False, False, True, True]


def test_waiting_jobs_are_voided_and_running_ones_are_stopped(workshop, clock):
    waiting, running = workshop.order(), workshop.order()
    claim = workshop.claim(running)
    workshop.advance(claim, stage="measure", step=0)
    mark(workshop)
    with pytest.raises(ObjectMissing):
        read_assignment(
            workshop.database, job_id=running, fence=claim.fence, master_keys=workshop.settings.master_keys
        )
    finish(workshop)
    assert workshop.job(waiting).state == JobState.CANCELLED
    assert workshop.movements(waiting) == [EntryKind.RESERVED, EntryKind.VOIDED]
    assert workshop.job(running).state == JobState.RUNNING, "its worker stops it"
    assert workshop.job(running).cancel_requested_at == NOON
    clock.advance(seconds=3600)
    finish(workshop)
    assert workshop.job(running).state == JobState.CANCELLED, "its worker fell silent"
    assert workshop.movements(running) == [EntryKind.RESERVED, EntryKind.SPENT, EntryKind.SETTLED]
    with workshop.database.read_only() as session:
        assert session.scalars(select(Job).where(Job.sealed_randomness_key.is_not(None))).all() == []


def test_an_order_that_slipped_in_is_stopped(workshop):
    mark(workshop)
    with workshop.database.transaction() as session:
        # As the order saw it: read before the deletion was committed.
        session.execute(text("ALTER TABLE datasets DROP CONSTRAINT datasets_ready_has_rows_check"))
        session.execute(text("ALTER TABLE datasets DROP CONSTRAINT datasets_deleted_has_tombstone_check"))
        session.execute(update(Dataset).values(state="ready"))
    job_id = workshop.order()
    with workshop.database.transaction() as session:
        session.execute(update(Dataset).values(state="deleted"))
    finish(workshop)
    assert workshop.job(job_id).state == JobState.CANCELLED


def test_deleting_and_ordering_at_once_do_not_wait_in_a_circle(workshop):
    start, errors = threading.Barrier(5), []

    def act(work):
        start.wait()
        try:
            work()
        except Exception as error:  # noqa: BLE001 - looked at below
            errors.append(error)

    threads = [threading.Thread(target=act, args=(workshop.order,)) for _ in range(4)]
    threads.append(threading.Thread(target=act, args=(lambda: mark(workshop),)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {error.code for error in errors} <= {"dataset-not-ready", "dataset-deleted"}
    finish(workshop)
    with workshop.database.read_only() as session:
        assert set(session.scalars(select(Job.state))) <= {"cancelled"}


def test_a_broken_ledger_keeps_nobody_from_deleting(workshop):
    job_id = workshop.order()
    with workshop.database.transaction() as session:
        session.execute(text("ALTER TABLE ledger_entries DISABLE TRIGGER ALL"))
        session.execute(text("UPDATE ledger_entries SET epsilon_micros = 1 WHERE sequence = 2"))
    mark(workshop)
    assert finish(workshop) == 1
    assert row_of(workshop).wrapped_data_key is None
    assert workshop.job(job_id).state == JobState.QUEUED
    assert workshop.job(job_id).cancel_requested_at == NOON


def test_the_population_keeps_what_was_spent(workshop):
    workshop.claim(workshop.order())
    with workshop.database.read_only() as session:
        before = ledger_queries.charges_in_force(session, workshop.population_id)
    mark(workshop)
    finish(workshop)
    with workshop.database.read_only() as session:
        assert ledger_queries.charges_in_force(session, workshop.population_id) == before
        assert ledger_queries.verify_chain(session, workshop.population_id).intact
