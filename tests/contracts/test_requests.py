"""What is ambiguous, malformed or undocumented is refused in the one shape, after asking who is there."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import iter_route_contexts
from fastapi.testclient import TestClient

from service.auth.table import OPEN, TABLE
from service.edge.json_body import read_json
from service.strict_route import StrictRoute
from tests.contracts.test_hostile_numbers import caller_of
from tests.service.matrix import Operation, nobodys, objects, operations
from tests.service.world import World, require_problem

JSON = {"Content-Type": "application/json"}
# They take any query, as probes and scrapers like to add some, and no body.
LENIENT = frozenset({"read_health", "read_liveness", "read_readiness", "read_metrics"})
# They take a member's token in place of a key.
OF_MEMBERS = frozenset({"read_membership", "read_round", "read_state"})
# It lists who exported it before, so the second is longer by the first.
GROWS = frozenset({"export_dossier"})

UNREADABLE = {
    "empty-object-cut": b"{",
    "not-utf8": b'{"name": "\xff"}',
    "utf16": '{"name": "a"}'.encode("utf-16"),
    "byte-order-mark": b"\xef\xbb\xbf{}",
    "two-documents": b"{} {}",
    "comment": b"{} // no",
    "single-quotes": b"{'name': 1}",
    "white-space": b"   ",
}
AMBIGUOUS = {
    "duplicate_name": b'{"name": 1, "name": 2}',
    "nested_too_deeply": b"[" * 100_000 + b"]" * 100_000,
    "finite_number": b'{"epsilon": NaN}',
    "integer_too_large": b'{"epsilon": 123456789012345678901234567890}',
}


_PATHS: dict[str, Any] = {}


def described(app: FastAPI, operation: Operation) -> dict[str, Any]:
    if not _PATHS:  # every world serves the same document, and each call makes a new one of a megabyte
        _PATHS.update(app.openapi()["paths"])
    found: dict[str, Any] = _PATHS[operation.path][operation.method.lower()]
    return found


def taking_json(app: FastAPI) -> list[Operation]:
    found = [
        entry
        for entry in operations(app)
        if "application/json" in described(app, entry).get("requestBody", {}).get("content", {})
    ]
    assert len(found) > 10
    return found


def test_every_route_reads_strictly(world: World) -> None:
    for route in iter_route_contexts(world.app.routes):
        if route.name in TABLE or route.name in OPEN - LENIENT:
            assert isinstance(route.original_route, StrictRoute), route.path


def test_who_may_not_ask_learns_that_before_anything_is_read(world: World) -> None:
    ids = nobodys(world.app)
    for operation in operations(world.app):
        if operation.name not in TABLE:
            continue
        method, path, _ = operation.request(ids)
        for headers in ({}, {"Authorization": "Bearer us_00000000_nothing"}):
            asked = [
                {"params": {"no_such": "1"}},
                {"content": b"{", "headers": JSON},
                {"content": b"\xff" * 99},
            ]
            for options in asked:
                sent = {**options, "headers": {**options.get("headers", {}), **headers}}
                require_problem(world.client.request(method, path, **sent), status=401)


def test_a_body_that_cannot_be_read(world: World) -> None:
    ids = nobodys(world.app)
    for operation in taking_json(world.app):
        method, path, options = operation.request(ids)
        for name, content in (UNREADABLE | AMBIGUOUS).items():
            headers = {**options.get("headers", {}), **JSON}
            if operation.name in OPEN:
                answer = world.client.request(method, path, content=content, headers=headers)
            else:
                answer = caller_of(world, operation).send(method, path, content=content, headers=headers)
            if name in UNREADABLE:
                require_problem(answer, status=400, code="malformed-request")
            else:
                problem = require_problem(answer, status=422, code="invalid-input")
                assert problem["facts"]["problems"][0]["kind"] == name


@pytest.mark.parametrize(
    "media_type",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/xml",
        "application/json; charset=utf-16",
        "",
        "json",
    ],
)
def test_a_body_of_another_type(world: World, media_type: str) -> None:
    ids = nobodys(world.app)
    for operation in taking_json(world.app):
        if operation.name not in OPEN:
            method, path, options = operation.request(ids)
            headers = {**options.get("headers", {}), "Content-Type": media_type}
            answer = caller_of(world, operation).send(method, path, content=b"{}", headers=headers)
            require_problem(answer, status=415, code="wrong-media-type")


def test_queries_are_what_the_document_says(world: World) -> None:
    things = objects(world)
    for operation in operations(world.app):
        if operation.name not in TABLE:
            continue
        method, path, options = operation.request(things)
        caller, query = caller_of(world, operation), list(options.pop("params", {}).items())
        answer = caller.send(method, path, **options, params=[*query, ("no_such", "1")])
        assert answer.status_code == 422, (operation.name, answer.text)
        problem = require_problem(answer, status=422, code="invalid-input")
        assert problem["facts"]["problems"] == [{"where": "query.?", "kind": "extra_forbidden"}]
        for parameter in described(world.app, operation).get("parameters", ()):
            if parameter["in"] == "query" and parameter["schema"].get("type") != "array":
                name = parameter["name"]
                answer = caller.send(method, path, **options, params=[(name, "1"), (name, "1")])
                problem = require_problem(answer, status=422, code="invalid-input")
                assert {"where": f"query.{name}", "kind": "repeated"} in problem["facts"]["problems"]


@pytest.mark.parametrize("key", ["", "a b", "a\tb", "\u00e9".encode("latin-1"), "x" * 256, "x" * 10_000])
def test_a_malformed_idempotency_key(world: World, key: str) -> None:
    dataset_id = world.ready()
    answer = world.analyst.post(
        "/v1/jobs", {"dataset_id": dataset_id, "epsilon": 1}, headers={"Idempotency-Key": key}
    )
    require_problem(answer, status=422)


def test_a_header_that_decides_something_is_sent_once(world: World) -> None:
    client: TestClient = world.client
    for name in ("Authorization", "Idempotency-Key", "Content-Type"):
        headers = [
            ("Authorization", f"Bearer {world.analyst.key}"),
            ("Idempotency-Key", "one"),
            ("Content-Type", "application/json"),
        ]
        answer = client.post("/v1/jobs", content=b"{}", headers=[*headers, (name, dict(headers)[name])])
        assert require_problem(answer)["code"] in {"malformed-request", "key-missing", "key-refused"}


def test_head_is_answered_wherever_get_is(world: World) -> None:
    things = objects(world)
    world.analyst.post(f"/v1/jobs/{things['job_id']}/cancel")
    for operation in operations(world.app):
        if operation.method != "GET" or operation.name in LENIENT | OF_MEMBERS:
            continue
        _, path, options = operation.request(things)
        caller = caller_of(world, operation)
        got, asked = caller.send("GET", path, **options), caller.send("HEAD", path, **options)
        assert (asked.status_code, asked.content) == (got.status_code, b""), operation.name
        for name in ("content-type", "content-length", "content-disposition"):
            if name != "content-length" or operation.name not in GROWS:
                assert asked.headers.get(name) == got.headers.get(name), operation.name


def test_head_of_an_endless_answer_ends(world: World) -> None:
    # The events first: whoever reads for streams has then left the database before the application ends.
    for make in (
        lambda: f"/v1/jobs/{world.job()['id']}/events",
        lambda: f"/v1/releases/{world.release()}/samples?rows={10**12}",
    ):
        answer = world.analyst.send("HEAD", make())
        assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize("method", ["PATCH", "TRACE", "OPTIONS", "QUERY", "NONSENSE"])
def test_another_method_gets_the_list_of_allowed_ones(world: World, method: str) -> None:
    ids = nobodys(world.app)
    for path, entries in world.app.openapi()["paths"].items():
        if method.lower() in entries:
            continue
        answer = world.client.request(method, path.format_map(ids))
        require_problem(answer, status=405, code="method-not-allowed")
        allowed = {name.upper() for name in entries} | ({"HEAD"} if "get" in entries else set())
        assert set(answer.headers["allow"].split(", ")) == allowed, path


def test_every_text_is_one_that_the_database_can_hold(world: World) -> None:
    things = objects(world)
    schemas = world.app.openapi()["components"]["schemas"]
    seen = 0
    for operation in taking_json(world.app):
        if operation.name in OPEN:
            continue
        schema = described(world.app, operation)["requestBody"]["content"]["application/json"]["schema"]
        method, path, options = operation.request(things)
        caller = caller_of(world, operation)
        for name in texts_of(schema, schemas):
            for text in ("\x00", "a\x00b", "\ud800", "x" * 100_000):
                seen += 1
                content = json.dumps(options.get("json", {}) | {name: text}).encode()
                answer = caller.send(
                    method, path, content=content, headers={**options.get("headers", {}), **JSON}
                )
                assert answer.status_code in {415, 422}, answer.text
                problem = require_problem(answer)
                assert name in json.dumps(problem) or problem["code"] != "invalid-input", (
                    operation.name,
                    name,
                )
    for parameter, path in (
        ("dataset_id", "/v1/jobs"),
        ("state", "/v1/budget-requests"),
        ("before", "/v1/datasets"),
    ):
        require_problem(world.analyst.get(path, params={parameter: "a\x00b"}), status=422)
    assert seen > 40


def texts_of(schema: dict[str, Any], schemas: dict[str, Any]) -> Iterator[str]:
    schema = schemas[schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema
    for name, part in schema.get("properties", {}).items():
        if any(each.get("type") == "string" for each in (part, *part.get("anyOf", ()))):
            yield name


def test_pages_are_of_a_sane_size(world: World) -> None:
    pages = [
        entry.path
        for entry in operations(world.app)
        if entry.method == "GET"
        and any(
            parameter["name"] == "limit" for parameter in described(world.app, entry).get("parameters", ())
        )
        and not entry.parameters
    ]
    assert len(pages) >= 4
    for path in pages:
        for text in ("-1", "0", "201", "1e3", "nan", "true", "", "9" * 400):
            caller = caller_of(
                world,
                next(
                    entry for entry in operations(world.app) if entry.path == path and entry.method == "GET"
                ),
            )
            require_problem(caller.get(path, params={"limit": text}), status=422)


def test_a_name_that_stands_twice_among_many_is_found_at_once() -> None:
    names = ",".join(f'"n{number}":0' for number in range(100_000))
    begun = time.process_time()
    with pytest.raises(RequestValidationError, match="duplicate_name"):
        read_json(f'{{{names},"n99999":1}}'.encode())
    assert time.process_time() - begun < 5.0, "comparing every name with every other takes minutes"


def test_a_body_is_parsed_only_for_those_who_may_ask(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[bytes] = []

    def noted(body: bytes) -> Any:
        parsed.append(body)
        return read_json(body)

    monkeypatch.setattr("service.strict_route.read_json", noted)
    for content in (b"{}", b"{" + b" " * 100_000 + b"}"):
        answer = world.client.post("/v1/jobs", content=content, headers=JSON)
        require_problem(answer, status=401, code="key-missing")
    assert parsed == []
    require_problem(world.analyst.post("/v1/jobs", {}), status=422)
    assert parsed == [b"{}"]
