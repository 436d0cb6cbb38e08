"""The task around an owner report and its child: real database, real rows, real child processes."""

import errno
import io
import re
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest
from sqlalchemy.orm import Session

from core.artifacts.packing import pack
from core.artifacts.reports import owner_files
from core.artifacts.reports.columns import columns_of
from core.artifacts.reports.errors import ReportNotForModels
from core.artifacts.reports.image_page import most_image_bytes
from core.artifacts.reports.owner_files import STEP_BYTES, read_report, report_key
from core.artifacts.reports.owner_orders import REPORTS, claim_report, order_after_release, order_report
from core.artifacts.reports.owner_page import FAILED, MARK, most_bytes
from core.artifacts.reports.owner_summary import OwnerSummary
from core.clock import FixedClock, SystemClock
from core.data.errors import SealBroken
from core.data.intake.intake import store_rows
from core.data.intake.sniffing import NPZ
from core.db.tables import ChoreRun, Dataset, Job, OwnerReport, Release
from core.jobs.leases import take_overdue, this_process
from core.logs import configure_logs
from core.plan.domain.images import ImageDomain
from core.plan.domain.table import TableDomain
from core.platform.deletion import finish_deletions, mark_deleted
from core.platform.stored_objects import AGE, sweep_orphans
from tests.core.artifacts import image_stand_in
from tests.core.artifacts.stand_in import bundle, network_of
from tests.core.data.pictures import npz
from tests.memory_queue import MemoryQueue
from tests.workers.support import CANARY, DOCUMENT, Workshop, environment_of
from workers import attempts, owner_report_child
from workers.child import AttemptEnded, ExitCode
from workers.owner_reports import OwnerReporter
from workers.upkeep import Upkeep


@pytest.fixture
def settings(settings):
    return settings.model_copy(update={"report_slot_seconds": 0.3, "heartbeat_seconds": 0.1})


def released(workshop: Workshop, content: bytes | None = None) -> UUID:
    """A release of the workshop's dataset whose generator draws every value alike."""
    cells = tuple(TableDomain.from_json(DOCUMENT).cardinalities)
    made = bundle(
        manifest=bundle().manifest.__class__(
            latent_dimension=2, cardinalities=cells, label_index=2, label_probabilities=(0.5, 0.5)
        ),
        network=network_of(cells),
        domain=DOCUMENT,
    )
    release_id, job_id = uuid4(), uuid4()
    key = f"releases/{release_id}/bundle-1.zip"
    workshop.store.put_bytes(key, pack(made, readme="read me") if content is None else content)
    now = workshop.clock.now()
    with workshop.database.transaction() as session:
        # A report looks at no job: none is planned, paid for or run.
        session.add(
            Job(
                id=job_id, dataset_id=workshop.dataset_id, ordered_by=uuid4(), state="succeeded", plan={},
                plan_digest="", created_at=now, sent_at=now, finished_at=now,
            )
        )  # fmt: skip
        session.flush()
        session.add(
            Release(
                id=release_id,
                job_id=job_id,
                dataset_id=workshop.dataset_id,
                bundle_key=key,
                certificate={"privacy_parameters": {"epsilon": 1.0, "delta": 1e-6}},
                created_at=now,
            )
        )
    return release_id


def ordered(workshop: Workshop, release_id: UUID | None = None) -> UUID:
    release_id = release_id or released(workshop)
    with workshop.database.transaction() as session:
        report, _ = order_report(
            session,
            release=session.get_one(Release, release_id),
            dataset=session.get_one(Dataset, workshop.dataset_id),
            target=None,
            ordered_by=uuid4(),
            queue=workshop.queue,
            clock=workshop.clock,
        )
        return report.id


def reporter(workshop: Workshop, script: str | None = None, **given: Any) -> OwnerReporter:
    """A reporter; with a script its child runs that instead of a report. What is given goes to its constructor."""
    command = {} if script is None else {"command": lambda *_: [sys.executable, "-c", script]}
    return OwnerReporter(
        workshop.settings,
        database=workshop.database,
        store=workshop.store,
        queue=workshop.queue,
        environment=environment_of(workshop.settings),
        **{"clock": SystemClock()} | command | given,
    )


