"""A request body as an iterator of chunks for synchronous endpoints.

Endpoints run in a worker thread, while the body arrives on the event loop. Each step of this iterator asks the loop for
the next chunk and waits for it (``anyio.from_thread``). So memory use is one chunk for a body of any size, and
back-pressure reaches the sender through the server's flow control. A sender that stalls, or sends almost nothing for
long, is disconnected because it occupies a thread and a slot.
"""

import time
from collections.abc import AsyncIterator, Callable, Iterator

import anyio
import anyio.from_thread
from starlette.requests import ClientDisconnect, Request

from core.data.errors import UploadTooLarge
from core.errors import InvalidInput

SILENCE_SECONDS = 60.0
# Slower than a modem; no genuine upload is this slow.
LEAST_BYTES_PER_SECOND = 1024


class UploadInterrupted(InvalidInput):
    """The sender disconnected, stalled or became too slow before the body was complete; nothing was stored."""

    code = "upload-interrupted"
    status = 400
    title = "The upload was not completed"
    default_detail = "The upload ended before it was complete. Nothing was stored."
    default_remedy = "Send it again."


class BodyStream:
    """Iterates over the body of a request from a worker thread.

    Args:
        request: The request; its body must not have been read yet.
        silence_seconds: Longest wait for the next chunk, and longest time for which a sender may be slower than a modem.

    Raises:
        UploadTooLarge: On construction, if the announced length exceeds the limit; else while reading.
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
        """Yield the chunks in order.

        Raises:
            UploadTooLarge: The body exceeds the limit.
            UploadInterrupted: The sender disconnected, stalled or became too slow.
        """
        pieces = self._request.stream()
        received, waited = 0, 0.0
        asked_at = self._now()
        while (piece := anyio.from_thread.run(self._next, pieces)) is not None:
            received += len(piece)
            # Only time spent waiting for the sender counts: our processing of a chunk may take long.
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
        "The upload is larger than the service accepts. Nothing was stored.",
        remedy="Compress it (gzip, Parquet), split it, or ask the operator to raise the limit.",
        max_bytes=max_bytes,
    )
