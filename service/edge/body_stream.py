"""The body of a request as an iterator that a plain ``def`` endpoint can read, piece by piece.

Endpoints are synchronous and run in a thread of the pool, while the body arrives on the event loop. Each step of
this iterator asks the loop for the next piece and waits for it (``anyio.from_thread``), so the memory held is one
piece whatever the size of the body, and back-pressure reaches the sender through the server's flow control. A
sender that falls silent is given up after a while: it holds a thread.
"""

from collections.abc import AsyncIterator, Iterator

import anyio
import anyio.from_thread
from starlette.requests import ClientDisconnect, Request

from core.errors import InvalidInput
from core.storage.errors import UploadTooLarge

SILENCE_SECONDS = 60.0


class UploadInterrupted(InvalidInput):
    """The sender went away or fell silent before the body was complete; nothing was stored."""

    code = "upload-interrupted"
    status = 400
    title = "The upload was not completed"

    def __init__(self) -> None:
        super().__init__(
            "The upload ended before it was complete; nothing was stored.", remedy="Send it again."
        )


class BodyStream:
    """Iterates over the body of a request from a worker thread.

    Args:
        request: The request; its body must not have been read.
        max_bytes: Largest accepted body.
        silence_seconds: Longest wait for the next piece.

    Raises:
        UploadTooLarge: When made, if the announced length exceeds the limit; else while reading.
    """

    def __init__(self, request: Request, *, max_bytes: int, silence_seconds: float = SILENCE_SECONDS) -> None:
        announced = request.headers.get("content-length", "")
        if announced.isdigit() and int(announced) > max_bytes:
            raise _too_large(max_bytes)
        self._request = request
        self._max_bytes = max_bytes
        self._silence_seconds = silence_seconds

    def __iter__(self) -> Iterator[bytes]:
        """Yield the pieces in order.

        Raises:
            UploadTooLarge: More bytes came than are accepted.
            UploadInterrupted: The sender went away or fell silent.
        """
        pieces = self._request.stream()
        received = 0
        while (piece := anyio.from_thread.run(self._next, pieces)) is not None:
            received += len(piece)
            if received > self._max_bytes:
                raise _too_large(self._max_bytes)
            if piece:
                yield piece

    async def _next(self, pieces: AsyncIterator[bytes]) -> bytes | None:
        try:
            with anyio.fail_after(self._silence_seconds):
                return await anext(pieces, None)
        except (TimeoutError, ClientDisconnect):
            raise UploadInterrupted from None


def _too_large(max_bytes: int) -> UploadTooLarge:
    return UploadTooLarge(
        "The upload is larger than the service takes; nothing was stored.",
        remedy="Compress it (gzip, Parquet), split it, or ask the operator to raise the limit.",
        max_bytes=max_bytes,
    )
