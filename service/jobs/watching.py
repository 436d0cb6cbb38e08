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
from service.edge.gate import ServiceBusy, ShareUsedUp
from service.jobs import repository
from service.jobs.schemas import JobView

TICK_SECONDS: Final = 1.0
RECHECK_SECONDS: Final = 15.0
UNCHECKED_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Sighting:
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
    def of(cls, row: Row[*tuple[Any, ...]], *, clock: Clock) -> "Sighting":
        """Look at a row of `repository.status`."""
        text = JobView.of(
            row, release_id=row.release_id, check=row.generator_check, now=clock.now()
        ).model_dump_json()
        return cls(sha256(text.encode()).hexdigest()[:16], text, is_last=row.state in ENDED)


class Seat:
    """What one stream waits at. Holds the newest sighting that it has not taken yet, and never more.

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
        self._newest: Sighting | None = None
        self._known_id = known_id
        self._changed = asyncio.Event()

    def put(self, sighting: Sighting) -> None:
        """Replace what is waiting, unless the stream knows this state."""
        if sighting.id != self._known_id:
            self._known_id = sighting.id
            self._newest = sighting
            self._changed.set()

    def close(self) -> None:
        """End the stream once it has taken what is waiting."""
        self.is_closed = True
        self._changed.set()

    async def take(self, *, seconds: float) -> Sighting | None:
        """The next sighting; None where there is none in time, or none will come any more."""
        with anyio.move_on_after(seconds):
            await self._changed.wait()
        sighting, self._newest = self._newest, None
        if not self.is_closed:
            self._changed.clear()
        return sighting


class JobWatch:
    """Reads watched jobs and tells the streams.

    Args:
        database: Where jobs are read; one connection for a moment a second.
        clock: Tells the time, for estimates.
        seats: How many streams are open at once.
        seats_of_one: How many of those may be one principal's; as many as there are where not given.
    """

    def __init__(
        self, database: Database, *, clock: Clock, seats: int, seats_of_one: int | None = None
    ) -> None:
        self._database = database
        self._clock = clock
        self._capacity = seats
        self._share = seats if seats_of_one is None else seats_of_one
        self._seats: set[Seat] = set()
        self._task: asyncio.Task[None] | None = None
        self._closing = False
        # A limiter of its own: requests that wait for threads must not delay the streams, nor the other way round.
        self._one_thread = anyio.CapacityLimiter(1)
        # Held during a read. A lock of threads, not of a loop: a read may go on after its loop has ended.
        self._reading = threading.Lock()

    def look(self, job_id: UUID, principal: Principal) -> Sighting:
        """The state of a job now, as its polling tells it.

        Raises:
            JobNotFound: No such job, or not for this principal.
        """
        row = self._database.glance(lambda session: repository.status(session, job_id, principal))
        return Sighting.of(row, clock=self._clock)

    def require_room(self, opened_by: UUID | None) -> None:
        """Check that one more stream may be opened.

        Args:
            opened_by: The principal; None where nobody's share counts.

        Raises:
            ServiceBusy: As many are open as the process takes.
            ShareUsedUp: The principal has as many open as one may.
        """
        if opened_by is not None and sum(seat.opened_by == opened_by for seat in self._seats) >= self._share:
            raise ShareUsedUp(what="event streams", share=self._share)
        if len(self._seats) >= self._capacity:
            raise ServiceBusy(what="event streams")

    @contextmanager
    def seat(
        self,
        job_id: UUID,
        admitted: Callable[[], object],
        *,
        first: Sighting,
        known_id: str | None,
        opened_by: UUID | None = None,
    ) -> Iterator[Seat]:
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
        seat = Seat(job_id, admitted, known_id=known_id, opened_by=opened_by)
        _tell(seat, first)
        self._seats.add(seat)
        if self._closing:
            seat.close()
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._watch())
        try:
            yield seat
        finally:
            self._seats.discard(seat)

    def close(self) -> None:
        """End every stream: the process is told to stop. Their readers come back, elsewhere or later."""
        self._closing = True
        for seat in self._seats:
            seat.close()

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
        while self._seats:
            # Every stream begins with what was seen when it was opened, so there is no hurry.
            await asyncio.sleep(TICK_SECONDS)
            seats = tuple(self._seats)
            try:
                seen, refused = await anyio.to_thread.run_sync(
                    self._look_for, seats, limiter=self._one_thread
                )
            except (UnderstudyError, PoolTimeout) as error:
                get_logger().warning("watched-jobs-not-read", kind=type(error).__name__)
            else:
                for seat in seats:
                    _tell(seat, None if seat in refused else seen.get(seat.job_id))
            silent_since = time.monotonic() - UNCHECKED_SECONDS
            for seat in seats:
                if seat.checked_at < silent_since:
                    seat.close()

    def _look_for(self, seats: Collection[Seat]) -> tuple[dict[UUID, Sighting], set[Seat]]:
        """In a thread: what is there to tell, and whose stream must end."""
        with self._reading:
            if self._closing:
                return {}, set()  # every seat is closed; the database may be, too
            job_ids = {seat.job_id for seat in seats}
            rows = self._database.glance(lambda session: repository.statuses(session, job_ids))
            seen = {row.id: Sighting.of(row, clock=self._clock) for row in rows}
            due = time.monotonic() - RECHECK_SECONDS
            return seen, {seat for seat in seats if seat.checked_at <= due and not _is_admitted(seat)}

    def _await_read(self) -> None:
        with self._reading:
            pass


def _is_admitted(seat: Seat) -> bool:
    """Ask again. That nobody could be asked is not a no; that goes on for ``UNCHECKED_SECONDS`` only."""
    try:
        seat.admitted()
    except (Unauthenticated, Forbidden, NotFound):
        return False
    seat.checked_at = time.monotonic()
    return True


def _tell(seat: Seat, sighting: Sighting | None) -> None:
    if sighting is not None:
        seat.put(sighting)
    if sighting is None or sighting.is_last:
        seat.close()
