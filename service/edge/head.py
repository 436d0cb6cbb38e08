"""Answers HEAD like GET: the same status and headers, without the body.

A streamed response is cut after its headers, and its source is stopped as if the client had disconnected.
"""

from anyio.lowlevel import checkpoint
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class HeadAsGet:
    """Serve HEAD requests as GET and drop the body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request; other methods are passed through unchanged."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        ended = False

        async def send_headers(message: Message) -> None:
            nonlocal ended
            if message["type"] == "http.response.start":
                await send(message)
            elif not ended:
                # From here on, `receive` reports a disconnect, which the sources of streams check for.
                ended = True
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            else:
                await checkpoint()

        # In place, because outer middleware reads the route from this same scope. From spec version 2.4 on, streams
        # would wait for an exception instead of checking for a disconnect.
        scope["method"] = "GET"
        scope["asgi"] = {**scope.get("asgi", {}), "spec_version": "2.3"}
        try:
            await self._app(scope, receive, send_headers)
        finally:
            scope["method"] = "HEAD"
