"""The jobs that event streams of this process watch: one reader for all of them, whatever their number.

Once a second, while somebody watches, one thread reads the rows of all watched jobs in one statement and hands each
stream the newest state of its job. A stream owns neither a thread nor a connection, and keeps one state: where its
reader is slow, what it missed is replaced by what is true now.

Who opened a stream is asked for again: a key that was revoked, a role or a membership that was taken away ends the
stream within ``RECHECK_SECONDS`` and a few more. Where that cannot be asked, because the database is away, streams end
after ``UNCHECKED_SECONDS``.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

import anyio
import anyio.to_thread
from sqlalchemy import Row
from sqlalchemy.exc import TimeoutError as PoolTimeout

from core.access.roles import Principal
from core.clock import Clock
from core.db.session import Database
from core.errors import Forbidden, NotFound, Unauthenticated, UnderstudyError
from core.jobs.states import ENDED
from core.logs import get_logger
from service.edge.concurrency import ServiceBusy, ShareUsedUp
from service.jobs import repository
from service.jobs.schemas import JobView

TICK_SECONDS: Final = 1.0
RECHECK_SECONDS: Final = 15.0
UNCHECKED_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class JobSnapshot:
    """The state of a job as it is told: the very text that polling answers.

    Args:
        id: Names the state; a state that looks the same has the same id.
        text: JSON of a ``JobView``.
        is_last: Whether the job has ended.
    """

    id: str
    text: str
    is_last: bool

    @classmethod
    def of(cls, row: Row[*tuple[Any, ...]], *, clock: Clock) -> "JobSnapshot":
        """Look at a row of `repository.status`."""
        text = JobView.of(
            row, release_id=row.release_id, check=row.generator_check, now=clock.now()
        ).model_dump_json()
        return cls(sha256(text.encode()).hexdigest()[:16], text, is_last=row.state in ENDED)


class Subscription:
    """What one stream waits at. Holds the newest snapshot that it has not taken yet, and never more.

    Args:
        job_id: The watched job.
        admitted: Asks again whether the stream may go on; raises where not.
        known_id: The state that the reader has already.
        opened_by: The principal; None where nobody's share counts.
    """

    def __init__(
        self,
        job_id: UUID,
        admitted: Callable[[], object],
        *,
        known_id: str | None,
        opened_by: UUID | None = None,
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
        """Replace what is waiting, unless the stream knows this state."""
        if snapshot.id != self._known_id:
            self._known_id = snapshot.id
            self._newest = snapshot
            self._changed.set()

    def close(self) -> None:
        """End the stream once it has taken what is waiting."""
        self.is_closed = True
        self._changed.set()

    async def take(self, *, seconds: float) -> JobSnapshot | None:
        """The next snapshot; None where there is none in time, or none will come any more."""
        with anyio.move_on_after(seconds):
            await self._changed.wait()
        snapshot, self._newest = self._newest, None
        if not self.is_closed:
            self._changed.clear()
        return snapshot


class JobWatch:
    """Reads watched jobs and tells the streams.

    Args:
        database: Where jobs are read; one connection for a moment a second.
        clock: Tells the time, for estimates.
        subscriptions: How many streams are open at once.
        subscriptions_per_principal: How many of those may be one principal's; as many as there are where not given.
    """

    def __init__(
        self,
        database: Database,
        *,
        clock: Clock,
        subscriptions: int,
        subscriptions_per_principal: int | None = None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._capacity = subscriptions
        self._share = subscriptions if subscriptions_per_principal is None else subscriptions_per_principal
        self._subscriptions: set[Subscription] = set()
        self._task: asyncio.Task[None] | None = None
        self._closing = False
        # A limiter of its own: requests that wait for threads must not delay the streams, nor the other way round.
        self._one_thread = anyio.CapacityLimiter(1)
        # Held during a read. A lock of threads, not of a loop: a read may go on after its loop has ended.
        self._reading = threading.Lock()

    def look(self, job_id: UUID, principal: Principal) -> JobSnapshot:
        """The state of a job now, as its polling tells it.

        Raises:
            JobNotFound: No such job, or not for this principal.
        """
        row = self._database.glance(lambda session: repository.status(session, job_id, principal))
        return JobSnapshot.of(row, clock=self._clock)

    def require_room(self, opened_by: UUID | None) -> None:
        """Check that one more stream may be opened.

        Args:
            opened_by: The principal; None where nobody's share counts.

        Raises:
            ServiceBusy: As many are open as the process takes.
            ShareUsedUp: The principal has as many open as one may.
        """
        if (
            opened_by is not None
            and sum(subscription.opened_by == opened_by for subscription in self._subscriptions)
            >= self._share
        ):
            raise ShareUsedUp(what="event streams", share=self._share)
        if len(self._subscriptions) >= self._capacity:
            raise ServiceBusy(what="event streams")

    @contextmanager
    def subscription(
        self,
        job_id: UUID,
        admitted: Callable[[], object],
        *,
        first: JobSnapshot,
        known_id: str | None,
        opened_by: UUID | None = None,
    ) -> Iterator[Subscription]:
        """Watch a job for the length of the block.

        Args:
            job_id: The job.
            admitted: Called in a thread now and then; raises where the stream must end.
            first: What was seen when it was opened.
            known_id: The state that the reader has already; it is not told again.
            opened_by: The principal; None where nobody's share counts.

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
        """End every stream: the process is told to stop. Their readers come back, elsewhere or later."""
        self._closing = True
        for subscription in self._subscriptions:
            subscription.close()

    async def finish(self) -> None:
        """End every stream and wait for the reader, so that the database can be closed after it."""
        self.close()
        # A reader of another loop, as under a test client, ended with that loop.
        if self._task is not None and self._task.get_loop() is asyncio.get_running_loop():
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        # Neither waits for the thread of a read under way. Its connection, given back to a pool that was closed
        # meanwhile, would stay open.
        await anyio.to_thread.run_sync(self._await_read)

    async def _watch(self) -> None:
        while self._subscriptions:
            # Every stream begins with what was seen when it was opened, so there is no hurry.
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
    ) -> tuple[dict[UUID, JobSnapshot], set[Subscription]]:
        """In a thread: what is there to tell, and whose stream must end."""
        with self._reading:
            if self._closing:
                return {}, set()  # every subscription is closed; the database may be, too
            job_ids = {subscription.job_id for subscription in subscriptions}
            rows = self._database.glance(lambda session: repository.statuses(session, job_ids))
            seen = {row.id: JobSnapshot.of(row, clock=self._clock) for row in rows}
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
    """Ask again. That nobody could be asked is not a no; that goes on for ``UNCHECKED_SECONDS`` only."""
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
