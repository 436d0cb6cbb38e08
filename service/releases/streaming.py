"""Files of any length as answers: produced a piece at a time, in a bounded room, stopped when the reader leaves."""

from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack
from functools import partial

import anyio
import anyio.to_thread
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from core.logs import get_logger
from service.edge.concurrency import ConcurrencyLimit, ServiceBusy
from service.problem import response_to

Pieces = Generator[bytes, None, None]
"""What makes an answer: a generator, for it can be told to stop."""


class Streams:
    """The room in which answers are produced.

    Producing takes processor time, so only ``workers`` pieces are made at once, in threads of their own: the threads
    that serve all other requests stay free. At most ``streams`` answers are open at a time.

    Args:
        workers: How many pieces are made at once.
        streams: How many answers may be open at once.
    """

    def __init__(self, *, workers: int, streams: int) -> None:
        self._workers = workers
        self.limit = ConcurrencyLimit(streams, what="downloads")
        self._limiter: anyio.CapacityLimiter | None = None

    def answer(self, pieces: Pieces, *, media_type: str, headers: dict[str, str]) -> StreamingResponse:
        """An answer that sends the pieces as they are made, or says that the service is busy."""
        return _StoppableStream(self._produce(pieces), self.limit, media_type=media_type, headers=headers)

    async def _produce(self, pieces: Pieces) -> AsyncGenerator[bytes]:
        # The limiter belongs to the event loop, which exists only now.
        self._limiter = self._limiter or anyio.CapacityLimiter(self._workers)
        try:
            while True:
                step = partial(next, pieces, None)
                piece = await anyio.to_thread.run_sync(step, limiter=self._limiter)
                if piece is None:
                    return
                yield piece
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(pieces.close, limiter=self._limiter)


class _StoppableStream(StreamingResponse):
    """A streamed answer that closes its source when the reader leaves, and gives its place back in any case."""

    def __init__(
        self,
        produced: AsyncGenerator[bytes],
        limit: ConcurrencyLimit,
        *,
        media_type: str,
        headers: dict[str, str],
    ) -> None:
        super().__init__(produced, media_type=media_type, headers=headers)
        self._produced = produced
        self.limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the pieces, holding a place. It is taken here and not earlier: an answer may never be sent."""
        async with AsyncExitStack() as cleanup:
            cleanup.push_async_callback(self._close)
            try:
                self.limit.acquire()
            except ServiceBusy as busy:
                await response_to(busy)(scope, receive, send)
                return
            cleanup.callback(self.limit.release)
            await super().__call__(scope, receive, send)

    async def _close(self) -> None:
        # Left to the garbage collector, an abandoned generator would hold its threads for a while.
        with anyio.CancelScope(shield=True):
            await self._produced.aclose()
        get_logger().info("download-ended")
