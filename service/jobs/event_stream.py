"""A job's snapshots as server-sent events, without occupying a thread or a database connection.

    retry: 3000

    id: 0f3a...
    event: status
    data: {"id": "...", "state": "running", ...}

    : alive

The stream ends when the job has ended, when its client disconnects or reads nothing for ``STUCK_SECONDS``, when the
principal may no longer see the job, at the requested time, and on shutdown. Between events a comment is sent every
``ALIVE_SECONDS``, so that proxies keep the connection open and a lost client is noticed.
"""

import time
from collections.abc import Callable
from typing import Final
from uuid import UUID

import anyio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from service.edge.concurrency import ServiceBusy, ShareUsedUp
from service.edge.watching import JobSnapshot, JobWatch, Subscription
from service.problem import response_to

MEDIA_TYPE: Final = "text/event-stream"
ALIVE_SECONDS: Final = 15.0
STUCK_SECONDS: Final = 60.0
RETRY_MILLISECONDS: Final = 3000

_ALIVE: Final = b": alive\n\n"
# nginx and similar proxies buffer responses unless a header forbids it.
_HEADERS: Final = {"X-Accel-Buffering": "no"}


class EventStream(Response):
    """The streaming response.

    Args:
        first: The state at the start.
        known_id: Id of the state that the client already has; it is not sent again.
        admitted: Checks whether the stream may continue; raises if not.
        opened_by: The principal whose share counts.
    """

    media_type = MEDIA_TYPE

    def __init__(
        self,
        watch: JobWatch,
        job_id: UUID,
        *,
        first: JobSnapshot,
        known_id: str | None,
        admitted: Callable[[], object],
        longest_seconds: float,
        opened_by: UUID,
    ) -> None:
        self.status_code = 200
        self.background = None
        self.init_headers(_HEADERS)
        self._watch = watch
        self._job_id = job_id
        self._first = first
        self._known_id = known_id
        self._admitted = admitted
        self._longest_seconds = longest_seconds
        self._opened_by = opened_by

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Write until the end or until the client disconnects. If many streams are admitted at once, some may get no subscription."""
        try:
            with self._watch.subscription(
                self._job_id,
                self._admitted,
                first=self._first,
                known_id=self._known_id,
                opened_by=self._opened_by,
            ) as subscription:
                await self._serve(subscription, receive, send)
        except (ServiceBusy, ShareUsedUp) as busy:
            await response_to(busy)(scope, receive, send)

    async def _serve(self, subscription: Subscription, receive: Receive, send: Send) -> None:
        async with anyio.create_task_group() as tasks:

            async def until_gone() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass
                tasks.cancel_scope.cancel()

            tasks.start_soon(until_gone)
            await self._write(subscription, send)
            tasks.cancel_scope.cancel()

    async def _write(self, subscription: Subscription, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        until = time.monotonic() + self._longest_seconds
        piece: bytes | None = f"retry: {RETRY_MILLISECONDS}\n\n".encode()
        while piece is not None:
            with anyio.move_on_after(STUCK_SECONDS) as patience:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            if patience.cancelled_caught:
                return  # the server cuts the connection, because the response was not completed
            left = until - time.monotonic()
            snapshot = await subscription.take(seconds=min(ALIVE_SECONDS, max(0.0, left)))
            if snapshot is not None:
                piece = _event(snapshot)
            else:
                piece = None if subscription.is_closed or left <= ALIVE_SECONDS else _ALIVE
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _event(snapshot: JobSnapshot) -> bytes:
    return f"id: {snapshot.id}\nevent: status\ndata: {snapshot.text}\n\n".encode()
