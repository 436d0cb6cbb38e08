"""Over real sockets: slow and vanishing callers, and answers without end."""

import resource
import socket
import threading
import time
from collections.abc import Iterator

import httpx
import pytest

from tests.core.artifacts import image_stand_in
from tests.service.serving import Served, eventually
from tests.service.test_upload import nothing_is_left
from tests.service.world import World


def headers_of(world: World) -> dict[str, str]:
    return {"Authorization": f"Bearer {world.owner.key}"}


def sampler_threads() -> int:
    return sum(thread.name.startswith("sampler") for thread in threading.enumerate())


def test_an_upload_that_breaks_off_leaves_nothing(world: World, served: Served, settings) -> None:
    dataset_id = world.declare()
    with socket.create_connection((served.host, served.port)) as connection:
        head = (
            f"POST /v1/datasets/{dataset_id}/rows HTTP/1.1\r\nHost: x\r\nContent-Type: text/csv\r\n"
            f"Authorization: Bearer {world.owner.key}\r\nContent-Length: 1000000\r\n\r\n"
        )
        connection.sendall(head.encode() + b"ward,age,sick,seen\n" + b"A,30,yes,2020-01-02\n" * 100)
        time.sleep(0.3)
    limit = world.app.state.context.limits.uploads
    assert eventually(lambda: limit.free == 4)
    assert nothing_is_left(world, settings, dataset_id)


def test_an_upload_that_falls_silent_is_given_up(world: World, served: Served, settings, monkeypatch) -> None:
    from service.edge.body_stream import BodyStream

    plain = BodyStream.__init__
    monkeypatch.setattr(
        BodyStream,
        "__init__",
        lambda self, request, *, max_bytes: plain(self, request, max_bytes=max_bytes, silence_seconds=0.2),
    )
    dataset_id = world.declare()
    with socket.create_connection((served.host, served.port)) as connection:
        head = (
            f"POST /v1/datasets/{dataset_id}/rows HTTP/1.1\r\nHost: x\r\nContent-Type: text/csv\r\n"
            f"Authorization: Bearer {world.owner.key}\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        connection.sendall(head.encode() + b"5\r\nward,\r\n")
        connection.settimeout(10)
        answer = b""
        while b"}" not in answer and (piece := connection.recv(65536)):  # head and body may come apart
            answer += piece
    assert b" 400 " in answer.split(b"\r\n", 1)[0]
    assert b"upload-interrupted" in answer
    assert nothing_is_left(world, settings, dataset_id)


def test_a_chunked_upload_over_a_socket(world: World, served: Served) -> None:
    dataset_id = world.declare(declared_size=200_000)

    def pieces() -> Iterator[bytes]:
        yield b"ward,age,sick,seen\n"
        for _ in range(2000):
            yield b"A,30,yes,2020-01-02\n" * 100

    answer = httpx.post(
        f"{served.url}/v1/datasets/{dataset_id}/rows",
        content=pieces(),
        headers=headers_of(world) | {"Content-Type": "text/csv"},
        timeout=600,
    )
    assert answer.status_code == 201, answer.text
    assert answer.json()["rows_accepted"] == 200_000


@pytest.mark.parametrize("file_format", ["csv", "parquet", "jsonl", "arrow", "npz"])
def test_an_endless_sample_stops_when_its_reader_leaves(
    world: World, served: Served, file_format: str
) -> None:
    images = file_format == "npz"
    release_id = world.release(image_stand_in.bundle() if images else None)
    # All labels come before the first image, and take no thread: here less than two megabytes of eighty.
    rows = 900_000 if images else 10**12
    path = f"{served.url}/v1/releases/{release_id}/samples?rows={rows}&format={file_format}"
    received = sampling = 0
    with httpx.stream("GET", path, headers=headers_of(world), timeout=600) as answer:
        assert answer.status_code == 200
        for piece in answer.iter_raw():
            received += len(piece)
            sampling = max(sampling, sampler_threads())
            if received > 2_000_000:
                break
        assert sampling > 0
    assert eventually(lambda: sampler_threads() == 0)
    limit = world.app.state.context.sampling.streams.limit
    assert eventually(lambda: limit.free == 4)


def test_memory_does_not_grow_with_the_rows(world: World, served: Served) -> None:
    release_id = world.release()

    def read(rows: int) -> None:
        path = f"{served.url}/v1/releases/{release_id}/samples?rows={rows}"
        with httpx.stream("GET", path, headers=headers_of(world), timeout=600) as answer:
            for _ in answer.iter_raw():
                pass

    read(400_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    read(4_000_000)  # about 80 MB of CSV
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < 40_000_000


def test_the_api_answers_while_many_sample(world: World, served: Served) -> None:
    release_id = world.release()
    path = f"{served.url}/v1/releases/{release_id}/samples?rows={10**9}&format=parquet"
    leave = threading.Event()

    def sample() -> None:
        with httpx.stream("GET", path, headers=headers_of(world), timeout=600) as answer:
            for _ in answer.iter_raw():
                if leave.is_set():
                    return

    threads = [threading.Thread(target=sample) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        limit = world.app.state.context.sampling.streams.limit
        assert eventually(lambda: limit.free == 0)
        busy = httpx.get(path, headers=headers_of(world), timeout=600)
        assert (busy.status_code, busy.json()["code"]) == (503, "service-busy")
        for _ in range(10):
            answer = httpx.get(f"{served.url}/v1/datasets", headers=headers_of(world), timeout=600)
            assert answer.status_code == 200
    finally:
        leave.set()
        for thread in threads:
            thread.join(timeout=600)


def test_an_answer_that_fails_midway_is_cut_and_not_ended(
    world: World, served: Served, monkeypatch, log_text
) -> None:
    """Else a reader would take a part of the rows for all of them."""

    def breaks(*_args: object, **_options: object) -> Iterator[bytes]:
        yield b"ward,age,sick,seen\n"
        raise RuntimeError("the row was cAnArY")

    release_id = world.release()
    monkeypatch.setattr("core.artifacts.sampling.formats.stream", breaks)
    with pytest.raises(httpx.RemoteProtocolError):
        httpx.get(f"{served.url}/v1/releases/{release_id}/samples", headers=headers_of(world))
    assert eventually(lambda: "request-failed" in log_text())
    assert "cAnArY" not in log_text()
