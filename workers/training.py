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
from typing import Any, Final
from uuid import UUID

import structlog
from obstore.exceptions import BaseError as StoreError
from opentelemetry.trace import SpanKind, Tracer

from core.clock import Clock, FixedClock, SystemClock
from core.db.session import Database
from core.errors import Unavailable, UnderstudyError
from core.jobs import claims, endings, repository
from core.jobs.claims import Claim
from core.jobs.coarse import Edges
from core.jobs.errors import LeaseLost, NotCancelled
from core.jobs.queue import CeleryQueue, Queue
from core.jobs.states import ENDED, Cause
from core.jobs.turns import next_in_turn, should_make_room
from core.ledger.errors import PopulationFrozen
from core.logs import get_logger
from core.reports.charged import report_id_of
from core.settings import Settings, read_settings
from core.storage.objects import ObjectStore, open_store
from core.synthesis.report_plan import ReportPlan
from core.tracing import no_tracer, span, tracer_for
from core.witness.keeping import LedgerWitness
from workers.charged_publishing import sign_staged
from workers.devices import claimed_gpus
from workers.holder import this_process
from workers.outcomes import MACHINERY_FAILED, REUSED_COUNTS_MISSING, Outcome
from workers.places import bundle_key, checkpoint_key, release_id_of
from workers.publishing import certify_staged
from workers.pulse import Pulse
from workers.stopping import STOP_SECONDS, stop_announced, stop_noticed
from workers.supervision import Child, Limits, child_environment, runner_command, watch
from workers.sweeping import sweep

