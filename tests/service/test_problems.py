"""Every refusal has the one shape and never echoes what was sent."""

import errno
import json
import threading
from contextlib import ExitStack
from uuid import uuid4

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from httpx2 import Response

from core.data.objects import open_store
from core.db.session import Database
from service.app import create_app
from service.edge.body_limit import MAX_DOMAIN_BYTES, MAX_JSON_BYTES
from tests.memory_queue import MemoryQueue
from tests.service.matrix import requests_on_nothing
from tests.service.world import Caller, World, require_problem

CANARY = "cAnArY7f3a"


def refused(answer: Response, *, status: int | None = None, code: str | None = None) -> None:
    require_problem(answer, status=status, code=code)
    assert CANARY not in answer.text


def test_an_unknown_path(world: World) -> None:
    for path in (
        "/v1",
        "/v2/datasets",
        f"/{CANARY}",
        "/v1/datasets/",
        "/redoc",
        "/openapi.json",
    ):
        refused(world.owner.get(path), status=404, code="not-found")


def test_a_wrong_method(world: World) -> None:
    answer = world.owner.send("PATCH", "/v1/datasets")
    refused(answer, status=405, code="method-not-allowed")
    assert "POST" in answer.headers["allow"] or "GET" in answer.headers["allow"]
    refused(world.owner.send(CANARY.upper(), "/v1/datasets"), status=405)


def test_a_head_request_is_answered_without_a_body(world: World) -> None:
    answer = world.client.head(f"/{CANARY}")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


def test_an_id_that_is_none(world: World) -> None:
    for endpoint, (method, path, options) in requests_on_nothing(world.app).items():
        parts = path.split("/")
        if len(parts) < 4 or "-" not in parts[3]:  # no id
            continue
        parts[3] = CANARY
        for caller in (world.owner, world.analyst, world.admin):
            answer = caller.send(method, "/".join(parts), **options)
            assert answer.status_code in {403, 422}, endpoint
            refused(answer)


NONSENSE = [
    CANARY.encode(),
    b"",
    b"{",
    b"[]",
    b"null",
    b'"%s"' % CANARY.encode(),
    b"\xff\xfe",
    json.dumps({CANARY: CANARY}).encode(),
    json.dumps(dict.fromkeys(("name", "roles", "epsilon", "delta", "dataset_id", "domain"), CANARY)).encode(),
    json.dumps(
        {"options": {CANARY: [CANARY]}, "domain": {CANARY: CANARY}, "roles": {CANARY: CANARY}}
    ).encode(),
]


def test_a_body_that_makes_no_sense(world: World) -> None:
    for method, path, options in requests_on_nothing(world.app).values():
        if "json" not in options:
            continue
        headers = {**options.get("headers", {}), "Content-Type": "application/json"}
        for body in NONSENSE:
            for caller in (world.owner, world.analyst, world.admin):
                answer = caller.send(method, path, content=body, headers=headers)
                assert answer.status_code in {400, 403, 404, 422}, answer.text
                refused(answer)


def test_a_body_of_another_type_is_refused(world: World) -> None:
    answer = world.owner.post("/v1/datasets", content=CANARY.encode(), headers={"Content-Type": "text/plain"})
    refused(answer, status=415, code="wrong-media-type")


def test_the_places_of_mistakes_are_named_with_our_own_words_only(world: World) -> None:
    body = {"dataset_id": CANARY, "epsilon": -1, CANARY: 1, "options": {CANARY: "\u0000"}}
    problem = require_problem(world.analyst.post("/v1/quotes", body), status=422)
    places = {(each["where"], each["kind"]) for each in problem["facts"]["problems"]}
    assert ("body.epsilon", "greater_than_equal") in places
    assert ("body.?", "extra_forbidden") in places
    # The command prints the detail and no facts.
    assert "body.epsilon (greater_than_equal)" in problem["detail"]
    assert CANARY not in json.dumps(problem)


