"""Callers who are slow on purpose: heads, bodies and uploads that trickle, over real sockets."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest
import uvicorn
from fastapi import FastAPI, Request
from fastapi.testclient import TestClient

from service.edge.body_limit import BodyLimit
from service.edge.body_stream import LEAST_BYTES_PER_SECOND, BodyStream, UploadInterrupted
from service.edge.http_protocol import DeadlineProtocol
from service.problem import install_problems

SOON = 0.3


class Hasty(DeadlineProtocol):
    head_seconds = SOON


@pytest.fixture
def address() -> Iterator[tuple[str, int]]:
    app = FastAPI()
    install_problems(app)

    @app.post("/echo")
    async def echo(request: Request) -> dict[str, int]:
        return {"bytes": len(await request.body())}

    @app.get("/slow")
    def slow() -> dict[str, bool]:
        time.sleep(3 * SOON)
        return {"done": True}

    app.add_middleware(BodyLimit, max_bytes=1000, exempt=(), seconds=SOON)
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, http=Hasty, log_level="critical", lifespan="off", timeout_keep_alive=60)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield listener.getsockname()
    server.should_exit = True
    thread.join(timeout=600)
    listener.close()


def until_closed(connection: socket.socket) -> bytes:
    connection.settimeout(60)
    received = b""
    while piece := connection.recv(65536):
        received += piece
    return received


@pytest.mark.parametrize("begun", [b"", b"POST /echo HT", b"POST /echo HTTP/1.1\r\nHost: x\r\n"], ids=len)
def test_a_head_that_does_not_end_is_given_up(address, begun) -> None:
    with socket.create_connection(address) as connection:
        connection.sendall(begun)
        assert until_closed(connection) == b""


def test_trickling_does_not_prolong_a_head(address) -> None:
    def trickle(connection: socket.socket) -> None:
        for letter in "GET /slow HTTP/1.1\r\nX-Padding: " + "a" * 10_000:
            connection.sendall(letter.encode())
            time.sleep(SOON / 10)

    with socket.create_connection(address) as connection, pytest.raises(OSError):  # noqa: PT011 - closed or reset
        trickle(connection)


def test_the_second_head_of_a_connection_has_a_deadline_too(address) -> None:
    with socket.create_connection(address) as connection:
        whole = b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab"
        connection.sendall(whole)
        connection.settimeout(60)
        assert b"200 OK" in connection.recv(65536)
        connection.sendall(whole[:20])
        until_closed(connection)


def test_an_answer_may_take_longer_than_a_head(address) -> None:
    with socket.create_connection(address) as connection:
        connection.sendall(b"GET /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert b'{"done":true}' in until_closed(connection)


def test_a_body_that_does_not_end_is_answered_408(address) -> None:
    with socket.create_connection(address) as connection:
        connection.sendall(
            b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\nConnection: close\r\n\r\nab"
        )
        answer = until_closed(connection)
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"body-too-slow" in answer


def test_a_body_that_comes_in_time_is_read(address) -> None:
    with socket.create_connection(address) as connection:
        connection.sendall(
            b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nConnection: close\r\n\r\nab"
        )
        connection.sendall(b"cd")
        assert b'{"bytes":4}' in until_closed(connection)


@pytest.mark.parametrize(
    ("piece_bytes", "seconds_each", "let_in"),
    [(1, 30.0, False), (LEAST_BYTES_PER_SECOND * 29, 30.0, False), (LEAST_BYTES_PER_SECOND * 31, 30.0, True)],
    ids=["trickle", "too slow", "slow"],
)
def test_an_upload_slower_than_a_modem_is_given_up(piece_bytes, seconds_each, let_in) -> None:
    """Else four callers with a byte a minute would hold all places for uploads for ever."""
    app = FastAPI()
    outcome: list[object] = []

    @app.post("/")
    def upload(request: Request) -> None:
        ticks = iter(range(10_000))
        stream = BodyStream(
            request, max_bytes=10**9, now=lambda: next(ticks) * seconds_each
        )  # fmt: skip
        try:
            outcome.append(sum(len(piece) for piece in stream))
        except UploadInterrupted as refusal:
            outcome.append(refusal)

    def pieces() -> Iterator[bytes]:
        for _ in range(20):
            yield b"x" * piece_bytes

    # The test client hands over the whole body in one piece, so the pieces come from a stand-in for its stream.
    async def stream(_request: Request):
        for piece in pieces():
            yield piece

    original = Request.stream
    Request.stream = stream  # type: ignore[method-assign,assignment]
    try:
        with TestClient(app) as client:
            assert client.post("/").status_code == 200
    finally:
        Request.stream = original  # type: ignore[method-assign]
    assert (outcome == [20 * piece_bytes]) == let_in
