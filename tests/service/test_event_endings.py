"""Streams end when the service does, at once, and leave nothing open."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import anyio
import httpx
import pytest
from sqlalchemy.pool import QueuePool

from core.platform.settings import Settings
from service.edge import watching
from service.edge.watching import JobSnapshot
from service.jobs.snapshots import snapshot, snapshots
from tests.service.serving import Served, eventually
from tests.service.test_events import _hurried, reading
from tests.service.world import World
from understudy.embedded.supervisor import free_port

__all__ = ["_hurried"]  # the fixture


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.long)])
def test_a_stop_ends_the_streams_at_once(
    settings: Settings, world: World, tmp_path: Path, workers: int
) -> None:
    """The very command of the image: without the notice the server would wait for the streams, for ever."""
    job_id = world.job()["id"]
    port = free_port(0)
    environment = os.environ | {
        f"UNDERSTUDY_{name.upper()}": str(getattr(settings, name))
        for name in ("mode", "database_url", "broker_url", "storage_url", "scratch_folder")
    }
    environment["UNDERSTUDY_MASTER_KEY"] = settings.master_key.get_secret_value()
    words = [
        sys.executable,
        "-m",
        "uvicorn",
        "service.asgi:app",
        "--port",
        str(port),
        "--workers",
        str(workers),
        "--http",
        "service.edge.http_protocol:DeadlineProtocol",
    ]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            words, env=environment, stdout=log, stderr=log, cwd=Path(__file__).parents[2]
        )
    try:
        served = Served("127.0.0.1", port)
        assert eventually(lambda: answers(served), seconds=120), (tmp_path / "log").read_text()
        with reading(served, world.analyst, job_id) as reader:
            reader.event()
            process.send_signal(signal.SIGTERM)
            assert reader.rest() == []
        process.wait(timeout=600)
    finally:
        process.kill()
        process.wait()
    assert "Cancel" not in (tmp_path / "log").read_text()


def answers(served: Served) -> bool:
    try:
        return httpx.get(f"{served.url}/v1/health", timeout=5).status_code == 200
    except httpx.TransportError:
        return False


def test_finishing_ends_the_streams_and_waits_for_the_reader(world: World) -> None:
    """Otherwise the pool would be closed under a read."""
    job_id = UUID(world.job()["id"])
    watch = world.app.state.context.job_watch
    with world.database.read_only() as session:
        principal = world.directory.recognise(session, world.analyst.key)

    async def watched() -> tuple[bool, JobSnapshot | None]:
        first = snapshot(world.database, job_id, principal, clock=world.clock)
        with watch.subscription(
            job_id, lambda: None, first=first, known_id=first.id, opened_by=uuid4()
        ) as subscription:
            await anyio.sleep(0.2)
            await watch.finish()
            assert asyncio.all_tasks() == {asyncio.current_task()}, "the reader has ended"
            return subscription.is_closed, await subscription.take(seconds=5)

    assert anyio.run(watched) == (True, None)


@pytest.mark.parametrize("loop_ends", [False, True], ids=["cancelled", "its-loop-ended"])
def test_finishing_waits_for_a_read_under_way(
    world: World, monkeypatch: pytest.MonkeyPatch, loop_ends: bool
) -> None:
    """Its connection, given back to a pool that was closed before, would stay open."""
    watch = watching.JobWatch(
        partial(snapshots, world.database, clock=world.clock), subscriptions=1, subscriptions_per_principal=1
    )
    plain = world.database.autocommit_read
    began = threading.Event()

    def autocommit_read(read: Any) -> Any:
        def slowly(session: Any) -> Any:
            rows = read(session)
            began.set()
            time.sleep(0.5)
            return rows

        return plain(slowly)

    monkeypatch.setattr(world.database, "autocommit_read", autocommit_read)

    async def watched() -> None:
        first = JobSnapshot("0", "{}", is_last=False)
        watched = watch.subscription(uuid4(), lambda: None, first=first, known_id="0", opened_by=uuid4())
        with watched, anyio.fail_after(30):
            while not began.is_set():  # noqa: ASYNC110 - the read begins in a thread
                await anyio.sleep(0.01)
            assert connections_of_reads(world) == 1
            if not loop_ends:
                await watch.finish()
                assert connections_of_reads(world) == 0

    anyio.run(watched)
    if loop_ends:
        anyio.run(watch.finish)
    assert connections_of_reads(world) == 0


def connections_of_reads(world: World) -> int:
    """How many connections are held by autocommit reads."""
    pool = world.database._autocommit_engine.pool  # private: a connection held by a read shows nowhere else
    assert isinstance(pool, QueuePool)
    return pool.checkedout()
