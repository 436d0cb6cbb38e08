"""Bodies that are read into memory are small; only the upload of rows streams, under its own limit."""

import re
from collections.abc import Sequence

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.errors import TooLarge
from service.problem import response_to

MAX_JSON_BYTES = 4 * 2**20


class BodyLimit:
    """Refuse bodies above a limit: at once where the length is announced, else as soon as it is exceeded.

    Args:
        app: What serves the request.
        max_bytes: Largest accepted body.
        exempt: Patterns of paths that stream their body and count for themselves.
    """

    def __init__(self, app: ASGIApp, *, max_bytes: int, exempt: Sequence[re.Pattern[str]]) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._exempt = tuple(exempt)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve within the limit."""
        if scope["type"] != "http" or any(path.fullmatch(scope["path"]) for path in self._exempt):
            await self._app(scope, receive, send)
            return
        if _announced_length(scope) > self._max_bytes:
            refusal = TooLarge(
                "The body of the request is larger than this endpoint takes.", max_bytes=self._max_bytes
            )
            await response_to(refusal)(scope, receive, send)
            return
        received = 0

        async def receive_counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._max_bytes:
                # FastAPI reads the body itself and passes only this exception on.
                raise HTTPException(status_code=413)
            return message

        await self._app(scope, receive_counted, send)


def _announced_length(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value)
    return 0
