"""The body of a request as an iterator that a plain ``def`` endpoint can read, piece by piece.

Endpoints are synchronous and run in a thread of the pool, while the body arrives on the event loop. Each step of
this iterator asks the loop for the next piece and waits for it (``anyio.from_thread``), so the memory held is one
piece whatever the size of the body, and back-pressure reaches the sender through the server's flow control. A
sender that falls silent, or that sends next to nothing for long, is given up: it holds a thread and a place.
"""

import time
from collections.abc import AsyncIterator, Callable, Iterator

import anyio
import anyio.from_thread
from starlette.requests import ClientDisconnect, Request

from core.errors import InvalidInput
from core.storage.errors import UploadTooLarge

SILENCE_SECONDS = 60.0
# Slower than a modem: nobody uploads like this who wants to be done.
LEAST_BYTES_PER_SECOND = 1024


class UploadInterrupted(InvalidInput):
    """The sender went away, fell silent or became too slow before the body was complete; nothing was stored."""

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
        silence_seconds: Longest wait for the next piece; and how long a sender may be slower than a modem.
        now: Seconds of a clock that only goes forward.

    Raises:
        UploadTooLarge: When made, if the announced length exceeds the limit; else while reading.
    """

    def __init__(
        self,
        request: Request,
        *,
        max_bytes: int,
        silence_seconds: float = SILENCE_SECONDS,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        announced = request.headers.get("content-length", "")
        if announced.isdigit() and int(announced) > max_bytes:
            raise _too_large(max_bytes)
        self._request = request
        self._max_bytes = max_bytes
        self._silence_seconds = silence_seconds
        self._now = now

    def __iter__(self) -> Iterator[bytes]:
        """Yield the pieces in order.

        Raises:
            UploadTooLarge: More bytes came than are accepted.
            UploadInterrupted: The sender went away, fell silent or became too slow.
        """
        pieces = self._request.stream()
        received, waited = 0, 0.0
        asked_at = self._now()
        while (piece := anyio.from_thread.run(self._next, pieces)) is not None:
            received += len(piece)
            # Only the sender's time counts, not ours: what we do with a piece may take long.
            waited += self._now() - asked_at
            if received > self._max_bytes:
                raise _too_large(self._max_bytes)
            if waited > self._silence_seconds and received < waited * LEAST_BYTES_PER_SECOND:
                raise UploadInterrupted
            if piece:
                yield piece
            asked_at = self._now()

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
