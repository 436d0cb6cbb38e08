"""Upkeep's chores on a real database: lost messages, dead workers, leftovers, restored backups."""

import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from sqlalchemy import select

from core.clock import FixedClock
from core.data.failure_notes import failure_note_key
from core.data.upload_parts import new_part_key
from core.data.uploads.repository import UPLOADS
from core.db.tables import NotificationDelivery, NotificationEndpoint, NotificationEvent, Upload
from core.jobs.leases import this_process
from core.ledger import governance, ledger_queries
from core.platform.access.directory import KeyDirectory
from core.platform.access.roles import Role
from core.platform.health.figures import chore_figures
from core.platform.notifications.repository import DELIVERIES
from core.platform.stored_objects import AGE, bundle_key, checkpoint_key, sweep, sweep_recent
from tests.memory_queue import MemoryQueue
from tests.workers.support import Workshop, environment_of
from workers.ledger_audit import LedgerAudit
from workers.upkeep import SWEEP_SECONDS, Upkeep, main, sign_of_life

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def clock():
    return FixedClock(NOON)


@pytest.fixture
def workshop(settings, clock):
    workshop = Workshop(settings, clock=clock)
    yield workshop
    workshop.close()


def upkeep(workshop, *, monotonic=time.monotonic) -> Upkeep:
    return Upkeep(
        workshop.settings,
        database=workshop.database,
        store=workshop.store,
        queue=workshop.queue,
        clock=workshop.clock,
        monotonic=monotonic,
    )


def test_a_job_whose_message_was_lost_is_sent_again_once_per_lease(workshop, clock):
    job_id = workshop.order()
    workshop.queue = MemoryQueue()
    keeper = upkeep(workshop)
    assert keeper.resend() == 0, "its message is still fresh"
    clock.advance(seconds=2.5)
    assert keeper.resend() == 1
    assert keeper.resend() == 0
    assert workshop.queue.sent == [job_id]


def test_a_job_whose_worker_fell_silent_is_sent_again_and_a_live_one_is_not(workshop, clock):
    silent, live = workshop.order(), workshop.order()
    workshop.claim(silent)
    clock.advance(seconds=2.5)
    workshop.claim(live)
    workshop.queue = MemoryQueue()
    assert upkeep(workshop).resend() == 1
    assert workshop.queue.sent == [silent]


def test_leases_of_dead_processes_end_whatever_the_kind(workshop, clock):
    owners = {"dead": f"{this_process()}9", "alive": this_process(), "elsewhere": "another-machine/1/2"}
    endpoint_id = uuid4()
    with workshop.database.transaction() as session:
        key, _ = KeyDirectory(pepper=b"p" * 32, clock=clock, entropy=os.urandom).issue(
            session, name="owner", roles=[Role.OWNER]
        )
        session.add(
            NotificationEndpoint(
                id=endpoint_id, key_id=key.id, principal_id=key.principal_id, channel="webhook", kinds=[],
                state="active", wrapped_details=b"sealed", created_at=NOON,
            )
        )  # fmt: skip
        for number, (name, owner) in enumerate(owners.items()):
            claimed = {"fence": 1, "lease_expires_at": NOON + timedelta(hours=1), "lease_owner": owner}
            event_id = uuid4()
            session.add(NotificationEvent(id=event_id, kind="test", facts={"owner": name}, at=NOON))
            session.flush()
            session.add(
                NotificationDelivery(
                    id=uuid4(), event_id=event_id, endpoint_id=endpoint_id, state="waiting", next_at=NOON,
                    outcome=name, created_at=NOON + timedelta(seconds=number), **claimed,
                )
            )  # fmt: skip
            session.add(
                Upload(
                    id=uuid4(), dataset_id=workshop.dataset_id, principal_id=key.principal_id, declared_bytes=1, part_bytes=1,
                    content_type=name, state="completing", wrapped_data_key=b"sealed", created_at=NOON,
                    expires_at=NOON + timedelta(days=1), **claimed,
                )
            )  # fmt: skip
    upkeep(workshop).resend()
    with workshop.database.read_only() as session:
        for leases, name in ((DELIVERIES, NotificationDelivery.outcome), (UPLOADS, Upload.content_type)):
            claimable = session.scalars(select(name).where(leases.are_claimable(clock.now()))).all()
            assert claimable == ["dead"], leases.table