def row_of(workshop: Workshop, report_id: UUID) -> OwnerReport | None:
    with workshop.database.read_only() as session:
        row = session.get(OwnerReport, report_id)
        if row is not None:
            session.expunge(row)
        return row


def reports_stored(workshop: Workshop) -> list[str]:
    return [found.key for found in workshop.store.list("datasets") if "/report-" in found.key]


def html_of(workshop: Workshop, row: OwnerReport) -> str:
    assert row.object_key is not None
    return read_report(workshop.store, row.object_key, data_key=workshop.data_key).decode()


def test_a_report_is_made_by_a_child_sealed_and_the_same_whoever_makes_it(workshop, monkeypatch):
    printed = io.StringIO()
    monkeypatch.setattr("sys.stderr", printed)
    configure_logs(role="worker")
    report_id = ordered(workshop)
    assert workshop.queue.sent_reports == [report_id]
    began = time.monotonic()
    reporter(workshop).report(report_id)
    assert time.monotonic() - began >= workshop.settings.report_slot_seconds
    row = row_of(workshop, report_id)
    assert row is not None
    assert (row.state, row.attempts, row.failure_code) == ("made", 1, None)
    html = html_of(workshop, row)
    # One file that needs nothing, marked, with real values of the rows in it.
    assert MARK in html
    assert "position: fixed" in html
    assert CANARY in html
    assert FAILED not in html
    assert "The report could not be made" not in html
    summary = OwnerSummary.read(html.encode())
    assert "Single columns are" in summary.sentences[0]
    assert "Nearest is “" in summary.sentences[1]
    assert all(sentence in unescape(html) for sentence in summary.sentences + summary.look_at)
    assert summary.look_at, "the generator draws every value alike"
    assert not re.search(r"https?:|<script|javascript:|<link|<img|@import|url\(|\son\w+=", html)
    assert "default-src 'none'" in html
    # At rest it is sealed, and its size is a multiple of a public one.
    sealed = workshop.store.get_bytes(row.object_key)
    assert CANARY.encode() not in sealed
    assert len(sealed) % STEP_BYTES < 100
    with pytest.raises(SealBroken):
        read_report(workshop.store, row.object_key, data_key=bytes(32))
    # Nothing of it in logs.
    said = printed.getvalue()
    assert "report-ended" in said
    assert not re.search(f"{CANARY}|outcome|made", said)
    # A second message does nothing; a report made again says the same.
    reporter(workshop).report(report_id)
    with workshop.database.transaction() as session:
        row = session.get_one(OwnerReport, report_id)
        row.state, row.fence, row.object_key, row.finished_at = "running", 2, None, None
        row.lease_expires_at = datetime.now(UTC) + timedelta(seconds=60)
    owner_report_child.make(
        workshop.settings, database=workshop.database, store=workshop.store, report_id=report_id, fence=2
    )
    again = read_report(
        workshop.store, report_key(workshop.dataset_id, report_id, 2), data_key=workshop.data_key
    )
    assert again.decode() == html


def test_images_get_a_report_too_sealed_and_as_long_as_any_on_their_domain(workshop, monkeypatch):
    domain = ImageDomain.from_json(image_stand_in.domain())
    pixels = np.stack([image_stand_in.expected(place % 3) for place in range(40)])
    with workshop.database.transaction() as session:
        dataset = session.get_one(Dataset, workshop.dataset_id)
        dataset.domain = domain.to_json()
        assert dataset.rows_key is not None
        store_rows(
            io.BytesIO(npz(images=pixels, labels=np.array(domain.labels)[np.arange(40) % 3])), content_type=NPZ, domain=domain,
            store=workshop.store, key=dataset.rows_key, data_key=workshop.data_key, scratch_folder=workshop.settings.scratch_folder,
        )  # fmt: skip
    release_id = released(workshop, pack(image_stand_in.bundle(), readme="read me"))
    with workshop.database.transaction() as session:
        order_after_release(
            session, session.get_one(Release, release_id), queue=workshop.queue, clock=workshop.clock
        )
    (report_id,) = workshop.queue.sent_reports

    def made(fence: int) -> str:
        with workshop.database.transaction() as session:
            assert claim_report(session, report_id, clock=SystemClock(), lease_seconds=60, max_attempts=3)
        owner_report_child.make(
            workshop.settings,
            database=workshop.database,
            store=workshop.store,
            report_id=report_id,
            fence=fence,
        )
        with workshop.database.transaction() as session:
            REPORTS.put_back(session.get_one(OwnerReport, report_id))
        key = report_key(workshop.dataset_id, report_id, fence)
        return read_report(workshop.store, key, data_key=workshop.data_key).decode()

    monkeypatch.setattr(owner_files, "STEP_BYTES", 1)
    html = made(1)
    assert MARK in html
    assert FAILED not in html
    assert "The labels’ shares are" in OwnerSummary.read(html.encode()).sentences[0]
    monkeypatch.setattr(owner_report_child, "measure_images", lambda *_: 1 / 0)
    failed = made(2)
    assert FAILED in failed
    assert len(failed.encode()) == len(html.encode()) == most_image_bytes(domain)


