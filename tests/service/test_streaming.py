import threading

import anyio
import anyio.lowlevel
import pytest

from service.caches import OpenedCache
from service.edge.concurrency import ConcurrencyLimit, ServiceBusy
from service.edge.streaming import Streams

SCOPE = {"type": "http", "asgi": {"spec_version": "2.3"}, "headers": []}


class Source:
    """Pieces without end, that notice being stopped."""

    def __init__(self, *, fails_after: int | None = None) -> None:
        self.made = 0
        self.running = 0
        self.most_running = 0
        self.stopped = threading.Event()
        self._fails_after = fails_after

    def pieces(self):
        try:
            while True:
                if self.made == self._fails_after:
                    raise RuntimeError("secret")
                self.made += 1
                yield b"piece"
        finally:
            self.stopped.set()


async def leave_after(count: int, streams: Streams, source: Source) -> int:
    """Read some pieces, then go away, as a server reports it. Returns how many were read."""
    read = 0
    gone = anyio.Event()

    async def send(message):
        nonlocal read
        read += message.get("body", b"") != b""
        if read >= count:
            gone.set()

    async def receive():
        await gone.wait()
        return {"type": "http.disconnect"}

    answer = streams.answer(source.pieces(), media_type="text/plain", headers={})
    await answer(SCOPE, receive, send)
    return read


def test_a_reader_who_leaves_stops_the_work() -> None:
    source = Source()
    anyio.run(leave_after, 3, Streams(workers=1, streams=1), source)
    assert source.stopped.is_set()
    assert source.made < 10


def test_a_place_is_free_again_after_the_reader_has_left() -> None:
    streams = Streams(workers=1, streams=1)

    async def three_times() -> None:
        for _ in range(3):
            source = Source()
            assert await leave_after(1, streams, source) >= 1
            assert source.stopped.is_set()

    anyio.run(three_times)


def test_a_server_that_reports_a_lost_connection_stops_the_work_too() -> None:
    source = Source()
    scope = {**SCOPE, "asgi": {"spec_version": "2.4"}}

    async def run() -> None:
        async def send(message):
            if message.get("body"):
                raise OSError

        answer = Streams(workers=1, streams=1).answer(source.pieces(), media_type="text/plain", headers={})
        with pytest.raises(Exception):  # noqa: B017, PT011 - starlette's ClientDisconnect, whatever its name
            await answer(scope, anyio.sleep_forever, send)

    anyio.run(run)
    assert source.stopped.is_set()


def test_readers_above_the_limit_get_service_busy() -> None:
    streams = Streams(workers=1, streams=1)
    statuses = []

    async def run() -> None:
        async with anyio.create_task_group() as group:
            started = anyio.Event()
            release = anyio.Event()

            async def slow_send(message):
                if message["type"] == "http.response.start":
                    statuses.append(message["status"])
                    started.set()
                await release.wait()

            async def late_receive():
                await anyio.sleep_forever()

            async def first() -> None:
                answer = streams.answer(iter_once(), media_type="text/plain", headers={})
                await answer(SCOPE, late_receive, slow_send)

            group.start_soon(first)
            await started.wait()

            async def send(message):
                if message["type"] == "http.response.start":
                    statuses.append(message["status"])

            second = streams.answer(iter_once(), media_type="text/plain", headers={})
            await second(SCOPE, late_receive, send)
            release.set()

    def iter_once():
        yield b"piece"

    anyio.run(run)
    assert statuses == [200, 503]


def test_only_so_many_pieces_are_made_at_once() -> None:
    streams = Streams(workers=2, streams=8)
    running, most = 0, 0
    lock = threading.Lock()

    def pieces():
        nonlocal running, most
        for _ in range(20):
            with lock:
                running += 1
                most = max(most, running)
            threading.Event().wait(0.001)
            with lock:
                running -= 1
            yield b"piece"

    async def read_all() -> None:
        async def send(message):
            await anyio.lowlevel.checkpoint()

        answer = streams.answer(pieces(), media_type="text/plain", headers={})
        await answer(SCOPE, anyio.sleep_forever, send)

    async def run() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(read_all)

    anyio.run(run)
    assert most == 2


def test_a_gate_lets_in_so_many_and_waits_no_longer_than_it_says() -> None:
    limit = ConcurrencyLimit(1, what="things", patience_seconds=0.05)
    with limit.hold(), pytest.raises(ServiceBusy), limit.hold():
        pass
    with limit.hold():
        pass
    impatient = ConcurrencyLimit(1, what="things")
    with impatient.hold(), pytest.raises(ServiceBusy), impatient.hold():
        pass


def test_a_sampler_is_opened_once_for_many_who_ask_at_the_same_time() -> None:
    from uuid import uuid4

    cache = OpenedCache(2)
    release_id, opened = uuid4(), []
    start = threading.Barrier(8)
    found = []

    def opener():
        opened.append(1)
        threading.Event().wait(0.02)
        return object()

    def ask() -> None:
        start.wait()
        found.append(cache.get(release_id, opener))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 1
    assert len(set(map(id, found))) == 1


def test_a_failure_to_open_is_not_remembered() -> None:
    from uuid import uuid4

    cache = OpenedCache(2)
    release_id = uuid4()

    def fails():
        raise OSError

    with pytest.raises(OSError):  # noqa: PT011 - our own opener
        cache.get(release_id, fails)
    assert cache.get(release_id, lambda: "open") == "open"
