"""Streamed responses of any length: produced in chunks by a bounded worker pool, stopped when the client disconnects."""

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
"""Source of a response: a generator, because it can be closed."""


class Streams:
    """The worker pool for streamed responses.

    Producing chunks takes CPU time, so only ``workers`` chunks are made concurrently, in separate threads: the threads
    for all other requests stay free. At most ``streams`` responses are open at a time.
    """

    def __init__(self, *, workers: int, streams: int) -> None:
        self._workers = workers
        self.limit = ConcurrencyLimit(streams, what="downloads")
        self._limiter: anyio.CapacityLimiter | None = None

    def answer(self, pieces: Pieces, *, media_type: str, headers: dict[str, str]) -> StreamingResponse:
        """A response that sends the chunks as they are made, or reports that the service is busy."""
        return _StoppableStream(self._produce(pieces), self.limit, media_type=media_type, headers=headers)

    async def _produce(self, pieces: Pieces) -> AsyncGenerator[bytes]:
        # The limiter is bound to the event loop, which does not exist before this point.
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
    """A streaming response that closes its source when the client disconnects, and always releases its slot."""

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
        """Send the chunks while holding a slot. The slot is taken here and not earlier, because a response may never be sent."""
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
        # Close explicitly: until garbage collection, an abandoned generator would keep its threads.
        with anyio.CancelScope(shield=True):
            await self._produced.aclose()
        get_logger().info("download-ended")
