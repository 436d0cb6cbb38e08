"""The jobs that make owner reports, which compare a release with the real rows and are sealed for the rows' owner.

Only the owner may learn how long a report took and whether it succeeded, but others can see how long a worker is busy. So
the worker becomes free only at the next edge of a slot whose length is a public setting, and no log holds the outcome of an
attempt if it may depend on rows.
"""

from typing import Any, ClassVar, Final
from uuid import UUID

import structlog
from obstore.exceptions import BaseError as StoreError

from core.artifacts.reports.owner_files import report_key
from core.artifacts.reports.owner_orders import (
    REPORTS,
    ReportClaim,
    claim_report,
    fail_report,
    finish_report,
    hand_back_report,
)
from core.clock import Clock
from core.jobs.leases import this_process
from core.logs import get_logger
from workers.attempts import Heartbeat, JobRunner
from workers.child import Outcome, WorkName, child_environment

_PUBLIC: Final = frozenset({Outcome.MACHINERY, Outcome.LEASE_LOST, Outcome.STOPPED})
"""Ends in which no row had a part."""


class OwnerReporter(JobRunner[ReportClaim]):
    """Makes one report from its message to its end."""

    _work_name: ClassVar[WorkName] = "compare"

    def report(self, report_id: UUID) -> None:
        """Claim the report and bring it as far as this attempt can.

        Raises:
            Unavailable: The database is away; the message is sent again.
        """
        claim = self._claimed(report_id)
        if claim is None:
            return
        named = {} if claim.request_id is None else {"request_id": claim.request_id}
        with structlog.contextvars.bound_contextvars(**named):
            self._attempt(claim)

    @property
    def _edge_seconds(self) -> float:
        return self._settings.report_slot_seconds

    def _claim(self, claimed: UUID) -> ReportClaim | None:
        with self._database.transaction() as session:
            return claim_report(
                session,
                claimed,
                clock=self._clock,
                lease_seconds=self._settings.lease_seconds,
                max_attempts=self._settings.job_attempts,
                lease_owner=this_process(),
            )

    def _refusal(self, claim: ReportClaim) -> Outcome | None:  # noqa: ARG002 - no report is refused
        """None: what is sealed for the rows' owner spends nothing, so nothing has to be noted before."""
        return None

    def _renew(self, claim: ReportClaim, show_marks: bool) -> bool:  # noqa: ARG002, FBT001 - reports have no marks
        with self._database.transaction() as session:
            now, seconds = self._clock.now(), self._settings.lease_seconds
            REPORTS.renew(session, claim.report_id, fence=claim.fence, now=now, seconds=seconds)
        return False

    def _watched(self, claim: ReportClaim, heartbeat: Heartbeat) -> Outcome:
        return self._run_child(
            self._command(claim.report_id, claim.fence),
            child_environment(self._environment, threads=1),
            seconds=self._settings.report_seconds,
            heartbeat=heartbeat,
        )

    def _staged(self, claim: ReportClaim) -> dict[str, Any]:  # noqa: ARG002 - the report stays sealed
        """Nothing: the child has sealed the report itself."""
        return {}

    def _log(self, claim: ReportClaim, outcome: Outcome | None) -> None:
        if outcome is None:
            get_logger().info("report-begins", fence=claim.fence, attempt=claim.attempts)
        else:
            public = {"outcome": outcome.value} if outcome in _PUBLIC else {}
            get_logger().info("report-ended", fence=claim.fence, **public)

    def _publish(self, claim: ReportClaim, staged: dict[str, Any], clock: Clock) -> Outcome:  # noqa: ARG002
        """Show the owner the report that the child has stored, and remove what earlier attempts left."""
        key = report_key(claim.dataset_id, claim.report_id, claim.fence)
        with self._database.transaction() as session:
            finish_report(session, claim, object_key=key, clock=clock)
        for fence in range(1, claim.fence):
            self._remove(claim, fence)
        return Outcome.DONE

    def _hand_back(self, claim: ReportClaim, clock: Clock) -> None:
        with self._database.transaction() as session:
            hand_back_report(session, claim, queue=self._queue, clock=clock)

    def _attempts(self, claim: ReportClaim) -> int:
        return claim.attempts

    def _end(self, claim: ReportClaim, outcome: Outcome, clock: Clock) -> None:
        """Fail the report; only a child that vanished is tried again, as long as there are attempts."""
        again = outcome is Outcome.VANISHED and claim.attempts < self._settings.job_attempts
        with self._database.transaction() as session:
            fail_report(session, claim, again=again, queue=self._queue, clock=clock)

    def _abandon(self, claim: ReportClaim) -> None:
        self._remove(claim, claim.fence)

    def _remove(self, claim: ReportClaim, fence: int) -> None:
        try:
            self._store.delete(report_key(claim.dataset_id, claim.report_id, fence))
        except (StoreError, OSError):
            get_logger().warning("sweep-failed", exc_info=True)
