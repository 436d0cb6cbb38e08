"""The task `understudy.train`: claim and spend, watch the child, publish or settle.

The task holds no secret of a job and opens no rows; the child does (workers.runner). Every write is one short
transaction under the claim's fence, so whatever a worker that lost its lease still does has no effect.
"""

import os
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final
from uuid import UUID

import structlog
from opentelemetry.trace import SpanKind, Tracer

from core.clock import Clock, SystemClock
from core.db.session import Database
from core.jobs import claims
from core.jobs.claims import Claim
from core.jobs.errors import LeaseLost, NotCancelled
from core.jobs.queue import CeleryQueue, Queue
from core.jobs.states import ENDED
from core.logs import get_logger
from core.settings import Settings, read_settings
from core.storage.objects import ObjectStore, open_store
from core.tracing import no_tracer, span, tracer_for
from workers.holder import this_process
from workers.outcomes import MACHINERY_FAILED, Outcome
from workers.places import bundle_key, release_id_of
from workers.publishing import certify_staged
from workers.pulse import Pulse
from workers.supervision import Child, Limits, child_environment, runner_command, watch
from workers.sweeping import sweep

_CHARGED_IN_FULL: Final = frozenset({Outcome.DATA, Outcome.TOO_LONG, Outcome.TOO_LARGE})


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
    ) -> None:
        self._settings = settings
        self._database = database
        self._store = store
        self._queue = queue
        self._clock = clock
        self._environment = environment
        self._command = command
        self._tracer = tracer or no_tracer()

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
        outcome = self._attempt(claim)
        get_logger().info("attempt-ended", fence=claim.fence, outcome=outcome.value)
        try:
            self._conclude(claim, outcome)
        except LeaseLost:
            get_logger().warning("lease-lost", fence=claim.fence)
        return outcome

    def _attempt(self, claim: Claim) -> Outcome:
        child = Child(
            self._command(claim.job_id, claim.fence),
            child_environment(self._environment, threads=self._settings.training_threads),
        )
        return watch(
            child,
            limits=Limits(
                memory_bytes=self._settings.training_memory_bytes, seconds=self._settings.training_seconds
            ),
            heartbeat_seconds=self._settings.heartbeat_seconds,
            heartbeat=Pulse(
                claim,
                database=self._database,
                clock=self._clock,
                lease_seconds=self._settings.lease_seconds,
            ),
        )

    def _conclude(self, claim: Claim, outcome: Outcome) -> None:
        if outcome is Outcome.LEASE_LOST:
            return
        published = None
        if outcome is Outcome.DONE:
            published = self._publish(claim)
            ended = True
        elif outcome is Outcome.CANCELLED:
            ended = self._stop(claim)
        else:
            ended = self._fail(claim, outcome)
        if ended:
            sweep(self._store, claim.job_id, claim.fence, published=published)

    def _publish(self, claim: Claim) -> str:
        """Make the staged bundle a release, after reading it back whole and certifying it."""
        key = bundle_key(claim.job_id, claim.fence)
        certificate = certify_staged(
            claim,
            database=self._database,
            store=self._store,
            master_keys=self._settings.master_keys,
            clock=self._clock,
        )
        with self._database.transaction() as session:
            claims.finish(
                session,
                claim,
                release_id=release_id_of(claim.job_id),
                bundle_key=key,
                certificate=certificate,
                clock=self._clock,
            )
        return key

    def _stop(self, claim: Claim) -> bool:
        try:
            with self._database.transaction() as session:
                claims.stop(session, claim, clock=self._clock)
        except NotCancelled:
            # The child says cancelled and the row does not: believe the row, and try again.
            return self._fail(claim, Outcome.VANISHED)
        return True

    def _fail(self, claim: Claim, outcome: Outcome) -> bool:
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
                data_dependent=outcome in _CHARGED_IN_FULL or (outcome is Outcome.VANISHED and last),
                clock=self._clock,
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
