"""Watches jobs for the event streams of this process, with a single reader for any number of streams.

Once a second, while there are subscriptions, one thread reads all watched jobs in one statement and hands
each stream the latest state of its job. A stream occupies neither a thread nor a connection and buffers one state: if
its client is slow, missed states are replaced by the current one.

Access is checked again while a stream is open: a revoked key, role or membership ends the stream within
``RECHECK_SECONDS`` and a few more. If the check is impossible because the database is unavailable, streams end after
``UNCHECKED_SECONDS``.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Final
from uuid import UUID

import anyio
import anyio.to_thread
from sqlalchemy.exc import TimeoutError as PoolTimeout

from core.errors import Forbidden, NotFound, Unauthenticated, UnderstudyError
from core.logs import get_logger
from service.edge.concurrency import ServiceBusy, ShareUsedUp

TICK_SECONDS: Final = 1.0
RECHECK_SECONDS: Final = 15.0
UNCHECKED_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class JobSnapshot:
    """A job's visible state, as the exact text that polling returns.

    Args:
        id: Identifies the state; equal states have equal ids.
    """

    id: str
    text: str
    is_last: bool

    @classmethod
    def of(cls, text: str, *, is_last: bool) -> "JobSnapshot":
        """A state with the digest of its text as id."""
        return cls(sha256(text.encode()).hexdigest()[:16], text, is_last)


class Subscription:
    """One stream's mailbox. Holds at most the latest snapshot that the stream has not taken yet.

    Args:
        admitted: Checks again whether the stream may continue; raises if not.
        known_id: Id of the state that the client already has.
        opened_by: The principal whose share counts.
    """

    def __init__(
        self,
        job_id: UUID,
        admitted: Callable[[], object],
        *,
        known_id: str | None,
        opened_by: UUID,
    ) -> None:
        self.job_id = job_id
        self.opened_by = opened_by
        self.admitted = admitted
        self.checked_at = time.monotonic()
        self.is_closed = False
        self._newest: JobSnapshot | None = None
        self._known_id = known_id
        self._changed = asyncio.Event()

    def put(self, snapshot: JobSnapshot) -> None:
        """Replace the waiting snapshot, unless the stream already has this state."""
        if snapshot.id != self._known_id:
            self._known_id = snapshot.id
            self._newest = snapshot
            self._changed.set()

    def close(self) -> None:
        """End the stream after it has taken the waiting snapshot."""
        self.is_closed = True
        self._changed.set()

    async def take(self, *, seconds: float) -> JobSnapshot | None:
        """The next snapshot; None on timeout or after the end."""
        with anyio.move_on_after(seconds):
            await self._changed.wait()
        snapshot, self._newest = self._newest, None
        if not self.is_closed:
            self._changed.clear()
        return snapshot


class JobWatch:
    """Reads watched jobs and notifies the streams.

    Args:
        read: The states of these jobs; called in a thread once a second.
        subscriptions: Maximum number of open streams.
    """

    def __init__(
        self,
        read: Callable[[Collection[UUID]], Mapping[UUID, JobSnapshot]],
        *,
        subscriptions: int,
        subscriptions_per_principal: int,
    ) -> None:
        self._read = read
        self._capacity = subscriptions
        self._share = subscriptions_per_principal
        self._subscriptions: set[Subscription] = set()
        self._task: asyncio.Task[None] | None = None
        self._closing = False
        # A separate limiter: requests waiting for threads must not delay the streams, nor the other way round.
        self._one_thread = anyio.CapacityLimiter(1)
        # Held during a read. A thread lock, not an asyncio lock: a read may outlive its event loop.
        self._reading = threading.Lock()

    @property
    def open_streams(self) -> int:
        """How many streams are open."""
        return len(self._subscriptions)

    def require_room(self, opened_by: UUID) -> None:
        """Check that the principal may open one more stream.

        Raises:
            ServiceBusy: The process has reached its limit of streams.
            ShareUsedUp: The principal has reached its limit of streams.
        """
        if sum(each.opened_by == opened_by for each in self._subscriptions) >= self._share:
            raise ShareUsedUp(what="event streams", share=self._share)
        if self.open_streams >= self._capacity:
            raise ServiceBusy(what="event streams")

    @contextmanager
    def subscription(
        self,
        job_id: UUID,
        admitted: Callable[[], object],
        *,
        first: JobSnapshot,
        known_id: str | None,
        opened_by: UUID,
    ) -> Iterator[Subscription]:
        """Watch a job for the length of the block.

        Args:
            admitted: Called in a thread from time to time; raises if the stream must end.
            first: The state when the stream was opened.
            known_id: Id of the state that the client already has; it is not sent again.
            opened_by: The principal whose share counts.

        Raises:
            ServiceBusy, ShareUsedUp: As `require_room`.
        """
        self.require_room(opened_by)
        subscription = Subscription(job_id, admitted, known_id=known_id, opened_by=opened_by)
        _tell(subscription, first)
        self._subscriptions.add(subscription)
        if self._closing:
            subscription.close()
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._watch())
        try:
            yield subscription
        finally:
            self._subscriptions.discard(subscription)

    def close(self) -> None:
        """End all streams on shutdown. Clients reconnect, to another process or later."""
        self._closing = True
        for subscription in self._subscriptions:
            subscription.close()

    async def finish(self) -> None:
        """End all streams and wait for the reader thread, so that the database can be closed afterwards."""
        self.close()
        # A reader task of another event loop, as under a test client, ended with that loop.
        if self._task is not None and self._task.get_loop() is asyncio.get_running_loop():
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        # Neither waits for the thread of a running read. If the pool were closed meanwhile, the connection that the
        # thread returns to it would stay open.
        await anyio.to_thread.run_sync(self._await_read)

    async def _watch(self) -> None:
        while self._subscriptions:
            # Every stream starts with the state at its opening, so the first read can wait.
            await asyncio.sleep(TICK_SECONDS)
            subscriptions = tuple(self._subscriptions)
            try:
                seen, refused = await anyio.to_thread.run_sync(
                    self._look_for, subscriptions, limiter=self._one_thread
                )
            except (UnderstudyError, PoolTimeout) as error:
                get_logger().warning("watched-jobs-not-read", kind=type(error).__name__)
            else:
                for subscription in subscriptions:
                    _tell(subscription, None if subscription in refused else seen.get(subscription.job_id))
            silent_since = time.monotonic() - UNCHECKED_SECONDS
            for subscription in subscriptions:
                if subscription.checked_at < silent_since:
                    subscription.close()

    def _look_for(
        self, subscriptions: Collection[Subscription]
    ) -> tuple[Mapping[UUID, JobSnapshot], set[Subscription]]:
        """Runs in a thread. Return new snapshots, and the subscriptions that must end."""
        with self._reading:
            if self._closing:
                return {}, set()  # all subscriptions are closed, and the database may be too
            seen = self._read({subscription.job_id for subscription in subscriptions})
            due = time.monotonic() - RECHECK_SECONDS
            return seen, {
                subscription
                for subscription in subscriptions
                if subscription.checked_at <= due and not _is_admitted(subscription)
            }

    def _await_read(self) -> None:
        with self._reading:
            pass


def _is_admitted(subscription: Subscription) -> bool:
    """Check access again. An impossible check is not a refusal, but only for ``UNCHECKED_SECONDS``."""
    try:
        subscription.admitted()
    except (Unauthenticated, Forbidden, NotFound):
        return False
    subscription.checked_at = time.monotonic()
    return True


def _tell(subscription: Subscription, snapshot: JobSnapshot | None) -> None:
    if snapshot is not None:
        subscription.put(snapshot)
    if snapshot is None or snapshot.is_last:
        subscription.close()
