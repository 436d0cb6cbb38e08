"""Access log: method, route pattern, status and duration per request. No path, query or client address."""

import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.logs import get_logger
from service.edge.route_pattern import route_pattern

QUIET = frozenset({"/healthz", "/readyz", "/metrics", "/v1/health"})


class AccessLog:
    """Log each request after its response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request, then log it."""
        if scope["type"] != "http" or scope["path"] in QUIET:
            await self._app(scope, receive, send)
            return
        status = 0
        began = time.monotonic()

        async def watched_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watched_send)
        finally:
            get_logger().info(
                "request",
                method=scope["method"] if scope["method"].isalpha() else "?",
                route=route_pattern(scope),
                status=status,
                milliseconds=round((time.monotonic() - began) * 1000),
            )
