"""The life of an attempt, the same for every kind of job.

    claim (fence, lease)  ->  may rows be opened?  ->  child under a heartbeat  ->  read what it staged
                          ->  wait for the next edge  ->  write the end down, under the fence

The task holds no secret of a job and opens no rows; the child does (workers.runner). Every write is one short transaction
under the claim's fence, so whatever a worker that lost its lease still does has no effect. The row is the truth and a
message a hint: a message that is lost, doubled or late changes nothing.

How long an attempt takes, and how it ends, may depend on rows. So once its child is gone nothing is written, logged or
published before the next edge (core.jobs.visible_progress): until then the job looks like one that still runs, and this worker
begins no other.

An attempt that ends early is followed by another in the same way, whatever the kind:

* The worker is stopping: the job goes back to the queue, and the claim counts as no attempt.
* Database or object store did not answer: the lease runs out, and upkeep sends the job again.
* The worker was killed: the same, or sooner where upkeep sees that the lease owner is dead.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, Final, Generic, TypeVar
from uuid import UUID

from core.artifacts.reports.owner_orders import ReportClaim
from core.clock import Clock, FixedClock
from core.data.objects import ObjectStore
from core.db.session import Database
from core.errors import Unavailable
from core.jobs.errors import LeaseLost
from core.jobs.leases import Claim
from core.jobs.queue import Queue
from core.jobs.visible_progress import Edges
from core.logs import get_logger
from core.platform.settings import Settings
from workers.child import STOP_SECONDS, Child, Limits, Outcome, WorkName, runner_command, watch

Command = Callable[[UUID, int], list[str]]
"""Makes the command line of a child from the id of what is claimed and the fence."""


ClaimT = TypeVar("ClaimT", Claim, ReportClaim)

_NOT_HELD_BACK: Final = frozenset({Outcome.LEASE_LOST, Outcome.FROZEN})
"""Outcomes that depend on no row and that no client waits for; they are not held back until an edge."""


class Heartbeat:
    """Renews the lease of one claim, and says when its child must stop.

    Args:
        renew: Renews the lease once, and makes the newest progress mark visible if its argument says that an edge has passed.
            Returns whether a person asked to cancel.
        lease_seconds: How long the lease holds without a heartbeat.
        edges: When progress marks may become visible.
    """

    def __init__(
        self,
        renew: Callable[[bool], bool],
        *,
        clock: Clock,
        lease_seconds: float,
        edges: Edges,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._renew = renew
        self._clock = clock
        self._lease_seconds = lease_seconds
        self._edges = edges
        self._edges_used = 0
        self._monotonic = monotonic
        self._renewed_at = monotonic()

    def __call__(self) -> Outcome | None:
        """Renew the lease once. Returns None to go on, or the outcome with which the attempt ends.

        A database that is away is waited for until the lease has run out.
        """
        asked_at = self._monotonic()
        edges_passed = self._edges.passed(self._clock.now())
        try:
            cancelled = self._renew(edges_passed > self._edges_used)
        except LeaseLost:
            return Outcome.LEASE_LOST
        except Unavailable:
            silent = self._monotonic() - self._renewed_at
            return Outcome.LEASE_LOST if silent >= self._lease_seconds else None
        self._renewed_at = asked_at
        self._edges_used = edges_passed
        return Outcome.CANCELLED if cancelled else None


class JobRunner(ABC, Generic[ClaimT]):
    """Brings claims of one kind as far as their attempts can.

    Args:
        queue: Where a further attempt is announced.
        environment: What the child inherits; carries the settings.
        command: The child's command line; None for that of `workers.runner`.
        sleep: Waits for so many seconds.
        stopping: Whether this worker was asked to stop.
    """

    _work_name: ClassVar[WorkName]
    """Kind of work of the child."""

    def __init__(
        self,
        settings: Settings,
        *,
        database: Database,
        store: ObjectStore,
        queue: Queue,
        clock: Clock,
        environment: Mapping[str, str],
        command: Command | None = None,
        sleep: Callable[[float], None] = time.sleep,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._settings = settings
        self._database = database
        self._store = store
        self._queue = queue
        self._clock = clock
        self._environment = environment
        self._command = command or partial(runner_command, work=self._work_name)
        self._sleep = sleep
        self._stopping = stopping

    @property
    @abstractmethod
    def _edge_seconds(self) -> float:
        """Time between two edges."""

    @abstractmethod
    def _claim(self, claimed: UUID) -> ClaimT | None:
        """Claim a job; None if there is nothing to claim."""

    @abstractmethod
    def _refusal(self, claim: ClaimT) -> Outcome | None:
        """Why no rows may be opened for a claim; None if they may."""

    @abstractmethod
    def _renew(self, claim: ClaimT, show_marks: bool) -> bool:  # noqa: FBT001 - Heartbeat's one question
        """Renew the lease. Returns whether a person asked to cancel.

        Raises:
            LeaseLost: The claim does not hold the job.
        """

    @abstractmethod
    def _watched(self, claim: ClaimT, heartbeat: Heartbeat) -> Outcome:
        """Run the child to its end, by `_run_child`."""

    @abstractmethod
    def _staged(self, claim: ClaimT) -> dict[str, Any]:
        """Read and sign what the child of a successful attempt staged, so that only writing is left at the edge."""

    @abstractmethod
    def _log(self, claim: ClaimT, outcome: Outcome | None) -> None:
        """Log that an attempt begins (None) or its outcome, as far as the outcome is public."""

    @abstractmethod
    def _publish(self, claim: ClaimT, staged: dict[str, Any], clock: Clock) -> Outcome:
        """Publish what is staged. Returns DONE, or how the attempt ends because it cannot be published.

        Raises:
            LeaseLost: The claim does not hold the job, so nothing is published.
        """

    @abstractmethod
    def _hand_back(self, claim: ClaimT, clock: Clock) -> None:
        """Put the job back into the queue; the claim counts as no attempt.

        Raises:
            LeaseLost: The claim does not hold the job.
        """

    @abstractmethod
    def _attempts(self, claim: ClaimT) -> int:
        """Attempts that count against the limit by now, this one included."""

    @abstractmethod
    def _end(self, claim: ClaimT, outcome: Outcome, clock: Clock) -> None:
        """End the job, or have it tried again, after any other outcome.

        Raises:
            LeaseLost: The claim does not hold the job.
        """

    @abstractmethod
    def _abandon(self, claim: ClaimT) -> None:
        """Remove the objects that a claim which lost its lease wrote under its own fence."""

    def _claimed(self, wanted: UUID) -> ClaimT | None:
        """Claim a job, unless this worker is stopping."""
        if self._stopping():
            return None
        claim = self._claim(wanted)
        if claim is None:
            get_logger().info("claim-refused")
        return claim

    def _attempt(self, claim: ClaimT) -> Outcome:
        """Run one attempt of a claimed job. Returns its public outcome."""
        self._log(claim, None)
        edges = Edges(claimed_at=claim.claimed_at, seconds=self._edge_seconds)
        heartbeat = Heartbeat(
            partial(self._renew, claim),
            clock=self._clock,
            lease_seconds=self._settings.lease_seconds,
            edges=edges,
        )
        outcome = self._refusal(claim) or self._watched(claim, heartbeat)
        staged = self._staged(claim) if outcome is Outcome.DONE else {}
        outcome = self._held_back(outcome, edges, heartbeat)
        public = outcome.public
        self._log(claim, outcome)
        try:
            # Stamped with the edge, not with the moment at which the end is written.
            self._conclude(claim, outcome, staged, FixedClock(edges.latest(self._clock.now())))
        except LeaseLost:
            get_logger().warning("lease-lost", fence=claim.fence)
            self._abandon(claim)
        return public

    def _run_child(
        self,
        command: list[str],
        environment: Mapping[str, str],
        *,
        seconds: float,
        heartbeat: Callable[[], Outcome | None],
    ) -> Outcome:
        """Start the child and watch it to its end."""
        return watch(
            Child(command, environment),
            limits=Limits(memory_bytes=self._settings.training_memory_bytes, seconds=seconds),
            heartbeat_seconds=self._settings.heartbeat_seconds,
            heartbeat=heartbeat,
            stopping=self._stopping,
        )

    def _held_back(self, outcome: Outcome, edges: Edges, heartbeat: Heartbeat) -> Outcome:
        """Wait for the next edge and keep the lease. Returns the outcome at that edge.

        If a person cancels while the finished work is held back, the job is cancelled: with slower rows it would still
        have been running. For the same reason a stopping worker drops the work and does not wait: the moment of a stop
        depends on no row.
        """
        edge = edges.next(self._clock.now())
        while outcome not in _NOT_HELD_BACK:
            if self._stopping():
                return Outcome.STOPPED
            left = (edge - self._clock.now()).total_seconds()
            if left <= 0:
                break
            self._sleep(min(left, self._settings.heartbeat_seconds, STOP_SECONDS))
            verdict = heartbeat()
            if verdict is Outcome.LEASE_LOST or (verdict is Outcome.CANCELLED and outcome is Outcome.DONE):
                outcome = verdict
        return outcome

    def _conclude(self, claim: ClaimT, outcome: Outcome, staged: dict[str, Any], clock: Clock) -> None:
        """Write the end down.

        Raises:
            LeaseLost: The claim does not hold the job any more.
        """
        if outcome is Outcome.LEASE_LOST:
            raise LeaseLost
        if outcome is Outcome.DONE:
            outcome = self._publish(claim, staged, clock)
            if outcome is Outcome.DONE:
                return
        if outcome is Outcome.STOPPED:
            self._hand_back(claim, clock)
        elif outcome is Outcome.MACHINERY and self._attempts(claim) < self._settings.job_attempts:
            return  # what does not answer is given time: the lease runs out, and upkeep sends the job again
        else:
            self._end(claim, outcome, clock)
