"""A request whose body has two lengths is refused: a proxy in front may have believed the other one."""

import json
import socket
from collections.abc import Iterator

import pytest
from fastapi import FastAPI, Request

from tests.service.serving import Served, serving
from tests.service.test_deadlines import until_closed

CHUNKED = "Transfer-Encoding: chunked"
SMUGGLED = "POST /echo HTTP/1.1\r\nHost: smuggled\r\n\r\n"


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    app = FastAPI()

    @app.post("/echo")
    async def echo(request: Request) -> dict[str, int]:
        return {"bytes": len(await request.body())}

    with serving(app) as served:
        yield served


def sent(served: Served, text: str) -> bytes:
    with socket.create_connection((served.host, served.port)) as connection:
        connection.sendall(text.encode())
        return until_closed(connection)


@pytest.mark.parametrize(
    "headers",
    [
        ("Content-Length: 5", CHUNKED),
        (CHUNKED, "Content-Length: 5"),
        ("content-length: 0", "TRANSFER-ENCODING: Chunked"),
        ("Content-Length: 5", "Content-Length: 5", CHUNKED),
    ],
    ids=", ".join,
)
def test_content_length_together_with_transfer_encoding_is_refused(
    served: Served, headers: tuple[str, ...]
) -> None:
    lines = "\r\n".join(("POST /echo HTTP/1.1", "Host: x", "Content-Type: application/json", *headers))
    answer = sent(served, f"{lines}\r\n\r\n0\r\n\r\n{SMUGGLED}")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"connection: close" in head.lower()
    # Nothing after it is read as a request of its own.
    assert answer.count(b"HTTP/1.1 ") == 1
    assert json.loads(body)["code"] == "malformed-request"
    assert "Transfer-Encoding" in json.loads(body)["detail"]


@pytest.mark.parametrize("header", [CHUNKED, "Content-Length: 7"])
def test_one_of_the_two_is_enough(served: Served, header: str) -> None:
    body = "2\r\n{}\r\n0\r\n\r\n" if header == CHUNKED else "{     }"
    lines = f"POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{header}"
    answer = sent(served, f"{lines}\r\nContent-Type: application/json\r\n\r\n{body}")
    assert answer.startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("line", ["GET /echo", "GET /echo HTTP/1.1\r\nno colon"])
def test_what_is_no_http_is_refused_in_the_one_shape(served: Served, line: str) -> None:
    head, _, body = sent(served, f"{line}\r\n\r\n").partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"content-type: application/problem+json" in head.lower()
    assert json.loads(body)["code"] == "malformed-request"
