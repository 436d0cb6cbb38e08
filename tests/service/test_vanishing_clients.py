"""Clients that go away in the middle of a body, over real sockets: no error of the service, whatever the endpoint."""

import socket
import struct
from collections.abc import Callable

import pytest

from tests.service.serving import Served, eventually
from tests.service.world import World

CLIENT_CLOSED = "499"


def leave_midway(served: Served, path: str, *, reset: bool, head: str = "") -> None:
    """Announce a body, send one byte of it, and close or reset the connection."""
    with socket.create_connection((served.host, served.port)) as connection:
        lines = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n{head}\r\n{{"
        connection.sendall(lines.encode())
        if reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def answered(world: World, route: str) -> dict[str, float]:
    """How many requests of a route were counted, by status."""
    found: dict[str, float] = {}
    for family in world.app.state.context.recorder.registry().collect():
        for sample in family.samples:
            if sample.name == "understudy_http_requests_total" and sample.labels["route"] == route:
                found[sample.labels["status"]] = found.get(sample.labels["status"], 0) + sample.value
    return found


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
@pytest.mark.parametrize("path", ["/v1/datasets", "/v1/session", "/v1/keys"])
def test_a_client_that_leaves_in_the_middle_of_a_body_is_no_error(
    world: World, served: Served, log_text: Callable[[], str], path: str, reset: bool
) -> None:
    caller = {"/v1/datasets": world.owner, "/v1/keys": world.admin}.get(path)
    key = "" if caller is None else f"Authorization: Bearer {caller.key}\r\n"
    for _ in range(20):
        leave_midway(served, path, reset=reset, head=key)
    assert eventually(lambda: sum(answered(world, path).values()) == 20)
    assert answered(world, path) == {CLIENT_CLOSED: 20}
    assert "request-failed" not in log_text()
    assert "Traceback" not in log_text()


def test_a_form_that_breaks_off_is_no_error(
    world: World, served: Served, log_text: Callable[[], str]
) -> None:
    """The dashboard's forms are read by another reader than JSON."""
    with socket.create_connection((served.host, served.port)) as connection:
        head = "POST /sign-in HTTP/1.1\r\nHost: x\r\nOrigin: https://x\r\nSec-Fetch-Site: same-origin\r\n"
        kind = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nkey="
        connection.sendall((head + kind).encode())
    assert eventually(lambda: sum(answered(world, "/sign-in").values()) == 1)
    assert answered(world, "/sign-in") == {CLIENT_CLOSED: 1}
    assert "request-failed" not in log_text()
