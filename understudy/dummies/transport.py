"""An httpx transport that answers a dummy client in this process. Uploads are never read."""

import json
import re
from collections.abc import Callable
from typing import Any, Final

import httpx

from understudy.documents import Json
from understudy.dummies.refusals import DummyRefusal
from understudy.dummies.service import DummyService

Handler = Callable[..., "Json | bytes | None"]
_ID: Final = r"([^/]+)"
_NO_CONTENT: Final = 204


class DummyTransport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Answers requests of either client."""

    def __init__(self, service: DummyService) -> None:
        self._routes = [
            (method, re.compile(path.replace("{}", _ID)), handler)
            for method, path, handler in _routes(service)
        ]

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request."""
        return self._answer(request, request.read() if _has_document(request) else b"")

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request of the asynchronous client."""
        return self._answer(request, await request.aread() if _has_document(request) else b"")

    def _answer(self, request: httpx.Request, body: bytes) -> httpx.Response:
        try:
            answer = self._handled(request, json.loads(body) if body else {})
        except DummyRefusal as refusal:
            return httpx.Response(refusal.status, json=refusal.problem, request=request)
        if answer is None:
            return httpx.Response(_NO_CONTENT, request=request)
        if isinstance(answer, bytes):
            return httpx.Response(200, content=answer, request=request)
        return httpx.Response(200, json=dict(answer), request=request)

    def _handled(self, request: httpx.Request, body: Json) -> "Json | bytes | None":
        path = request.url.path.removeprefix("/v1")
        for method, pattern, handler in self._routes:
            found = pattern.fullmatch(path)
            if method == request.method and found is not None:
                return handler(*found.groups(), body=body, query=dict(request.url.params))
        raise DummyRefusal(501, "not-in-dummy-mode", f"Dummy mode has no {request.method} {path}.")


def _has_document(request: httpx.Request) -> bool:
    """Whether the request brings JSON; anything else is rows, which are ignored."""
    return str(request.headers.get("content-type")).startswith("application/json")


def _routes(service: DummyService) -> list[tuple[str, str, Handler]]:
    def plain(answer: Callable[[], Json]) -> Handler:
        return lambda **_asked: answer()

    def of_one(answer: Callable[[str], "Json | bytes"]) -> Handler:
        return lambda found, **_asked: answer(found)

    def with_body(answer: Callable[..., Json]) -> Handler:
        return lambda *found, body, query: answer(*found, body)  # noqa: ARG005 - every handler takes both

    def nothing(*_found: str, **_asked: Any) -> None:  # noqa: ANN401 - likewise
        return None

    return [
        ("GET", "/health", plain(service.health)),
        ("GET", "/session", plain(service.session)),
        ("POST", "/datasets", with_body(service.declare)),
        ("GET", "/datasets", plain(service.datasets)),
        ("GET", "/datasets/{}", of_one(service.dataset)),
        ("POST", "/datasets/{}/rows", of_one(service.take_rows)),
        ("POST", "/datasets/{}/rows/accept", of_one(service.take_rows)),
        ("POST", "/datasets/{}/rows/discard", nothing),
        ("POST", "/datasets/{}/uploads", with_body(service.start_upload)),
        ("GET", "/uploads/{}", of_one(service.upload)),
        ("PUT", "/uploads/{}/parts/{}", lambda *_found, **_asked: {}),
        ("POST", "/uploads/{}/complete", of_one(service.complete_upload)),
        ("DELETE", "/uploads/{}", nothing),
        ("GET", "/datasets/{}/intake-report", of_one(service.take_rows)),
        ("GET", "/datasets/{}/members", of_one(service.members)),
        ("PUT", "/datasets/{}/members/{}", lambda dataset_id, _who, **_asked: service.members(dataset_id)),
        ("PUT", "/datasets/{}/budget", with_body(service.set_budget)),
        ("GET", "/datasets/{}/budget", of_one(service.budget)),
        ("GET", "/datasets/{}/ledger", of_one(service.ledger)),
        ("GET", "/datasets/{}/grants", of_one(service.grants)),
        ("POST", "/datasets/{}/budget-requests", with_body(service.file_request)),
        ("GET", "/budget-requests", plain(service.requests)),
        ("GET", "/budget-requests/{}", of_one(service.request)),
        ("POST", "/budget-requests/{}/approve", of_one(service.approve)),
        ("POST", "/quotes", with_body(service.quote)),
        ("POST", "/jobs", with_body(service.order)),
        ("GET", "/jobs", plain(service.jobs)),
        ("GET", "/jobs/{}", of_one(service.look_at_job)),
        ("POST", "/jobs/{}/cancel", of_one(service.cancel)),
        ("GET", "/releases", plain(service.releases)),
        ("GET", "/releases/{}", of_one(service.release)),
        ("GET", "/releases/{}/certificate", of_one(service.certificate)),
        ("GET", "/releases/{}/bundle", of_one(service.bundle)),
        ("GET", "/releases/{}/samples", lambda found, query, **_asked: service.samples(found, query)),
    ]
