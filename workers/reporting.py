"""The task `understudy.report`: claim a sealed report, watch the child that makes it, show it to the owner or give up.

The row is the truth and a message a hint, as with trainings. How long a report takes, and whether one can be made, may
depend on rows; only its owner is told of it, but a worker that is busy cannot serve anybody else. So when the child is gone
nothing is written, and the worker takes nothing else, before the next edge of a slot whose length is a public setting; and
no log says how it ended where rows may have had a part in it.
"""

import os
import sys
import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final
from uuid import UUID

import structlog
from obstore.exceptions import BaseError as StoreError

from core.clock import Clock, SystemClock
from core.db.session import Database
from core.errors import Unavailable
from core.jobs.coarse import Edges
from core.jobs.errors import LeaseLost
from core.jobs.queue import CeleryQueue, Queue
from core.logs import get_logger
from core.reports.sealed_files import report_key
from core.reports.sealed_orders import (
    ReportClaim,
    claim_report,
    fail_report,
    finish_report,
    hand_back_report,
    renew_report,
)
from core.settings import Settings, read_settings
from core.storage.objects import ObjectStore, open_store
from workers.outcomes import Outcome
from workers.stopping import STOP_SECONDS, stop_announced, stop_noticed
from workers.supervision import Child, Limits, child_environment, watch

_PUBLIC: Final = frozenset({Outcome.MACHINERY, Outcome.LEASE_LOST, Outcome.STOPPED})
"""Ends in which no row had a part."""


def runner_command(report_id: UUID, fence: int) -> list[str]:
    """The command line of the child: opaque numbers only, never a secret."""
    words = ["-m", "workers.reporting_runner", str(report_id), str(fence), "--parent", str(os.getpid())]
    return [sys.executable, *words]


