"""The task `understudy.train`: claim and spend, watch the child, publish or settle.

The task holds no secret of a job and opens no rows; the child does (workers.runner). Every write is one short
transaction under the claim's fence, so whatever a worker that lost its lease still does has no effect.

How long an attempt takes, and how it ends, may depend on rows. So when its child is gone nothing is written, logged or
published before the next edge (core.jobs.coarse): until then the job looks like one that still runs, and the next job
does not begin.
"""

import os
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import cache, partial
from typing import Any
from uuid import UUID

import structlog
from opentelemetry.trace import SpanKind, Tracer

from core.clock import Clock, FixedClock, SystemClock
from core.db.session import Database
from core.jobs import claims
from core.jobs.charged_ending import finish_report
from core.jobs.claims import Claim
from core.jobs.coarse import Edges
from core.jobs.errors import LeaseLost, NotCancelled
from core.jobs.queue import CeleryQueue, Queue
from core.jobs.states import ENDED
from core.logs import get_logger
from core.reports.charged import report_id_of
from core.settings import Settings, read_settings
from core.storage.objects import ObjectStore, open_store
from core.synthesis.report_plan import ReportPlan
from core.tracing import no_tracer, span, tracer_for
from workers.charged_publishing import sign_staged
from workers.devices import claimed_gpus
from workers.holder import this_process
from workers.outcomes import CHARGED_IN_FULL, MACHINERY_FAILED, Outcome
from workers.places import bundle_key, release_id_of
from workers.publishing import certify_staged
from workers.pulse import Pulse
from workers.supervision import Child, Limits, child_environment, runner_command, watch
from workers.sweeping import sweep


