"""Records of each request: a log line, the counters, a span. No path, query, header, body or client address.

Callers can put anything into a path, and every id in a path would create its own metric series. So the pattern of the
matched route stands for the path, and one word for every unknown method.
"""

import time
from typing import Final, Protocol
from uuid import uuid4

import structlog
from opentelemetry.trace import SpanKind, StatusCode, Tracer
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.logs import get_logger
from core.tracing import span
from service.current_request import current_request_id, numbered_request

NO_ROUTE: Final = "none"
OTHER_METHOD: Final = "other"
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_UNRECORDED: Final = frozenset({"/metrics", "/healthz", "/readyz"})
"""Probes and scrapes, which would dominate the figures."""
_UNLOGGED: Final = "/v1/health"
_SERVER_ERROR: Final = 500
_REQUEST_ID = "X-Request-Id"


class Answered(Protocol):
    """Counts an answered request."""

    def __call__(self, *, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""


class RequestRecords:
    """Log, count and trace each request except probes and scrapes, once it is answered."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        answered: Answered,
        tracer: Tracer,
    ) -> None:
        self._app = app
        self._answered = answered
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request within a span, then count and log it."""
        if scope["type"] != "http" or scope["path"] in _UNRECORDED:
            await self._app(scope, receive, send)
            return
        method = scope["method"] if scope["method"] in _METHODS else OTHER_METHOD
        status = 0
        began = time.perf_counter()
        with span(self._tracer, method, kind=SpanKind.SERVER) as current:
            current.set_attribute("http.request.method", method)
            current.set_attribute("understudy.request_id", current_request_id())

            async def watched_send(message: Message) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = message["status"]
                    current.set_attribute("http.response.status_code", status)
                    if status >= _SERVER_ERROR:
                        current.set_status(StatusCode.ERROR)
                await send(message)

            try:
                await self._app(scope, receive, watched_send)
            finally:
                route, seconds = route_pattern(scope), time.perf_counter() - began
                current.set_attribute("http.route", route)
                current.update_name(f"{method} {route}")
                self._answered(method=method, route=route, status=status, seconds=seconds)
                if scope["path"] != _UNLOGGED:
                    # The log is for people: it shows methods that clients made up, if they are words.
                    shown = scope["method"] if scope["method"].isalpha() else "?"
                    get_logger().info(
                        "request",
                        method=shown,
                        route=route,
                        status=status,
                        milliseconds=round(seconds * 1000),
                    )


def route_pattern(scope: Scope) -> str:
    """The full pattern, such as ``/v1/jobs/{job_id}``; known once the request has been routed."""
    # A route of an included router knows only its own part; FastAPI keeps the full pattern separately.
    context = scope.get("fastapi", {}).get("effective_route_context")
    found = getattr(context, "path", None) or getattr(scope.get("route"), "path", None)
    return found if isinstance(found, str) else NO_ROUTE


class RequestId:
    """Assign each request a random id. Ids sent by callers are ignored: logs contain no text of callers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request under a new id."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = uuid4().hex

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[_REQUEST_ID] = request_id
            await send(message)

        with numbered_request(request_id), structlog.contextvars.bound_contextvars(request_id=request_id):
            await self._app(scope, receive, send_with_id)
