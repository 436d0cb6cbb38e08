"""Bodies that are read into memory are small and come soon; only uploads stream, under limits of their own."""

import re
from collections.abc import Mapping, Sequence

import anyio
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.errors import TooLarge
from service.problem import response_to

MAX_JSON_BYTES = 4 * 2**20
MAX_DOMAIN_BYTES = 32 * 2**20
"""Of a declared dataset: a domain may list a million words."""
BODY_SECONDS = 30.0


class BodyLimit:
    """Refuse bodies above a limit: at once where the length is announced, else as soon as it is exceeded.

    Args:
        app: What serves the request.
        max_bytes: Largest accepted body.
        exempt: Patterns of paths that stream their body and count for themselves.
        larger: Largest accepted body of paths that take more.
        seconds: How long a body may take to come.
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
        """Serve within the limit."""
        if scope["type"] != "http" or any(path.fullmatch(scope["path"]) for path in self._exempt):
            await self._app(scope, receive, send)
            return
        max_bytes = self._larger.get(scope["path"], self._max_bytes)
        if _announced_length(scope) > max_bytes:
            refusal = TooLarge(
                "The body of the request is larger than this endpoint takes.", max_bytes=max_bytes
            )
            await response_to(refusal)(scope, receive, send)
            return
        received = 0
        complete = False
        deadline: float | None = None

        async def receive_counted() -> Message:
            nonlocal received, complete, deadline
            if complete:  # What is waited for now is the caller's leaving.
                return await receive()
            # From the first look at the body: what came before is our own time.
            deadline = deadline or anyio.current_time() + self._seconds
            message = await _in_time(receive, deadline)
            complete = not message.get("more_body", False)
            received += len(message.get("body", b""))
            if received > max_bytes:
                # FastAPI reads the body itself and passes only this exception on.
                raise HTTPException(status_code=413)
            return message

        await self._app(scope, receive_counted, send)


async def _in_time(receive: Receive, deadline: float) -> Message:
    with anyio.move_on_after(deadline - anyio.current_time()):
        return await receive()
    # FastAPI reads the body itself and passes only this exception on.
    raise HTTPException(status_code=408)


def _announced_length(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value)
    return 0