class Reporter:
    """Makes one report from its message to its end.

    Args:
        settings: What the operator set.
        database: Where reports are.
        store: Where objects are.
        queue: Where a further attempt is announced.
        clock: Tells the time.
        environment: What the child inherits; carries the settings.
        command: The child's command line.
        sleep: Waits for so many seconds.
        monotonic: Tells elapsed seconds.
        stopping: Whether this worker was told to stop.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        database: Database,
        store: ObjectStore,
        queue: Queue,
        clock: Clock,
        environment: Mapping[str, str],
        command: Callable[[UUID, int], list[str]] = runner_command,
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._settings = settings
        self._database = database
        self._store = store
        self._queue = queue
        self._clock = clock
        self._environment = environment
        self._command = command
        self._sleep = sleep
        self._monotonic = monotonic
        self._stopping = stopping
        self._renewed_at = monotonic()

    def report(self, report_id: UUID) -> None:
        """Claim the report and bring it as far as this attempt can.

        Raises:
            Unavailable: The database is away; the message is sent again.
        """
        if self._stopping():
            return
        with self._database.transaction() as session:
            claim = claim_report(
                session,
                report_id,
                clock=self._clock,
                lease_seconds=self._settings.lease_seconds,
                max_attempts=self._settings.job_attempts,
            )
        if claim is None:
            get_logger().info("claim-refused")
            return
        named = {} if claim.request_id is None else {"request_id": claim.request_id}
        with structlog.contextvars.bound_contextvars(**named):
            get_logger().info("report-begins", fence=claim.fence, attempt=claim.attempts)
            outcome = self._held_back(claim, self._made(claim))
            get_logger().info("report-ended", fence=claim.fence, **_told(outcome))
            try:
                self._conclude(claim, outcome)
            except LeaseLost:
                get_logger().warning("lease-lost", fence=claim.fence)
                self._remove(report_key(claim.dataset_id, claim.report_id, claim.fence))

    def _made(self, claim: ReportClaim) -> Outcome:
        self._renewed_at = self._monotonic()
        settings = self._settings
        child = Child(
            self._command(claim.report_id, claim.fence),
            child_environment(self._environment, threads=1),
        )
        return watch(
            child,
            limits=Limits(memory_bytes=settings.training_memory_bytes, seconds=settings.report_seconds),
            heartbeat_seconds=settings.heartbeat_seconds,
            heartbeat=lambda: self._renewed(claim),
            stopping=self._stopping,
        )

    def _renewed(self, claim: ReportClaim) -> Outcome | None:
        """Renew the lease once. A database that is away is waited for until the lease has run out."""
        asked_at = self._monotonic()
        try:
            with self._database.transaction() as session:
                renew_report(session, claim, clock=self._clock, lease_seconds=self._settings.lease_seconds)
        except LeaseLost:
            return Outcome.LEASE_LOST
        except Unavailable:
            silent = self._monotonic() - self._renewed_at
            return Outcome.LEASE_LOST if silent >= self._settings.lease_seconds else None
        self._renewed_at = asked_at
        return None

    def _held_back(self, claim: ReportClaim, outcome: Outcome) -> Outcome:
        """Wait for the next edge, with a beating heart. A worker that is told to stop drops what it has and does not wait."""
        edges = Edges(claimed_at=claim.claimed_at, seconds=self._settings.report_slot_seconds)
        edge = edges.next(self._clock.now())
        while outcome is not Outcome.LEASE_LOST:
            if self._stopping():
                return Outcome.STOPPED
            left = (edge - self._clock.now()).total_seconds()
            if left <= 0:
                break
            self._sleep(min(left, self._settings.heartbeat_seconds, STOP_SECONDS))
            outcome = self._renewed(claim) or outcome
        return outcome

    def _conclude(self, claim: ReportClaim, outcome: Outcome) -> None:
        """Write the end down. A part that does not answer is given time: upkeep sends the report again.

        Raises:
            LeaseLost: Another worker holds the report, or it is gone with its dataset.
        """
        if outcome is Outcome.LEASE_LOST:
            raise LeaseLost
        last = claim.attempts >= self._settings.job_attempts
        if outcome is Outcome.DONE:
            key = report_key(claim.dataset_id, claim.report_id, claim.fence)
            with self._database.transaction() as session:
                finish_report(session, claim, object_key=key, clock=self._clock)
            self._sweep(claim)
        elif outcome is Outcome.STOPPED:
            with self._database.transaction() as session:
                hand_back_report(session, claim, queue=self._queue, clock=self._clock)
        elif outcome is not Outcome.MACHINERY or last:
            again = outcome is Outcome.VANISHED and not last
            with self._database.transaction() as session:
                fail_report(session, claim, again=again, queue=self._queue, clock=self._clock)

    def _sweep(self, claim: ReportClaim) -> None:
        """Remove what earlier attempts left."""
        for fence in range(1, claim.fence):
            self._remove(report_key(claim.dataset_id, claim.report_id, fence))

    def _remove(self, key: str) -> None:
        try:
            self._store.delete(key)
        except (StoreError, OSError):
            get_logger().warning("sweep-failed", exc_info=True)


def _told(outcome: Outcome) -> dict[str, str]:
    return {"outcome": outcome.value} if outcome in _PUBLIC else {}


@cache
def _reporter() -> Reporter:
    """The reporter of this process, made after the fork."""
    settings = read_settings()
    return Reporter(
        settings,
        database=Database(settings.database_url, pool_size=1, max_overflow=1),
        store=open_store(settings.storage_url),
        queue=CeleryQueue(settings.broker_url),
        clock=SystemClock(),
        environment=os.environ,
        stopping=stop_announced,
    )


def report_by_message(report_id: str) -> None:
    """Make the report a message names. Raises nothing: Celery would log the text of what it caught."""
    with structlog.contextvars.bound_contextvars(report_id=report_id):
        try:
            with stop_noticed():
                _reporter().report(UUID(report_id))
        except Exception:  # noqa: BLE001 - the class is logged, the text is not
            get_logger().error("task-broke-off", exc_info=True)