@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize(
    ("path", "most"), [("/v1/quotes", MAX_JSON_BYTES), ("/v1/datasets", MAX_DOMAIN_BYTES)]
)
def test_a_body_that_is_too_large(world: World, announced: bool, path: str, most: int) -> None:
    size = most + 1

    def pieces():
        yield b"{"
        for _ in range(size // 65536 + 1):
            yield b" " * 65536

    content = b" " * size if announced else pieces()
    caller = world.analyst if path == "/v1/quotes" else world.owner
    answer = caller.post(path, content=content, headers={"Content-Type": "application/json"})
    refused(answer, status=413, code="too-large")


def test_what_nobody_expected_is_a_constant(world: World, monkeypatch, log_text) -> None:
    def breaks(*_args: object, **_options: object) -> None:
        raise RuntimeError(f"the row was {CANARY}")

    monkeypatch.setattr("service.datasets.endpoints.repository.page", breaks)
    answer = world.owner.get("/v1/datasets")
    refused(answer, status=500, code="internal-error")
    logged = log_text()
    assert CANARY not in logged
    event = next(json.loads(line) for line in logged.splitlines() if "request-failed" in line)
    assert event["exception"] == "RuntimeError"
    assert event["request_id"] == answer.headers["x-request-id"]
    assert any(place.startswith("endpoints.py:") for place in event["place"])


def test_a_full_disk_is_503(world: World, monkeypatch) -> None:
    def breaks(*_args: object, **_options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/a/private/path")

    dataset_id = world.declare()
    monkeypatch.setattr("service.datasets.upload.store_rows", breaks)
    refused(world.upload(dataset_id), status=503, code="storage-unavailable")
    monkeypatch.undo()
    assert world.upload(dataset_id).status_code == 201, "nothing was half-stored"


def test_a_failure_of_the_database_is_a_problem_without_its_words(world: World, log_text) -> None:
    from sqlalchemy import text

    with world.database.transaction() as session:
        session.execute(text("ALTER TABLE datasets RENAME TO gone"))
    try:
        answer = world.owner.get("/v1/datasets")
        assert answer.status_code == 500
        refused(answer)
        assert "datasets" not in answer.text
        assert "does not exist" not in log_text()
    finally:
        with world.database.transaction() as session:
            session.execute(text("ALTER TABLE gone RENAME TO datasets"))


def test_what_is_written_into_the_document_stays_out_of_the_next(world: World) -> None:
    """Libraries that try an API write links into the document that they were given."""
    world.app.openapi()["paths"].clear()
    assert "/v1/datasets" in world.app.openapi()["paths"]


def test_a_database_that_is_away_is_503(world: World, settings) -> None:
    nowhere = Database("postgresql://nobody@127.0.0.1:1/nothing")
    app = create_app(settings, database=nowhere, queue=MemoryQueue(), store=open_store("memory://"))
    with TestClient(app) as client:
        answer = client.get("/v1/datasets", headers={"Authorization": f"Bearer {world.owner.key}"})
        refused(answer, status=503, code="database-unavailable")
        assert answer.headers["retry-after"]
        assert "127.0.0.1" not in answer.text
        ready = client.get("/readyz")
        assert (ready.status_code, ready.json()["checks"]["database"]) == (503, "failed")
        assert client.get("/v1/health").json() == {"status": "alive"}


def test_every_answer_has_an_id_and_the_security_headers(world: World) -> None:
    ids = set()
    for path in ("/v1/datasets", "/nowhere", "/v1/health", "/v1/openapi.json", f"/v1/jobs/{uuid4()}"):
        answer = world.owner.get(path, headers={"X-Request-Id": CANARY})
        ids.add(answer.headers["x-request-id"])
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers
    assert len(ids) == 5
    assert CANARY not in ids


def test_the_document_describes_every_endpoint_and_its_problems(world: World) -> None:
    document = world.client.get("/v1/openapi.json").json()
    schemas = document["components"]["schemas"]
    assert "HTTPValidationError" not in json.dumps(document)
    assert set(schemas["Problem"]["properties"]) == set(schemas["Problem"]["required"])
    codes = set()
    for path, operations in document["paths"].items():
        for operation in operations.values():
            assert operation["summary"], path
            assert operation["tags"], path
            if not path.startswith("/v1/") or path == "/v1/health":
                continue
            assert operation["description"], path
            assert (
                operation["operationId"].startswith(("create_session_", "accept_enrolment_"))
                or operation["security"]
            ), path
            for status, response in operation["responses"].items():
                if status.startswith(("4", "5")):
                    (media_type,) = response["content"]
                    assert media_type == "application/problem+json", (path, status)
                    examples = response["content"][media_type]["examples"]
                    for code, example in examples.items():
                        assert example["value"]["code"] == code
                        assert example["value"]["status"] == int(status)
                        codes.add(code)
            assert {"401", "403", "422", "500", "503"} <= set(operation["responses"]), path
    assert {"budget-refused", "idempotency-key-missing", "rows-already-stored", "dataset-not-ready"} <= codes


def test_nothing_is_sent_to_telemetry(world: World) -> None:
    """FastAPI can export bodies and exception texts by itself; here it must not, whatever the environment says."""
    # private: FastAPI tells what it exports in no other way
    telemetry = world.app._telemetry
    assert [
        telemetry[name] for name in ("tracing", "metrics", "logs", "operation_spans", "auto_configure")
    ] == [False] * 5


def tight(world: World, settings, *, wait_seconds: float) -> tuple[FastAPI, Database]:
    """The same API with four connections to the database."""
    database = Database(settings.database_url, pool_size=2, max_overflow=2, pool_timeout_seconds=wait_seconds)
    return create_app(settings, database=database, queue=MemoryQueue(), store=world.store), database


def test_a_crowd_larger_than_the_pool_and_the_threads_is_served(world: World, settings) -> None:
    """Nobody waits for a thread while holding a connection: else the two would wait for each other."""
    app, database = tight(world, settings, wait_seconds=30)
    statuses = []
    with TestClient(app) as client:
        caller = Caller(client, world.owner.key, world.owner.principal_id)
        threads = [
            threading.Thread(target=lambda: statuses.append(caller.get("/v1/datasets").status_code))
            for _ in range(90)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert statuses == [200] * 90
    database.close()


def test_a_pool_without_a_free_connection_is_503(world: World, settings) -> None:
    app, database = tight(world, settings, wait_seconds=0.05)
    with TestClient(app) as client, ExitStack() as held:
        for _ in range(4):
            held.enter_context(database.engine.connect())
        answer = client.get("/v1/datasets", headers={"Authorization": f"Bearer {world.owner.key}"})
    refused(answer, status=503, code="database-busy")
    database.close()
