"""Request metrics: method, route pattern, status and duration."""

import time
from collections.abc import Callable
from typing import Final, Protocol

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.edge.route_pattern import route_pattern

QUIET: Final = frozenset({"/metrics", "/healthz", "/readyz"})
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER_METHOD: Final = "other"


class Answered(Protocol):
    """Records an answered request."""

    def __call__(self, *, method: str, route: str, status: int, seconds: float) -> None:
        """Record one request."""


class RequestMetrics:
    """Count each request, except probes and scrapes, which would dominate the figures."""

    def __init__(
        self, app: ASGIApp, *, answered: Answered, perf_counter: Callable[[], float] = time.perf_counter
    ) -> None:
        self._app = app
        self._answered = answered
        self._perf_counter = perf_counter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request, then count it."""
        if scope["type"] != "http" or scope["path"] in QUIET:
            await self._app(scope, receive, send)
            return
        status = 0
        began = self._perf_counter()

        async def watched_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watched_send)
        finally:
            self._answered(
                # Callers can send any method and path, so both are mapped to known values.
                method=scope["method"] if scope["method"] in METHODS else OTHER_METHOD,
                route=route_pattern(scope),
                status=status,
                seconds=self._perf_counter() - began,
            )
