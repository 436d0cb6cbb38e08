"""Signs of life, GPUs and chores as the worker processes tell them."""

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
import structlog

from core.clock import FixedClock
from core.db.session import Database
from core.logs import configure_logs
from core.platform.gpus import Gpu, gpus
from core.platform.health import figures
from core.platform.health.signs import HealthReporter
from tests.workers.processes import start_worker
from tests.workers.support import Workshop
from workers.upkeep import Upkeep

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def driver(folder: Path, script: str) -> str:
    path = folder / "driver"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_gpus_are_read_from_the_drivers_answer(tmp_path):
    answered = driver(tmp_path, "printf '0, 1024, 81920\\n1, 0, 81920\\n'")
    gib = 2**30
    assert gpus(answered) == (
        Gpu(index=0, used_bytes=gib, total_bytes=80 * gib),
        Gpu(index=1, used_bytes=0, total_bytes=80 * gib),
    )


@pytest.mark.parametrize(
    "script", ["exit 9", "echo no devices were found", "echo '0, [N/A], 5'", "printf '0, 1, 2\\n'; exit 1"]
)
def test_a_driver_that_does_not_answer_means_no_gpus(script, tmp_path):
    assert gpus(driver(tmp_path, script)) == ()
    assert gpus("no-such-program") == ()


def test_a_worker_tells_its_gpus_and_an_upkeep_none(workshop):
    clock, gpu = FixedClock(NOON), Gpu(index=0, used_bytes=1, total_bytes=2)
    HealthReporter(workshop.database, clock=clock, role="worker", find_gpus=lambda: [gpu]).sign()
    HealthReporter(workshop.database, clock=clock, role="upkeep").sign()
    with workshop.database.read_only() as session:
        seen = {worker.role: worker.gpus for worker in figures.worker_figures(session, at=NOON)}
    assert seen == {"worker": (gpu,), "upkeep": ()}


def test_a_database_that_is_away_costs_a_sign_and_nothing_else(capsys):
    configure_logs(role="upkeep")
    away = Database("postgresql://nobody:secret@127.0.0.1:1/none")
    health = HealthReporter(away, clock=FixedClock(NOON), role="upkeep")
    health.sign()
    health.chore("resend", seconds=1.0, handled=0)
    away.close()
    structlog.reset_defaults()
    said = "".join(capsys.readouterr())
    assert "sign-not-given" in said
    assert "chore-not-noted" in said
    assert "secret" not in said


def test_every_chore_of_upkeep_is_noted_with_what_it_did(workshop, monkeypatch):
    keeper = Upkeep(
        workshop.settings,
        database=workshop.database,
        store=workshop.store,
        queue=workshop.queue,
        clock=FixedClock(NOON),
    )

    def broken(*_: object, **__: object) -> None:
        raise OSError("a path in it")

    monkeypatch.setattr("workers.upkeep.link_waiting", lambda _: 3)
    monkeypatch.setattr("workers.upkeep.finish_deletions", lambda *_, **__: {"a": 1})
    monkeypatch.setattr("workers.upkeep.sweep_recent", broken)
    keeper.round()
    with workshop.database.read_only() as session:
        chores = {chore.name: chore for chore in figures.chore_figures(session)}
        assert figures.alive_by_role(figures.worker_figures(session, at=NOON))["upkeep"] == 1
    assert set(chores) == {
        "witness", "rounds", "devices", "resend", "resend-reports", "link", "notify", "erase", "expire", "uploads", "sweep", "forget",
        "orphans", "audit", "audit-log",
    }  # fmt: skip
    assert (chores["link"].handled, chores["erase"].handled) == (3, 1)
    assert {name for name, chore in chores.items() if chore.failing} == {"sweep"}


@pytest.mark.system
def test_a_worker_gives_a_sign_as_soon_as_it_listens(workshop: Workshop, tmp_path):
    worker = start_worker(workshop.settings, tmp_path / "worker.log")
    try:
        end = time.monotonic() + 600
        while True:
            with workshop.database.read_only() as session:
                seen = figures.worker_figures(session, at=datetime.now(UTC))
            if seen:
                break
            assert time.monotonic() < end, (tmp_path / "worker.log").read_text()
            time.sleep(0.1)
    finally:
        worker.kill()
        worker.wait()
    assert [(one.role, one.alive) for one in seen] == [("worker", True)]
    assert seen[0].name.startswith("worker@")
