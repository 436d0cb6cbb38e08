"""Event streams over real sockets: what they tell, to whom, when they end, and what they cost."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import anyio
import httpx
import pytest
from sqlalchemy import text

from core.db.errors import DatabaseUnavailable
from core.db.tables import Job
from core.platform.access.roles import Role
from service.edge import watching
from service.edge.watching import JobSnapshot, JobWatch, Subscription
from service.jobs import event_stream, repository
from service.jobs.snapshots import snapshots
from tests.service.serving import Served, eventually
from tests.service.world import Caller, World, require_problem


@pytest.fixture(autouse=True)
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same machinery, at a pace that a test can wait for."""
    monkeypatch.setattr(watching, "TICK_SECONDS", 0.05)
    monkeypatch.setattr(watching, "RECHECK_SECONDS", 0.1)
    monkeypatch.setattr(event_stream, "ALIVE_SECONDS", 0.2)


class Reader:
    """A reader of one stream."""

    def __init__(self, answer: httpx.Response) -> None:
        self.answer = answer
        self._lines = answer.iter_lines()

    def blocks(self) -> Iterator[dict[str, str]]:
        block: dict[str, str] = {}
        for line in self._lines:
            if not line and block:
                yield block
                block = {}
            elif line:
                name, _, value = line.partition(":")
                block[name] = value.strip()

    def event(self) -> tuple[str, dict[str, Any]]:
        """The next event, comments left out."""
        block = next(block for block in self.blocks() if "data" in block)
        assert block["event"] == "status"
        return block["id"], json.loads(block["data"])

    def rest(self) -> list[dict[str, str]]:
        """What is left until the end, without comments."""
        return [block for block in self.blocks() if "" not in block]


@contextmanager
def reading(
    served: Served, caller: Caller, job_id: str, last: str | None = None, **query: int
) -> Iterator[Reader]:
    headers = {"Authorization": f"Bearer {caller.key}"} | ({"Last-Event-ID": last} if last else {})
    path = f"{served.url}/v1/jobs/{job_id}/events"
    with httpx.stream("GET", path, headers=headers, params=query, timeout=600) as answer:
        yield Reader(answer)


def change(world: World, job_id: str, **values: object) -> None:
    with world.database.transaction() as session:
        row = session.get_one(Job, UUID(job_id))
        for name, value in values.items():
            setattr(row, name, value)


def begin(world: World, job_id: str, *, step: int = 0) -> None:
    now = world.clock.now()
    change(
        world, job_id, state="running", fence=1, attempts=1, shown_stage="train", shown_step=step, started_at=now,
        lease_expires_at=now + timedelta(hours=1),
    )  # fmt: skip


def end(world: World, job_id: str) -> None:
    change(
        world, job_id, state="failed", failure_code="training-failed", sealed_randomness_key=None, lease_expires_at=None,
        finished_at=world.clock.now(),
    )  # fmt: skip


def subscriptions_of(watch: JobWatch, monkeypatch: pytest.MonkeyPatch) -> list[Subscription]:
    """Every subscription that streams take from now on."""
    taken: list[Subscription] = []
    plain = watch.subscription

    @contextmanager
    def noted(*given: Any, **named: Any) -> Iterator[Subscription]:
        with plain(*given, **named) as subscription:
            taken.append(subscription)
            yield subscription

    monkeypatch.setattr(watch, "subscription", noted)
    return taken


def watched_by(world: World, *, subscriptions: int, subscriptions_per_principal: int) -> JobWatch:
    """The served application's watch from now on."""
    watch = JobWatch(
        partial(snapshots, world.database, clock=world.clock),
        subscriptions=subscriptions,
        subscriptions_per_principal=subscriptions_per_principal,
    )
    world.app.state.context = replace(world.app.state.context, job_watch=watch)
    return watch


def test_a_stream_tells_what_polling_tells_and_ends_with_the_job(world: World, served: Served) -> None:
    job_id = world.job()["id"]
    with reading(served, world.analyst, job_id) as reader:
        assert reader.answer.status_code == 200
        assert reader.answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert reader.answer.headers["cache-control"] == "no-store"
        assert reader.answer.headers["x-accel-buffering"] == "no"
        assert "content-length" not in reader.answer.headers
        assert next(reader.blocks()) == {"retry": "3000"}
        assert reader.event()[1] == world.analyst.get(f"/v1/jobs/{job_id}").json()
        begin(world, job_id, step=8)
        _, told = reader.event()
        assert told["progress"]["step"] == 8
        assert told == world.analyst.get(f"/v1/jobs/{job_id}").json()
        end(world, job_id)
        _, told = reader.event()
        assert told == world.analyst.get(f"/v1/jobs/{job_id}").json()
        assert told["progress"]["step"] == 0, "how far a failed job came is not told here either"
        assert reader.rest() == []