def test_every_release_of_a_table_gets_a_report_and_a_model_is_refused_one(workshop):
    release_id = released(workshop)

    def publish(**certificate: str) -> None:
        with workshop.database.transaction() as session:
            release = session.get_one(Release, release_id)
            release.certificate = release.certificate | certificate
            order_after_release(session, release, queue=workshop.queue, clock=workshop.clock)

    publish(schema="understudy.model-certificate/1")
    assert workshop.queue.sent_reports == []
    with pytest.raises(ReportNotForModels):
        ordered(workshop, release_id)
    publish(schema="understudy.certificate/2")
    (report_id,) = workshop.queue.sent_reports
    row = row_of(workshop, report_id)
    with workshop.database.read_only() as session:
        owner_id = session.get_one(Dataset, workshop.dataset_id).owner_id
    assert row is not None
    assert (row.ordered_by, row.target, row.state) == (owner_id, "sick", "queued")
    publish()
    assert workshop.queue.sent_reports == [report_id], "a second publication orders no second report"
    with workshop.database.transaction() as session:
        mark_deleted(
            session, session.get_one(Dataset, workshop.dataset_id), by=owner_id, clock=workshop.clock
        )
    publish()
    assert workshop.queue.sent_reports == [report_id]


def test_a_failure_among_the_rows_looks_like_a_report_to_everybody_but_the_owner(workshop, monkeypatch):
    def fails(*_: object, **__: object) -> None:
        raise ValueError(f"{'&' * 200_000} what a library says about {CANARY}")

    monkeypatch.setattr(owner_report_child, "measure", fails)
    monkeypatch.setattr(owner_files, "STEP_BYTES", 1024)
    report_id = ordered(workshop)
    with workshop.database.transaction() as session:
        claim = claim_report(session, report_id, clock=SystemClock(), lease_seconds=60, max_attempts=3)
    assert claim is not None
    owner_report_child.make(
        workshop.settings, database=workshop.database, store=workshop.store, report_id=report_id, fence=1
    )
    key = report_key(workshop.dataset_id, report_id, 1)
    html = read_report(workshop.store, key, data_key=workshop.data_key).decode()
    assert OwnerSummary.read(html.encode()) == OwnerSummary.of_failure()
    assert FAILED in html
    assert CANARY in html
    assert MARK in html
    sealed = workshop.store.get_bytes(key)
    assert most_bytes(columns_of(TableDomain.from_json(DOCUMENT))) <= len(sealed), (
        "as long as any report on this domain"
    )
    assert len(sealed) <= most_bytes(columns_of(TableDomain.from_json(DOCUMENT))) + 1024 + 100, (
        "and no longer"
    )
    assert CANARY.encode() not in sealed


