"""Size and time limits for request bodies that are read into memory. Uploads are streamed and have their own limits."""

import re
from collections.abc import Mapping, Sequence

import anyio
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.errors import TooLarge
from service.problem import response_to

MAX_JSON_BYTES = 4 * 2**20
MAX_DOMAIN_BYTES = 32 * 2**20
"""For declaring a dataset: a domain may list a million categories."""
BODY_SECONDS = 30.0


class BodyLimit:
    """Refuse bodies above a limit: at once if Content-Length announces it, else as soon as the limit is exceeded.

    Args:
        exempt: Patterns of paths that stream their body and enforce their own limits.
        larger: Largest accepted body of paths that accept more.
        seconds: Time limit for the arrival of a body.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        max_bytes: int,
        exempt: Sequence[re.Pattern[str]],
        larger: Mapping[str, int] | None = None,
        seconds: float = BODY_SECONDS,
    ) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._seconds = seconds
        self._exempt = tuple(exempt)
        self._larger = dict(larger or {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request within the limits."""
        if scope["type"] != "http" or any(path.fullmatch(scope["path"]) for path in self._exempt):
            await self._app(scope, receive, send)
            return
        max_bytes = self._larger.get(scope["path"], self._max_bytes)
        if _announced_length(scope) > max_bytes:
            refusal = TooLarge("The request body is larger than this endpoint accepts.", max_bytes=max_bytes)
            await response_to(refusal)(scope, receive, send)
            return
        received = 0
        complete = False
        deadline: float | None = None

        async def receive_counted() -> Message:
            nonlocal received, complete, deadline
            if complete:  # From here on the application only waits for the disconnect.
                return await receive()
            # The clock starts at the first read of the body: time before that is our own.
            deadline = deadline or anyio.current_time() + self._seconds
            message = await _in_time(receive, deadline)
            complete = not message.get("more_body", False)
            received += len(message.get("body", b""))
            if received > max_bytes:
                # FastAPI reads the body itself and lets only this exception pass.
                raise HTTPException(status_code=413)
            return message

        await self._app(scope, receive_counted, send)


async def _in_time(receive: Receive, deadline: float) -> Message:
    with anyio.move_on_after(deadline - anyio.current_time()):
        return await receive()
    # FastAPI reads the body itself and lets only this exception pass.
    raise HTTPException(status_code=408)


def _announced_length(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value)
    return 0
