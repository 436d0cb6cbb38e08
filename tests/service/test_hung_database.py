"""Postgres that hangs: every process of it is stopped while the API is asked over real sockets."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.core.db.stopping import stopped
from tests.service.serving import Served
from tests.service.world import OPTIONS, Caller, World
from understudy.embedded.postgres import PostgresServer

READY_SECONDS = 2.0
CALL_SECONDS = 10.0
CLIENTS = 50
"""More than there are threads and connections."""
NOBODYS = "us_00000000_" + "A" * 43


def bearer(caller: Caller) -> dict[str, str]:
    return {"Authorization": f"Bearer {caller.key}"}


def timed(ask: Callable[[], httpx.Response]) -> tuple[float, httpx.Response]:
    began = time.monotonic()
    answer = ask()
    return time.monotonic() - began, answer


@pytest.fixture
def ordering(world: World) -> dict[str, Any]:
    """An order that the budget allows exactly once."""
    return {"dataset_id": world.ready(), "epsilon": 1.5, "delta": 1e-6, "options": OPTIONS}


@pytest.fixture
def client(served: Served) -> Iterator[httpx.Client]:
    """One for all threads: making one takes longer than a request."""
    limits = httpx.Limits(max_connections=CLIENTS + 5)
    with httpx.Client(base_url=served.url, timeout=120, limits=limits) as client:
        yield client


def test_calls_end_in_time_with_a_clear_refusal_and_everything_works_afterwards(
    world: World, client: httpx.Client, postgres_server: PostgresServer, ordering: dict[str, Any]
) -> None:
    def place() -> httpx.Response:
        return client.post(
            "/v1/jobs", json=ordering, headers=bearer(world.analyst) | {"Idempotency-Key": "once"}
        )

    kinds: list[Callable[[], httpx.Response]] = [
        lambda: client.get("/v1/datasets", headers=bearer(world.owner)),
        lambda: client.get("/v1/datasets", headers={"Authorization": f"Bearer {NOBODYS}"}),
        place,
    ]
    assert client.get("/readyz").json()["checks"]["database"] == "ok"
    assert kinds[0]().status_code == 200
    found: list[tuple[int, str]] = []
    waits: list[float] = []
    with stopped(postgres_server), ThreadPoolExecutor(CLIENTS) as clients:
        asked = [clients.submit(timed, kinds[number % 3]) for number in range(CLIENTS)]
        for _ in range(4):
            seconds, ready = timed(lambda: client.get("/readyz"))
            found.append((ready.status_code, ready.json()["checks"]["database"]))
            waits += [seconds, timed(lambda: client.get("/healthz"))[0]]
            time.sleep(1)
        # The first two share the interpreter with fifty clients that start; a call that waits for Postgres takes longer.
        assert max(waits[:2]) < CALL_SECONDS
        assert max(waits[2:]) < READY_SECONDS
        # The first may still be what was found before.
        assert found[1:] == [(503, "failed")] * 3
        answers = [one.result(timeout=120) for one in asked]
        answers.append(timed(kinds[0]))
    for seconds, answer in answers:
        assert (answer.status_code, answer.json()["code"]) == (503, "database-unavailable"), answer.text
        assert "Retry-After" in answer.headers
        assert seconds < CALL_SECONDS

    end = time.monotonic() + 60
    while client.get("/readyz").status_code != 200:
        assert time.monotonic() < end
        time.sleep(0.2)
    placed = place()
    assert placed.status_code == 202, placed.text
    assert place().json()["id"] == placed.json()["id"]
    assert [entry["kind"] for entry in world.movements(ordering["dataset_id"])] == ["RESERVED"]