def test_rows_that_cannot_be_coded_make_a_report_that_says_so_to_their_owner(workshop, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    monkeypatch.setattr(owner_report_child, "coded_rows", full)
    report_id = ordered(workshop)
    with workshop.database.transaction() as session:
        assert claim_report(session, report_id, clock=SystemClock(), lease_seconds=60, max_attempts=3)
    owner_report_child.make(
        workshop.settings, database=workshop.database, store=workshop.store, report_id=report_id, fence=1
    )
    key = report_key(workshop.dataset_id, report_id, 1)
    assert FAILED in read_report(workshop.store, key, data_key=workshop.data_key).decode()


def test_a_failure_while_it_is_stored_is_one_among_the_rows(workshop, monkeypatch):
    def short_of_memory(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(owner_report_child, "write_report", short_of_memory)
    report_id = ordered(workshop)
    with workshop.database.transaction() as session:
        assert claim_report(session, report_id, clock=SystemClock(), lease_seconds=60, max_attempts=3)
    with pytest.raises(AttemptEnded) as ended:
        owner_report_child.make(
            workshop.settings, database=workshop.database, store=workshop.store, report_id=report_id, fence=1
        )
    assert ended.value.code is ExitCode.DATA, "no log says when, or of which class it was"


def test_a_worker_that_dies_is_followed_by_another_until_the_attempts_are_used_up(workshop):
    workshop.settings = workshop.settings.model_copy(update={"job_attempts": 2})
    report_id = ordered(workshop)
    reporter(workshop, "import os; os.kill(os.getpid(), 9)").report(report_id)
    row = row_of(workshop, report_id)
    assert row is not None
    assert (row.state, row.attempts) == ("queued", 1)
    assert isinstance(workshop.queue, MemoryQueue)
    assert workshop.queue.sent_reports == [report_id] * 2
    reporter(workshop, "import os; os.kill(os.getpid(), 9)").report(report_id)
    row = row_of(workshop, report_id)
    assert row is not None
    assert (row.state, row.failure_code, row.object_key) == ("failed", "report-failed", None)
    assert ordered(workshop, row.release_id) != report_id, "one that failed may be ordered again"


def test_a_stopping_worker_returns_its_report_and_no_attempt_is_counted(workshop):
    report_id = ordered(workshop)
    for fence in (1, 2, 3):
        asked: list[None] = []
        reporter(
            workshop,
            "import time; time.sleep(60)",
            stopping=lambda asked=asked: asked.append(None) is not None or len(asked) > 2,
        ).report(report_id)
        row = row_of(workshop, report_id)
        assert row is not None
        assert (row.state, row.fence, row.attempts, row.lease_expires_at) == ("queued", fence, 0, None)
    assert isinstance(workshop.queue, MemoryQueue)
    assert workshop.queue.sent_reports == [report_id] * 4


def overdue(session: Session, clock: FixedClock, *, dead: str | None = None) -> list[UUID]:
    return take_overdue(
        session, REPORTS, now=clock.now(), resend_seconds=1, is_dead=lambda owner: owner == dead
    )


def test_a_report_of_a_dead_worker_is_sent_again_before_its_lease_has_run_out(workshop):
    report_id = ordered(workshop)
    now = FixedClock(datetime.now(UTC))
    for owner in ("dead", "alive"):
        with workshop.database.transaction() as session:
            assert claim_report(
                session, report_id, clock=now, lease_seconds=5, max_attempts=3, lease_owner=owner
            )
        with workshop.database.transaction() as session:
            assert overdue(session, now, dead="dead") == ([report_id] if owner == "dead" else [])


def test_a_report_names_the_process_that_makes_it(workshop):
    report_id = ordered(workshop)
    owners: list[str | None] = []

    def look(_: float) -> None:
        owners.append(getattr(row_of(workshop, report_id), "lease_owner", None))

    reporter(workshop, f"raise SystemExit({ExitCode.DONE})", sleep=look).report(report_id)
    assert set(owners) == {this_process()}
    assert getattr(row_of(workshop, report_id), "lease_owner", "gone") is None


def test_a_lost_worker_and_a_lost_message_are_made_good(workshop):
    report_id = ordered(workshop)
    now = FixedClock(datetime.now(UTC))
    with workshop.database.transaction() as session:
        first = claim_report(session, report_id, clock=now, lease_seconds=5, max_attempts=3)
    with workshop.database.transaction() as session:
        assert claim_report(session, report_id, clock=now, lease_seconds=5, max_attempts=3) is None
        assert overdue(session, now) == []
    now.advance(seconds=6)
    with workshop.database.transaction() as session:
        assert overdue(session, now) == [report_id]
        assert overdue(session, now) == [], "stamped as sent"
    # The second worker makes it; what the first one still writes is not what the row names.
    reporter(
        workshop,
        f"raise SystemExit({ExitCode.DONE})",
        clock=now,
        sleep=lambda seconds: now.advance(seconds=seconds),
    ).report(report_id)
    row = row_of(workshop, report_id)
    assert row is not None
    assert first is not None
    assert (row.state, row.fence, row.attempts) == ("made", 2, 2)
    assert row.object_key == report_key(workshop.dataset_id, report_id, 2)


def test_upkeep_sends_again_what_waits_and_counts_it_nowhere(workshop):
    now = FixedClock(datetime.now(UTC))
    workshop.clock = now
    report_id = ordered(workshop)
    upkeep = Upkeep(
        workshop.settings,
        database=workshop.database,
        store=workshop.store,
        queue=workshop.queue,
        clock=now,
    )
    upkeep.resend_reports()
    assert workshop.queue.sent_reports == [report_id]
    now.advance(seconds=workshop.settings.lease_seconds + 1)
    upkeep.round()
    assert workshop.queue.sent_reports == [report_id] * 2
    with workshop.database.read_only() as session:
        run = session.get_one(ChoreRun, "resend-reports")
        assert (run.runs, run.failures, run.handled) == (1, 0, 0)


def test_a_deletion_ends_the_work_and_leaves_nothing(workshop):
    report_id = ordered(workshop)
    script = f"""
import time
open({str(workshop.settings.scratch_folder / "begun")!r}, "w").close()
time.sleep(60)
"""

    def delete_when_begun() -> None:
        while not (workshop.settings.scratch_folder / "begun").exists():
            time.sleep(0.02)
        workshop.store.put_bytes(report_key(workshop.dataset_id, report_id, 1), b"sealed")
        with workshop.database.transaction() as session:
            row = session.get_one(Dataset, workshop.dataset_id, with_for_update={"key_share": True})
            mark_deleted(session, row, by=uuid4(), clock=workshop.clock)
        finish_deletions(workshop.database, workshop.store, clock=workshop.clock)

    thread = threading.Thread(target=delete_when_begun)
    thread.start()
    reporter(workshop, script).report(report_id)
    thread.join()
    assert row_of(workshop, report_id) is None
    assert reports_stored(workshop) == []


def test_orphans_go_and_what_is_named_or_on_its_way_stays(workshop):
    release_id = released(workshop)
    live = ordered(workshop, release_id)
    dataset_id = workshop.dataset_id
    kept = report_key(dataset_id, live, 1)
    gone = [report_key(dataset_id, uuid4(), 1), report_key(uuid4(), uuid4(), 3)]
    for key in (kept, *gone):
        workshop.store.put_bytes(key, b"x")
    later = FixedClock(datetime.now(UTC) + AGE + timedelta(minutes=1))
    sweep_orphans(workshop.database, workshop.store, clock=later)
    assert reports_stored(workshop) == [kept]
    with workshop.database.transaction() as session:
        row = session.get_one(OwnerReport, live)
        row.state, row.finished_at = "made", later.now()
        row.object_key = report_key(dataset_id, live, 2)
    sweep_orphans(workshop.database, workshop.store, clock=later)
    assert reports_stored(workshop) == []


def test_a_worker_is_free_again_only_at_an_edge_however_short_the_work(workshop, monkeypatch):
    workshop.settings = workshop.settings.model_copy(
        update={"report_slot_seconds": 60.0, "lease_seconds": 100.0}
    )
    now, slept = FixedClock(datetime.now(UTC)), []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now.advance(seconds=seconds)

    watched, work = attempts.watch, iter((1.0, 42.0))

    def watch(*given, **named):
        outcome = watched(*given, **named)
        now.advance(seconds=next(work))
        return outcome

    monkeypatch.setattr(attempts, "watch", watch)
    for _ in range(2):
        report_id = ordered(workshop)
        claimed_at = now.now()
        reporter(workshop, f"raise SystemExit({ExitCode.DONE})", clock=now, sleep=sleep).report(report_id)
        row = row_of(workshop, report_id)
        assert row is not None
        assert row.finished_at == now.now() == claimed_at + timedelta(seconds=60)
    assert sum(slept) == pytest.approx(60 - 1 + 60 - 42)