def test_a_state_is_sent_once(world: World, served: Served) -> None:
    job_id = world.job()["id"]
    with reading(served, world.owner, job_id, longest_seconds=1) as reader:
        blocks = list(reader.blocks())
    assert sum("data" in block for block in blocks) == 1
    assert sum("" in block for block in blocks) >= 2, "comments in between keep the connection"


def test_a_returning_reader_gets_only_new_events(world: World, served: Served) -> None:
    job_id = world.job()["id"]
    with reading(served, world.analyst, job_id) as reader:
        last, _ = reader.event()
    with reading(served, world.analyst, job_id, last=last) as reader:
        begin(world, job_id)
        assert reader.event()[1]["state"] == "running"
        end(world, job_id)
        last, told = reader.event()
    assert told["state"] == "failed"
    with reading(served, world.analyst, job_id, last=last) as reader:
        assert reader.answer.status_code == 204, "which tells a browser to stop coming back"
    with reading(served, world.analyst, job_id, last="something else") as reader:
        assert [json.loads(block["data"])["state"] for block in reader.rest()[1:]] == ["failed"]


def test_without_the_right_to_see_the_job_the_stream_answers_as_polling_does(world: World) -> None:
    job_id = world.job()["id"]
    path = f"/v1/jobs/{job_id}/events"
    hidden = world.stranger.get(path)
    assert "data:" not in hidden.text
    require_problem(hidden, status=404, code="job-not-found")
    require_problem(world.analyst.get(f"/v1/jobs/{uuid4()}/events"), status=404, code="job-not-found")
    require_problem(world.client.get(path), status=401, code="key-missing")


def test_a_revoked_key_ends_its_stream_and_no_other(world: World, served: Served) -> None:
    job_id = world.job()["id"]
    doomed = world.caller(Role.ADMIN)
    key_id = next(
        key["id"] for key in world.admin.get("/v1/keys").json()["items"] if key["prefix"] == doomed.key[3:11]
    )
    with reading(served, doomed, job_id) as reader, reading(served, world.analyst, job_id) as other:
        reader.event()
        other.event()
        assert world.admin.delete(f"/v1/keys/{key_id}").status_code in {200, 204}
        assert reader.rest() == []
        begin(world, job_id)
        assert other.event()[1]["state"] == "running"


def test_who_loses_sight_of_the_dataset_loses_the_stream(world: World, served: Served) -> None:
    job = world.job()
    with reading(served, world.owner, job["id"]) as reader:
        reader.event()
        with world.database.transaction() as session:
            session.execute(
                text("UPDATE datasets SET owner_id = :somebody WHERE id = :id"),
                {"somebody": uuid4(), "id": UUID(job["dataset_id"])},
            )
        assert reader.rest() == []


