"""Turns uncaught exceptions into a constant response and a log line without the exception's text.

Servers print the traceback of an exception that leaves the application, and the text of a library's exception may quote
a row. So no exception leaves: the log gets the class and the location in our own code.
"""

import errno
import traceback
from collections.abc import Callable
from pathlib import PurePath
from typing import Final

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.data.errors import StorageUnavailable
from core.errors import InternalError, UnderstudyError
from core.logs import get_logger

_DISK: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO})
"""Error numbers of a full or broken disk: nothing was stored, and a later attempt may succeed."""
CLIENT_CLOSED: Final = 499
"""Status in metrics, logs and traces of a request whose client disconnected before its body was complete, as in nginx."""


Shown = Callable[[Scope, UnderstudyError], Response]
"""Builds the response to an error for the client of a request scope."""


class AnswerAborted(RuntimeError):
    """A failure after the response had started: the connection is cut so that nobody takes the response for complete."""

    def __init__(self) -> None:
        super().__init__("response aborted; see the event request-failed with the same request id")


class LastResort:
    """Answer any uncaught exception with a problem: 503 if the disk is full or broken, else 500.

    A client that disconnects in the middle of its body is not an error of the service: nobody reads the response, and
    metrics count the status 499.
    """

    def __init__(self, app: ASGIApp, *, shown: Shown) -> None:
        self._app = app
        self._shown = shown

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request, and answer uncaught exceptions."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def watched_send(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        failure: Exception | None = None
        try:
            await self._app(scope, receive, watched_send)
        except ClientDisconnect:
            if not started:
                await Response(status_code=CLIENT_CLOSED)(scope, receive, send)
        except Exception as error:  # noqa: BLE001 - the one place where everything is caught
            failure = error
        if failure is None:
            return
        get_logger().error("request-failed", exc_info=failure, place=_place(failure))
        if started:
            raise AnswerAborted
        full = isinstance(failure, OSError) and failure.errno in _DISK
        await self._shown(scope, StorageUnavailable() if full else InternalError())(scope, receive, send)


def _place(error: Exception) -> list[str]:
    """The innermost frames as file:line, file names only."""
    frames = traceback.extract_tb(error.__traceback__)
    return [f"{PurePath(frame.filename).name}:{frame.lineno}" for frame in frames[-4:]]
