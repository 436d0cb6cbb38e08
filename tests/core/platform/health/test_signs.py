"""Signs of life, chores and figures on a real database."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from core.db.session import Database
from core.platform.gpus import Gpu
from core.platform.health import figures, signs
from core.platform.health.signs import SILENT_SECONDS, give_sign, note_chore

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    yield database
    database.close()


def test_a_sign_is_overwritten_and_a_long_silent_one_forgotten(database: Database) -> None:
    gpu = Gpu(index=0, used_bytes=5, total_bytes=9)
    later = NOON + timedelta(seconds=SILENT_SECONDS + 1)
    with database.transaction() as session:
        give_sign(session, name="worker@a", role="worker", at=NOON)
        give_sign(session, name="worker@a", role="worker", at=NOON + timedelta(seconds=1), gpus=[gpu])
        give_sign(session, name="upkeep@b", role="upkeep", at=later)
        give_sign(session, name="reports@a", role="reports", at=later)
    with database.read_only() as session:
        seen = figures.worker_figures(session, at=later)
        silent = {worker.name: worker.silent_seconds for worker in seen}
        assert silent == {"reports@a": 0, "upkeep@b": 0, "worker@a": SILENT_SECONDS}
        assert seen[2].gpus == (gpu,)
        assert figures.alive_by_role(seen) == {"worker": 1, "reports": 1, "upkeep": 1}
        much_later = figures.worker_figures(session, at=later + timedelta(seconds=1))
        assert figures.alive_by_role(much_later) == {"worker": 0, "reports": 1, "upkeep": 1}
    with database.transaction() as session:
        give_sign(session, name="upkeep@b", role="upkeep", at=NOON + 2 * signs.FORGOTTEN)
    with database.read_only() as session:
        assert [worker.name for worker in figures.worker_figures(session, at=later)] == ["upkeep@b"]


def test_chores_add_up_and_keep_their_last_success(database: Database) -> None:
    for minute, handled in enumerate((3, None, 2, None)):
        with database.transaction() as session:
            note_chore(
                session,
                name="resend",
                at=NOON + timedelta(minutes=minute),
                seconds=float(minute),
                handled=handled,
            )
        with database.read_only() as session:
            (chore,) = figures.chore_figures(session)
        assert chore.failing == (handled is None)
    assert (chore.runs, chore.failures, chore.handled, chore.seconds) == (4, 2, 5, 3.0)
    assert chore.done_at == NOON + timedelta(minutes=2)
    assert chore.tried_at == NOON + timedelta(minutes=3)


def test_a_chore_that_has_never_succeeded_is_failing(database: Database) -> None:
    with database.transaction() as session:
        note_chore(session, name="audit", at=NOON, seconds=1.0, handled=None)
    with database.read_only() as session:
        (chore,) = figures.chore_figures(session)
    assert chore.failing
    assert chore.done_at is None


def test_without_jobs_every_state_and_stage_is_zero(database: Database) -> None:
    with database.read_only() as session:
        jobs = figures.job_figures(session, at=NOON)
    assert set(jobs.by_state.values()) == set(jobs.running_by_stage.values()) == {0}
    assert {"queued", "failed"} <= set(jobs.by_state)
    assert {"none", "train"} <= set(jobs.running_by_stage)
    assert (jobs.oldest_wait_seconds, jobs.leases_expired) == (0.0, 0)


def test_the_skew_is_this_clock_minus_the_databases(database: Database) -> None:
    ahead = timedelta(hours=1)
    with database.read_only() as session:
        skew = figures.clock_skew(session, at=datetime.now(UTC) + ahead)
    assert timedelta(minutes=50) < skew < timedelta(minutes=70)
