"""The jobs that are paid from a ledger: a training, which publishes a release, and the measuring of a utility report.

Claim and spend are one transaction; the spend is noted outside the database too before the child may open rows.
"""

import time
from collections.abc import Callable, Collection, Mapping
from datetime import timedelta
from functools import partial
from typing import Any, ClassVar, Final
from uuid import UUID

import structlog
from obstore.exceptions import BaseError as StoreError
from opentelemetry.trace import SpanKind, Tracer

from core.artifacts.reports.owner_orders import order_after_release
from core.artifacts.reports.utility import report_id_of
from core.clock import Clock
from core.data.objects import ObjectStore
from core.db.session import Database
from core.errors import Unavailable, UnderstudyError
from core.jobs import claims, endings, repository
from core.jobs.errors import NotCancelled
from core.jobs.leases import Claim, this_process
from core.jobs.queue import Queue
from core.jobs.states import ENDED, Cause
from core.jobs.turns import next_in_turn, should_make_room
from core.ledger.errors import PopulationFrozen
from core.logs import get_logger
from core.plan.devices import DEVICES
from core.plan.private_models.plan import ModelPlan
from core.plan.utility_reports.plan import ReportPlan
from core.platform.gpus import claimed_gpus
from core.platform.settings import Settings
from core.platform.stored_objects import bundle_key, checkpoint_key, release_id_of, sweep
from core.platform.witness.errors import PublishedOtherwise
from core.platform.witness.ledger_witness import LedgerWitness
from core.tracing import no_tracer, span
from workers.attempts import Command, Heartbeat, JobRunner
from workers.child import FINAL_CODES, MACHINERY_FAILED, Outcome, WorkName, child_environment
from workers.publishing import certify_bundle, certify_model, content_digest, sign_utility_report

CAUSES: Final = {
    Outcome.MACHINERY: Cause.MACHINERY,
    Outcome.VANISHED: Cause.UNKNOWN,
    **dict.fromkeys(FINAL_CODES, Cause.MACHINERY),
}
"""The cause of a failed attempt; every other failure counts as one of the rows."""


DEVICE_SETTINGS: Final[Mapping[str | None, str]] = {"cpu": "cpu", "gpu": "cuda"}
"""The setting `training_device` of a child by the job's kind of device; a job without a kind takes what the worker has."""