class Trainer:
    """Runs one job from its message to its end.

    Args:
        settings: What the operator set.
        database: Where jobs and ledger are.
        store: Where objects are.
        queue: Where a further attempt is announced.
        clock: Tells the time.
        environment: What the child inherits; carries the settings.
        command: The child's command line.
        tracer: Makes the spans of attempts; none where not given.
        sleep: Waits for so many seconds.
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
        tracer: Tracer | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._settings = settings
        self._database = database
        self._store = store
        self._queue = queue
        self._clock = clock
        self._environment = environment
        self._command = command
        self._tracer = tracer or no_tracer()
        self._sleep = sleep

    def train(self, job_id: UUID) -> None:
        """Claim the job and bring it as far as this attempt can.

        Raises:
            JobNotFound: No such job.
            Unavailable: The database is away; the message is kept or sent again.
        """
        with self._database.transaction() as session:
            claim = claims.claim(
                session,
                job_id,
                clock=self._clock,
                lease_seconds=self._settings.lease_seconds,
                max_attempts=self._settings.job_attempts,
                holder=this_process(),
            )
        if claim is None:
            get_logger().info("claim-refused")
            return
        named = {} if claim.request_id is None else {"request_id": claim.request_id}
        with (
            structlog.contextvars.bound_contextvars(**named),
            span(self._tracer, "attempt", kind=SpanKind.CONSUMER, parent=claim.trace_context) as current,
        ):
            current.set_attributes(
                {
                    "understudy.job_id": str(job_id),
                    "understudy.fence": claim.fence,
                    **{f"understudy.{name}": value for name, value in named.items()},
                }
            )
            current.set_attribute("understudy.outcome", self._serve(claim).value)

    def _serve(self, claim: Claim) -> Outcome:
        get_logger().info("attempt-begins", fence=claim.fence, attempt=claim.attempts)
        claimed_at = claim.lease_expires_at - timedelta(seconds=self._settings.lease_seconds)
        edges = Edges(claimed_at=claimed_at, seconds=self._settings.completion_seconds)
        pulse = Pulse(
            claim,
            database=self._database,
            clock=self._clock,
            lease_seconds=self._settings.lease_seconds,
            edges=edges,
        )
        outcome = self._attempt(claim, pulse)
        certificate = self._staged_certificate(claim) if outcome is Outcome.DONE else {}
        outcome = self._held_back(outcome, edges, pulse)
        told = outcome.told
        get_logger().info("attempt-ended", fence=claim.fence, outcome=told.value)
        try:
            self._conclude(claim, outcome, certificate, at=edges.latest(self._clock.now()))
        except LeaseLost:
            get_logger().warning("lease-lost", fence=claim.fence)
        return told

    def _attempt(self, claim: Claim, pulse: Pulse) -> Outcome:
        settings = self._settings
        wanted = 0 if settings.training_device == "cpu" else settings.training_gpus
        with claimed_gpus(settings.scratch_folder, wanted, environment=self._environment) as gpus:
            child = Child(
                self._command(claim.job_id, claim.fence),
                child_environment(self._environment, threads=settings.training_threads, gpus=gpus),
            )
            return watch(
                child,
                limits=Limits(memory_bytes=settings.training_memory_bytes, seconds=settings.training_seconds),
                heartbeat_seconds=settings.heartbeat_seconds,
                heartbeat=pulse,
            )

    def _staged_certificate(self, claim: Claim) -> dict[str, Any]:
        """Read back whole what is staged, and certify or sign it, before the wait for the edge."""
        sign = (
            partial(sign_staged, plan=plan) if isinstance(plan := claim.plan, ReportPlan) else certify_staged
        )
        return sign(
            claim,
            database=self._database,
            store=self._store,
            master_keys=self._settings.master_keys,
            clock=self._clock,
        )

    def _held_back(self, outcome: Outcome, edges: Edges, pulse: Pulse) -> Outcome:
        """Wait for the next edge, with a beating heart. Returns how the attempt ends by then.

        A person may cancel while the finished work is held back: had the rows been slower it would still have run, so it
        is cancelled all the same.
        """
        edge = edges.next(self._clock.now())
        while outcome is not Outcome.LEASE_LOST:
            left = (edge - self._clock.now()).total_seconds()
            if left <= 0:
                break
            self._sleep(min(left, self._settings.heartbeat_seconds))
            verdict = pulse()
            if verdict is Outcome.LEASE_LOST or (verdict is Outcome.CANCELLED and outcome is Outcome.DONE):
                outcome = verdict
        return outcome

    def _conclude(self, claim: Claim, outcome: Outcome, certificate: dict[str, Any], *, at: datetime) -> None:
        """Write the end down, stamped with the edge.

        Args:
            claim: The attempt.
            outcome: How it ended.
            certificate: Of the staged bundle, or the signed report, where there is one.
            at: The edge.
        """
        if outcome is Outcome.LEASE_LOST:
            return
        clock = FixedClock(at)
        published = None
        if outcome is Outcome.DONE:
            published = self._publish(claim, certificate, clock)
            ended = True
        elif outcome is Outcome.CANCELLED:
            ended = self._stop(claim, clock)
        else:
            ended = self._fail(claim, outcome, clock)
        if ended:
            sweep(self._store, claim.job_id, claim.fence, published=published)

    def _publish(self, claim: Claim, certificate: dict[str, Any], clock: Clock) -> str | None:
        """Make the staged bundle a release, or the signed report one that is published. Returns the key that is kept."""
        if isinstance(claim.plan, ReportPlan):
            with self._database.transaction() as session:
                report_id = report_id_of(claim.job_id)
                finish_report(session, claim, report_id=report_id, document=certificate, clock=clock)
            return None
        key = bundle_key(claim.job_id, claim.fence)
        with self._database.transaction() as session:
            claims.finish(
                session,
                claim,
                release_id=release_id_of(claim.job_id),
                bundle_key=key,
                certificate=certificate,
                clock=clock,
            )
        return key

    def _stop(self, claim: Claim, clock: Clock) -> bool:
        try:
            with self._database.transaction() as session:
                claims.stop(session, claim, clock=clock)
        except NotCancelled:
            # The child says cancelled and the row does not: believe the row, and try again.
            return self._fail(claim, Outcome.VANISHED, clock)
        return True

    def _fail(self, claim: Claim, outcome: Outcome, clock: Clock) -> bool:
        """Record a failure. Returns whether the job is over.

        A child that vanished may have been killed by the machine for the memory its rows took: as long as there are
        attempts it is resumed with the same randomness, which releases nothing new; after that it is charged in full.
        A part that does not answer is given time: the lease runs out, and upkeep sends the job again.
        """
        last = claim.attempts >= self._settings.job_attempts
        if outcome is Outcome.MACHINERY and not last:
            return False
        with self._database.transaction() as session:
            state = claims.fail(
                session,
                claim,
                code=MACHINERY_FAILED,
                data_dependent=outcome in CHARGED_IN_FULL or (outcome is Outcome.VANISHED and last),
                clock=clock,
                queue=self._queue,
                max_attempts=self._settings.job_attempts,
            )
        return state in ENDED


@cache
def _trainer() -> Trainer:
    """The trainer of this process, made after the fork."""
    settings = read_settings()
    return Trainer(
        settings,
        database=Database(settings.database_url, pool_size=1, max_overflow=1),
        store=open_store(settings.storage_url),
        queue=CeleryQueue(settings.broker_url),
        clock=SystemClock(),
        environment=os.environ,
        tracer=tracer_for(role="worker", endpoint=settings.otlp_endpoint),
    )


def train_by_message(job_id: str) -> None:
    """Run the job a message names. Raises nothing: Celery would log the text of what it caught.

    A message that could not be served is lost here and sent again by upkeep, because the row still waits.
    """
    with structlog.contextvars.bound_contextvars(job_id=job_id):
        try:
            _trainer().train(UUID(job_id))
        except Exception:  # noqa: BLE001 - the class is logged, the text is not
            get_logger().error("task-broke-off", exc_info=True)
