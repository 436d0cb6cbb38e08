"""HEAD is answered wherever GET is: the same status and headers, without the body.

An answer that would be streamed is cut after its headers, and its source is stopped as when a reader leaves.
"""

from anyio.lowlevel import checkpoint
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class HeadAsGet:
    """Serve HEAD requests as GET and keep the body back.

    Args:
        app: What serves the request.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve; nothing changes for other methods."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        ended = False

        async def send_headers(message: Message) -> None:
            nonlocal ended
            if message["type"] == "http.response.start":
                await send(message)
            elif not ended:
                # From here on the server tells whoever asks that the reader has left; sources of streams ask.
                ended = True
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            else:
                await checkpoint()

        # In place, because what is outside looks up the route in this very scope. From version 2.4 on, streams would
        # wait for an exception instead of asking.
        scope["method"] = "GET"
        scope["asgi"] = {**scope.get("asgi", {}), "spec_version": "2.3"}
        try:
            await self._app(scope, receive, send_headers)
        finally:
            scope["method"] = "HEAD"