CAUSES: Final = {
    Outcome.MACHINERY: Cause.MACHINERY,
    Outcome.REUSED_MISSING: Cause.MACHINERY,
    Outcome.VANISHED: Cause.UNKNOWN,
}
"""What an attempt failed of; every other failure counts as one of the rows."""


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
        tracer: Tracer | None = None,
        sleep: Callable[[float], None] = time.sleep,
        stopping: Callable[[], bool] = lambda: False,
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
        self._witness = LedgerWitness.of(settings, database=database, store=store, clock=clock)
        self._stopping = stopping

    def serve(self) -> None:
        """Train the job whose turn it is, whichever job a message named.

        Raises:
            Unavailable: The database is away; the message is kept or sent again.
        """
        tried: set[UUID] = set()
        while not self._stopping():
            with self._database.read_only() as session:
                job_id = next_in_turn(session, now=self._clock.now(), without=tried)
            if job_id is None:
                get_logger().info("claim-refused")
                return
            tried.add(job_id)
            with structlog.contextvars.bound_contextvars(job_id=str(job_id)):
                try:
                    claim = self._claim(job_id)
                except Unavailable:
                    raise
                except UnderstudyError:
                    # A job that cannot be claimed, its ledger broken perhaps, must not stand in everybody's way.
                    get_logger().error("claim-broke-off", exc_info=True)
                    continue
                if claim is not None:
                    self._work(claim)
                    return

    def train(self, job_id: UUID) -> None:
        """Claim a job and bring it as far as this attempt can.

        Raises:
            JobNotFound: No such job.
            Unavailable: The database is away.
        """
        if self._stopping():
            return
        claim = self._claim(job_id)
        if claim is None:
            get_logger().info("claim-refused")
        else:
            self._work(claim)

    def _claim(self, job_id: UUID) -> Claim | None:
        with self._database.transaction() as session:
            return claims.claim(
                session,
                job_id,
                clock=self._clock,
                lease_seconds=self._settings.lease_seconds,
                max_attempts=self._settings.job_attempts,
                lease_owner=this_process(),
            )

    def _work(self, claim: Claim) -> None:
        named = {} if claim.request_id is None else {"request_id": claim.request_id}
        with (
            structlog.contextvars.bound_contextvars(**named),
            span(self._tracer, "attempt", kind=SpanKind.CONSUMER, parent=claim.trace_context) as current,
        ):
            current.set_attributes(
                {
                    "understudy.job_id": str(claim.job_id),
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
        room_from = claimed_at + timedelta(seconds=self._settings.slice_seconds)
        outcome = self._unwitnessed(claim) or self._attempt(claim, pulse, room_from=room_from)
        certificate = self._staged_certificate(claim) if outcome is Outcome.DONE else {}
        outcome = self._held_back(outcome, edges, pulse)
        told = outcome.told
        get_logger().info("attempt-ended", fence=claim.fence, outcome=told.value)
        try:
            self._conclude(claim, outcome, certificate, at=edges.latest(self._clock.now()))
        except LeaseLost:
            get_logger().warning("lease-lost", fence=claim.fence)
        return told

    def _unwitnessed(self, claim: Claim) -> Outcome | None:
        """Note outside the database what was spent for the claim. Returns why rows may not be opened, or None.

        A database that is restored afterwards is then found to have forgotten a spend. Every attempt notes it, so that a
        crash between claim and note does no harm.
        """
        try:
            self._witness.note_spend(claim.population_id, claim.job_id)
        except PopulationFrozen:
            get_logger().error("ledger-forgets", population_id=str(claim.population_id))
            return Outcome.FROZEN
        except (StoreError, OSError):
            get_logger().error("spend-not-witnessed", fence=claim.fence, exc_info=True)
            return Outcome.MACHINERY
        return None

    def _attempt(self, claim: Claim, pulse: Pulse, *, room_from: datetime) -> Outcome:
        settings = self._settings

        def beat() -> Outcome | None:
            verdict = pulse()
            makes_room = verdict is None and self._clock.now() >= room_from and self._makes_room(claim)
            return Outcome.STOPPED if makes_room else verdict

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
                heartbeat=beat,
                stopping=self._stopping,
            )

    def _makes_room(self, claim: Claim) -> bool:
        """Whether somebody else's turn has come; only once this attempt has come as far as a checkpoint of its own."""
        try:
            if not self._store.exists(checkpoint_key(claim.job_id, claim.fence)):
                return False
            with self._database.read_only() as session:
                return should_make_room(session, claim.ordered_by, now=self._clock.now())
        except (Unavailable, StoreError, OSError):
            return False

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
        is cancelled all the same. For the same reason a worker that is told to stop drops it, and does not wait: the
        moment of a stop depends on no row.
        """
        edge = edges.next(self._clock.now())
        while outcome not in {Outcome.LEASE_LOST, Outcome.FROZEN}:
            if self._stopping():
                return Outcome.STOPPED
            left = (edge - self._clock.now()).total_seconds()
            if left <= 0:
                break
            self._sleep(min(left, self._settings.heartbeat_seconds, STOP_SECONDS))
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
            try:
                published = self._publish(claim, certificate, clock)
                ended = True
            except (StoreError, OSError):
                get_logger().error("publication-not-witnessed", fence=claim.fence, exc_info=True)
                ended = self._fail(claim, Outcome.MACHINERY, clock)
        elif outcome is Outcome.CANCELLED:
            ended = self._stop(claim, clock)
        elif outcome is Outcome.STOPPED:
            with self._database.transaction() as session:
                ended = endings.hand_back(session, claim, clock=clock, queue=self._queue) in ENDED
        elif outcome is Outcome.FROZEN:
            with self._database.transaction() as session:
                endings.set_aside(session, claim)
            ended = False
        else:
            ended = self._fail(claim, outcome, clock)
        if ended:
            sweep(self._store, claim.population_id, claim.job_id, claim.fence, published=published)

    def _publish(self, claim: Claim, certificate: dict[str, Any], clock: Clock) -> str | None:
        """Make the staged bundle a release, or the signed report one that is published. Returns the key that is kept.

        That it is published is noted outside the database before the commit.

        Raises:
            StoreError, OSError: It could not be noted, so nothing is published.
        """
        if isinstance(claim.plan, ReportPlan):
            with self._database.transaction() as session:
                report_id = report_id_of(claim.job_id)
                endings.finish_report(session, claim, report_id=report_id, document=certificate, clock=clock)
                self._witness.note_publication(session, claim.population_id, claim.job_id)
            return None
        key = bundle_key(claim.job_id, claim.fence)
        with self._database.transaction() as session:
            endings.finish(
                session,
                claim,
                release_id=release_id_of(claim.job_id),
                bundle_key=key,
                certificate=certificate,
                clock=clock,
            )
            self._witness.note_publication(session, claim.population_id, claim.job_id)
        return key

    def _stop(self, claim: Claim, clock: Clock) -> bool:
        try:
            with self._database.transaction() as session:
                endings.stop(session, claim, clock=clock)
        except NotCancelled:
            # The child says cancelled and the row does not: believe the row, and try again.
            return self._fail(claim, Outcome.VANISHED, clock)
        return True

    def _fail(self, claim: Claim, outcome: Outcome, clock: Clock) -> bool:
        """Record a failure. Returns whether the job is over.

        A child that vanished may have been killed by the machine for the memory its rows took: as long as there are
        attempts it is resumed with the same randomness, which releases nothing new.
        A part that does not answer is given time: the lease runs out, and upkeep sends the job again.
        """
        settings = self._settings
        if outcome is Outcome.MACHINERY and self._attempts(claim) < settings.job_attempts:
            return False
        final = outcome is Outcome.REUSED_MISSING
        with self._database.transaction() as session:
            state = endings.fail(
                session,
                claim,
                code=REUSED_COUNTS_MISSING if final else MACHINERY_FAILED,
                cause=CAUSES.get(outcome, Cause.ROWS),
                clock=clock,
                queue=self._queue,
                max_attempts=0 if final else settings.job_attempts,
            )
        return state in ENDED

    def _attempts(self, claim: Claim) -> int:
        """Attempts since the job last came further, the present one included."""
        with self._database.read_only() as session:
            return repository.find(session, claim.job_id).attempts


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
        stopping=stop_announced,
    )


def train_by_message(job_id: str) -> None:
    """Run the job whose turn it is. Raises nothing: Celery would log the text of what it caught.

    A message that could not be served is lost here and sent again by upkeep, because the row still waits.
    """
    with structlog.contextvars.bound_contextvars(job_id=job_id):
        try:
            with stop_noticed():
                _trainer().serve()
        except Exception:  # noqa: BLE001 - the class is logged, the text is not
            get_logger().error("task-broke-off", exc_info=True)