def test_streams_outlive_a_short_absence_of_the_database_but_not_a_long_one(
    world: World, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = world.job()["id"]
    subscriptions = subscriptions_of(world.app.state.context.job_watch, monkeypatch)
    plain = world.database.autocommit_read
    away = threading.Event()

    def autocommit_read(read: Any) -> Any:
        if away.is_set():
            raise DatabaseUnavailable("away")
        return plain(read)

    monkeypatch.setattr(world.database, "autocommit_read", autocommit_read)
    with reading(served, world.analyst, job_id) as reader:
        reader.event()
        away.set()
        (subscription,) = subscriptions
        since = subscription.checked_at
        time.sleep(0.3)
        away.clear()
        assert eventually(lambda: subscription.checked_at > since)
        begin(world, job_id)
        assert reader.event()[1]["state"] == "running"
        monkeypatch.setattr(watching, "UNCHECKED_SECONDS", 0.3)
        away.set()
        assert reader.rest() == []


def test_a_hundred_readers_are_read_for_by_one_thread_and_hold_no_connection(
    world: World, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = world.job()["id"]
    watch = world.app.state.context.job_watch
    asking = threading.Lock()
    plain = repository.statuses
    asked: list[tuple[float, set[UUID]]] = []

    def statuses(session: Any, job_ids: Any, **at: Any) -> Any:
        assert asking.acquire(blocking=False), "two ask at a time"
        try:
            asked.append((time.monotonic(), set(job_ids)))
            return plain(session, job_ids, **at)
        finally:
            asking.release()

    monkeypatch.setattr(repository, "statuses", statuses)
    head = (
        f"GET /v1/jobs/{job_id}/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {world.analyst.key}\r\n\r\n"
    ).encode()
    others = threading.active_count()  # of earlier tests in this process too
    with ExitStack() as stack:
        readers = []
        for _ in range(100):
            connection = stack.enter_context(socket.create_connection((served.host, served.port)))
            connection.sendall(head)
            readers.append(connection)
        assert eventually(lambda: watch.open_streams == 100, seconds=60)
        threads = threading.active_count() - others
        assert threads < 60, "the pool's threads and a few more"
        begin(world, job_id)
        for connection in readers:
            connection.settimeout(30)
            told = b""
            while b'"running"' not in told:
                told += connection.recv(65536)
        with world.database.read_only() as session:
            count = text("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
            assert session.scalar(count) <= 4 + 4, "what the pools keep, whatever the number of readers"
    assert eventually(lambda: watch.open_streams == 0), "a reader that left gives its subscription back"
    assert all(job_ids <= {UUID(job_id)} for _, job_ids in asked), "one row for a hundred readers"
    (first, _), (last, _) = asked[0], asked[-1]
    # One more, for the first read may begin later in its tick than the last one does.
    assert len(asked) <= (last - first) / watching.TICK_SECONDS + 2, "one read a tick for all of them"


def test_as_many_streams_as_the_operator_allows(world: World, served: Served) -> None:
    job_id = world.job()["id"]
    watch = watched_by(world, subscriptions=1, subscriptions_per_principal=2)
    with reading(served, world.analyst, job_id) as reader:
        reader.event()
        require_problem(world.analyst.get(f"/v1/jobs/{job_id}/events"), status=503, code="service-busy")
    assert eventually(lambda: watch.open_streams == 0)
    with reading(served, world.analyst, job_id) as reader:
        reader.event()


def test_one_principals_streams_leave_room_for_the_next(world: World, served: Served) -> None:
    job_id = world.job()["id"]
    settings = world.app.state.context.settings
    assert settings.event_streams_per_principal * 4 <= settings.event_streams
    watch = watched_by(world, subscriptions=8, subscriptions_per_principal=2)
    with reading(served, world.analyst, job_id) as first, reading(served, world.analyst, job_id) as second:
        first.event()
        second.event()
        answer = world.analyst.get(f"/v1/jobs/{job_id}/events")
        problem = require_problem(answer, status=429, code="share-used-up")
        assert "2 concurrent event streams" in problem["detail"]
        assert answer.headers["retry-after"]
        with reading(served, world.owner, job_id) as other:
            other.event()
    assert eventually(lambda: watch.open_streams == 0)
    with reading(served, world.analyst, job_id) as again:
        again.event()


def test_a_stream_that_was_admitted_while_others_took_the_last_stream_is_refused(world: World) -> None:
    job_id, person = UUID(world.job()["id"]), uuid4()
    watch = watching.JobWatch(
        partial(snapshots, world.database, clock=world.clock), subscriptions=8, subscriptions_per_principal=1
    )
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def run() -> None:
        first = JobSnapshot("0", "{}", is_last=False)
        stream = event_stream.EventStream(
            watch,
            job_id,
            first=first,
            known_id=None,
            admitted=lambda: None,
            longest_seconds=600,
            opened_by=person,
        )
        with watch.subscription(job_id, lambda: None, first=first, known_id=None, opened_by=person):
            await stream({"type": "http"}, anyio.sleep_forever, send)
        await watch.finish()

    anyio.run(run)
    assert [message.get("status") for message in sent] == [429, None]


def test_a_reader_that_takes_nothing_keeps_one_state_and_is_given_up(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "STUCK_SECONDS", 0.3)
    job_id = UUID(world.job()["id"])
    watch = watching.JobWatch(
        partial(snapshots, world.database, clock=world.clock), subscriptions=1, subscriptions_per_principal=1
    )
    subscriptions = subscriptions_of(watch, monkeypatch)
    taken: list[bytes] = []

    async def send(message: Any) -> None:
        if len(taken) >= 2:
            await anyio.sleep_forever()
        taken.append(message.get("body", b""))

    async def receive() -> Any:
        await anyio.sleep_forever()

    async def run() -> None:
        first = JobSnapshot("0", "{}", is_last=False)
        stream = event_stream.EventStream(
            watch,
            job_id,
            first=first,
            known_id=None,
            admitted=lambda: None,
            longest_seconds=600,
            opened_by=uuid4(),
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stream, {"type": "http"}, receive, send)
            with anyio.fail_after(30):
                while not subscriptions:  # noqa: ASYNC110 - the watch announces nothing to tests
                    await anyio.sleep(0.01)
                (subscription,) = subscriptions
                for number in range(1000):
                    subscription.put(JobSnapshot(str(number), "{}", is_last=False))
                assert await subscription.take(seconds=1) == JobSnapshot("999", "{}", is_last=False)
                assert await subscription.take(seconds=0.01) is None
                while watch.open_streams:  # noqa: ASYNC110 - likewise
                    await anyio.sleep(0.01)
        await watch.finish()

    anyio.run(run)
    assert len(taken) == 2


def test_a_seat_keeps_the_newest_and_ends_after_it() -> None:
    async def run() -> None:
        subscription = Subscription(uuid4(), lambda: None, known_id="a", opened_by=uuid4())
        subscription.put(JobSnapshot("a", "known", is_last=False))
        assert await subscription.take(seconds=0.01) is None
        subscription.put(JobSnapshot("b", "skipped", is_last=False))
        subscription.put(JobSnapshot("c", "last", is_last=True))
        subscription.close()
        assert (await subscription.take(seconds=5)) == JobSnapshot("c", "last", is_last=True)
        assert await subscription.take(seconds=5) is None

    anyio.run(run)