def test_chores_are_done_when_due_and_tried_again_when_they_fail(workshop, monkeypatch):
    seconds = [0.0]
    calls = {"sweep": 0, "audit": 0}

    def chore(name, error=None):
        calls[name] += 1
        if error is not None:
            raise error

    monkeypatch.setattr("workers.upkeep.sweep_recent", lambda *_, **__: chore("sweep"))
    monkeypatch.setattr(LedgerAudit, "ledgers", lambda _: chore("audit", OSError("away")))
    keeper = upkeep(workshop, monotonic=lambda: seconds[0])
    for _ in range(3):
        keeper.round()
    assert calls == {"sweep": 1, "audit": 3}
    seconds[0] = SWEEP_SECONDS
    keeper.round()
    assert calls["sweep"] == 2


def test_metrics_do_not_tell_how_many_parts_or_owner_reports_were_removed(workshop, clock):
    """An upload that its owner gave up has as many parts as its size demands, and a report is its owner's alone."""
    seen = []
    for parts, reports in ((1, 0), (3, 1)):
        upload_id, dataset_id = uuid4(), workshop.dataset_id
        keys = [new_part_key(upload_id, number) for number in range(parts)]
        keys += [f"datasets/{dataset_id}/report-{number}.sealed" for number in range(reports)]
        for key in keys:
            workshop.store.put_bytes(key, b"sealed")
        clock.at = datetime.now(UTC) + 2 * AGE  # the store stamps its objects
        upkeep(workshop).round()
        assert not [key for key in keys if workshop.store.exists(key)]
        with workshop.database.read_only() as session:
            done = {chore.name: (chore.runs, chore.handled) for chore in chore_figures(session)}
        seen.append([done["uploads"], done["orphans"]])
    assert seen == [[(1, 0), (1, 0)], [(2, 0), (2, 0)]]


def test_grants_whose_time_is_over_are_closed_once(workshop, clock):
    with workshop.database.transaction() as session:
        governance.grant(
            session, workshop.population_id, holder=uuid4(), epsilon=1.0, delta=1e-6,
            expires_at=NOON + timedelta(days=1), by="admin", clock=clock,
        )  # fmt: skip
    keeper = upkeep(workshop)
    assert keeper.expire() == 0
    clock.advance(seconds=86400)
    keeper.round()
    assert keeper.expire() == 0
    with workshop.database.read_only() as session:
        assert [grant.state for grant in ledger_queries.grants_of(session, workshop.population_id)] == [
            "expired"
        ]


def test_sweeping_removes_what_is_not_published_and_keeps_what_the_owner_may_read(workshop):
    job_id = uuid4()
    keys = [key(job_id, fence) for key in (checkpoint_key, bundle_key, failure_note_key) for fence in (1, 2)]
    for key in keys:
        workshop.store.put_bytes(key, b"x")
    sweep(workshop.store, workshop.population_id, job_id, 2, published=None)
    assert [key for key in keys if workshop.store.exists(key)] == keys[4:], "a failed job keeps its notes"
    for key in keys:
        workshop.store.put_bytes(key, b"x")
    sweep(workshop.store, workshop.population_id, job_id, 2, published=bundle_key(job_id, 2))
    assert [key for key in keys if workshop.store.exists(key)] == [bundle_key(job_id, 2)]


def test_what_a_lost_worker_wrote_after_the_end_is_swept_too(workshop, clock):
    ended, running = workshop.order(), workshop.order()
    workshop.claim(ended)
    clock.advance(seconds=3)
    workshop.cancel(ended)
    workshop.claim(running)
    for job_id in (ended, running):
        workshop.store.put_bytes(checkpoint_key(job_id, 1), b"x")
    assert sweep_recent(workshop.database, workshop.store, clock=clock) == 1
    assert not workshop.store.exists(checkpoint_key(ended, 1))
    assert workshop.store.exists(checkpoint_key(running, 1))
    clock.advance(seconds=2 * 86400)
    assert sweep_recent(workshop.database, workshop.store, clock=clock) == 0


@pytest.mark.usefixtures("worker_environment")
def test_the_process_makes_rounds_shows_signs_of_life_and_stops_on_signal(workshop):
    assert main(["--alive"]) == 1
    process = subprocess.Popen(
        [sys.executable, "-m", "workers.upkeep"], env=environment_of(workshop.settings)
    )
    try:
        end = time.monotonic() + 600
        while main(["--alive"]) != 0:
            assert time.monotonic() < end
            time.sleep(0.05)
    finally:
        process.terminate()
    assert process.wait(timeout=600) == 0
    os.utime(sign_of_life(workshop.settings), (0, 0))
    assert main(["--alive"]) == 1