class Trainer(JobRunner[Claim]):
    """Runs one job from its message to its end.

    Args:
        devices: The kinds of device whose trainings this worker takes.
        tracer: Makes the spans of attempts; None makes none.
    """

    _work_name: ClassVar[WorkName] = "train"

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
        devices: Collection[str] = DEVICES,
        tracer: Tracer | None = None,
        sleep: Callable[[float], None] = time.sleep,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(
            settings,
            database=database,
            store=store,
            queue=queue,
            clock=clock,
            environment=environment,
            command=command,
            sleep=sleep,
            stopping=stopping,
        )
        self._devices = frozenset(devices)
        self._tracer = tracer or no_tracer()
        self._witness = LedgerWitness.of(settings, database=database, store=store, clock=clock)

    def serve(self, *, reports: bool = False) -> None:
        """Run the job whose turn it is, whichever job a message named: a utility report if `reports`, else another job.

        Raises:
            Unavailable: The database is away; the message is kept or sent again.
        """
        tried: set[UUID] = set()
        while not self._stopping():
            with self._database.read_only() as session:
                job_id = next_in_turn(
                    session,
                    now=self._clock.now(),
                    reports=reports,
                    devices=self._devices,
                    without=tried,
                )
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
                    # A job that cannot be claimed, perhaps because its ledger is broken, must not block all others.
                    get_logger().error("claim-broke-off", exc_info=True)
                    continue
                if claim is not None:
                    self._work(claim)
                    return

    def train(self, job_id: UUID) -> None:
        """Claim one job and bring it as far as this attempt can.

        Raises:
            JobNotFound: No such job.
            Unavailable: The database is away.
        """
        claim = self._claimed(job_id)
        if claim is not None:
            self._work(claim)

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
            current.set_attribute("understudy.outcome", self._attempt(claim).value)

    @property
    def _edge_seconds(self) -> float:
        return self._settings.completion_seconds

    def _claim(self, claimed: UUID) -> Claim | None:
        with self._database.transaction() as session:
            return claims.claim(
                session,
                claimed,
                clock=self._clock,
                lease_seconds=self._settings.lease_seconds,
                max_attempts=self._settings.job_attempts,
                lease_owner=this_process(),
                devices=self._devices,
            )

    def _refusal(self, claim: Claim) -> Outcome | None:
        """Note outside the database what was spent for the claim; rows stay closed if that fails.

        A database that is restored afterwards is then found to have forgotten a spend. Every attempt notes it, so a crash
        between claim and note does no harm.
        """
        for population_id in claim.population_ids:
            try:
                self._witness.note_spend(population_id, claim.job_id)
            except PopulationFrozen:
                get_logger().error("ledger-forgets", population_id=str(population_id))
                return Outcome.FROZEN
            except (StoreError, OSError):
                get_logger().error("spend-not-witnessed", fence=claim.fence, exc_info=True)
                return Outcome.MACHINERY
        return None

    def _renew(self, claim: Claim, show_marks: bool) -> bool:  # noqa: FBT001 - Heartbeat's one question
        with self._database.transaction() as session:
            return claims.heartbeat(
                session,
                claim,
                clock=self._clock,
                lease_seconds=self._settings.lease_seconds,
                show_marks=show_marks,
            )

    def _watched(self, claim: Claim, heartbeat: Heartbeat) -> Outcome:
        settings = self._settings
        room_from = claim.claimed_at + timedelta(seconds=settings.slice_seconds)

        def beat() -> Outcome | None:
            verdict = heartbeat()
            makes_room = verdict is None and self._clock.now() >= room_from and self._makes_room(claim)
            return Outcome.STOPPED if makes_room else verdict

        device = DEVICE_SETTINGS.get(claim.device, settings.training_device)
        wanted = 0 if device == "cpu" else settings.training_gpus
        with claimed_gpus(settings.scratch_folder, wanted, environment=self._environment) as gpus:
            return self._run_child(
                self._command(claim.job_id, claim.fence),
                child_environment(self._environment, threads=settings.training_threads, gpus=gpus)
                | {"UNDERSTUDY_TRAINING_DEVICE": device},
                seconds=settings.training_seconds,
                heartbeat=beat,
            )

    def _makes_room(self, claim: Claim) -> bool:
        """Whether another job's turn has come; never before this attempt has saved a checkpoint of its own."""
        try:
            if not self._store.exists(checkpoint_key(claim.job_id, claim.fence)):
                return False
            with self._database.read_only() as session:
                return should_make_room(
                    session, claim.ordered_by, now=self._clock.now(), devices=self._devices
                )
        except (Unavailable, StoreError, OSError):
            return False

    def _staged(self, claim: Claim) -> dict[str, Any]:
        """Read what is staged back whole, and return the certificate of the bundle or the signed report."""
        plan = claim.plan
        sign: Callable[..., dict[str, Any]] = certify_bundle
        if isinstance(plan, ReportPlan):
            sign = partial(sign_utility_report, plan=plan)
        elif isinstance(plan, ModelPlan):
            sign = partial(certify_model, plan=plan)
        return sign(
            claim,
            database=self._database,
            store=self._store,
            master_keys=self._settings.master_keys,
            clock=self._clock,
        )

    def _log(self, claim: Claim, outcome: Outcome | None) -> None:
        if outcome is None:
            get_logger().info("attempt-begins", fence=claim.fence, attempt=claim.attempts)
        else:
            get_logger().info("attempt-ended", fence=claim.fence, outcome=outcome.public.value)

    def _publish(self, claim: Claim, staged: dict[str, Any], clock: Clock) -> Outcome:
        """Make the staged bundle a release, or publish the signed report.

        The publication is noted outside the database before the commit; without the note nothing is published. A job that has published
        something else, which only a restored database does not know, ends charged in full.
        """
        key = None if isinstance(claim.plan, ReportPlan) else bundle_key(claim.job_id, claim.fence)
        try:
            with self._database.transaction() as session:
                if key is None:
                    report_id = report_id_of(claim.job_id)
                    endings.finish_report(session, claim, report_id=report_id, document=staged, clock=clock)
                else:
                    release = endings.finish(
                        session,
                        claim,
                        release_id=release_id_of(claim.job_id),
                        bundle_key=key,
                        certificate=staged,
                        clock=clock,
                    )
                    if self._settings.owner_reports == "automatic":
                        order_after_release(session, release, queue=self._queue, clock=clock)
                content = content_digest(staged)
                for population_id in claim.population_ids:
                    self._witness.note_publication(
                        session, population_id, claim.job_id, content_sha256=content
                    )
        except PublishedOtherwise:
            get_logger().error("published-otherwise", fence=claim.fence)
            return Outcome.DATA
        except (StoreError, OSError):
            get_logger().error("publication-not-witnessed", fence=claim.fence, exc_info=True)
            return Outcome.MACHINERY
        self._sweep(claim, published=key)
        return Outcome.DONE

    def _hand_back(self, claim: Claim, clock: Clock) -> None:
        with self._database.transaction() as session:
            ended = endings.hand_back(session, claim, clock=clock, queue=self._queue) in ENDED
        if ended:
            self._sweep(claim)

    def _attempts(self, claim: Claim) -> int:
        """Attempts since the job last made progress, which may have been under this claim."""
        with self._database.read_only() as session:
            return repository.find(session, claim.job_id).attempts

    def _end(self, claim: Claim, outcome: Outcome, clock: Clock) -> None:
        if outcome is Outcome.FROZEN:
            with self._database.transaction() as session:
                endings.set_aside(session, claim)
            return
        if outcome is Outcome.CANCELLED:
            try:
                with self._database.transaction() as session:
                    endings.stop(session, claim, clock=clock)
            except NotCancelled:
                # The child says cancelled and the row does not: believe the row, and try again.
                outcome = Outcome.VANISHED
            else:
                self._sweep(claim)
                return
        if self._fail(claim, outcome, clock):
            self._sweep(claim)

    def _fail(self, claim: Claim, outcome: Outcome, clock: Clock) -> bool:
        """Record a failure. Returns whether the job is over.

        A child that vanished may have been killed by the machine for the memory that its rows took: as long as there are
        attempts it is resumed with the same randomness, which releases nothing new.
        """
        final = FINAL_CODES.get(outcome)
        with self._database.transaction() as session:
            state = endings.fail(
                session,
                claim,
                code=final or MACHINERY_FAILED,
                cause=CAUSES.get(outcome, Cause.ROWS),
                clock=clock,
                queue=self._queue,
                max_attempts=0 if final else self._settings.job_attempts,
            )
        return state in ENDED

    def _abandon(self, claim: Claim) -> None:
        """Leave everything to the present claim: it resumes from the checkpoints, and a sweep follows the job's end."""

    def _sweep(self, claim: Claim, *, published: str | None = None) -> None:
        sweep(self._store, claim.population_id, claim.job_id, claim.fence, published=published)
