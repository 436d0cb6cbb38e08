"""One span per request: method, route pattern, status and request id. No path, query, header or body."""

from opentelemetry.trace import SpanKind, StatusCode, Tracer
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.tracing import span
from service.current_request import current_request_id
from service.edge.request_metrics import METHODS, OTHER_METHOD, QUIET
from service.edge.route_pattern import route_pattern

SERVER_ERROR = 500


class RequestSpans:
    """Trace each request except probes."""

    def __init__(self, app: ASGIApp, *, tracer: Tracer) -> None:
        self._app = app
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request within a span."""
        if scope["type"] != "http" or scope["path"] in QUIET:
            await self._app(scope, receive, send)
            return
        method = scope["method"] if scope["method"] in METHODS else OTHER_METHOD
        with span(self._tracer, method, kind=SpanKind.SERVER) as current:
            current.set_attribute("http.request.method", method)
            current.set_attribute("understudy.request_id", current_request_id())

            async def watched_send(message: Message) -> None:
                if message["type"] == "http.response.start":
                    current.set_attribute("http.response.status_code", message["status"])
                    if message["status"] >= SERVER_ERROR:
                        current.set_status(StatusCode.ERROR)
                await send(message)

            try:
                await self._app(scope, receive, watched_send)
            finally:
                route = route_pattern(scope)
                current.set_attribute("http.route", route)
                current.update_name(f"{method} {route}")
