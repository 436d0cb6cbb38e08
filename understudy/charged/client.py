"""Charged reports, as methods of the client."""

from collections.abc import Sequence

from understudy.charged import calls
from understudy.charged.ended import report_of
from understudy.charged.results import ChargedReport, ReportEntry, ReportJob
from understudy.handling import bar_if
from understudy.jobs.client import Jobs
from understudy.jobs.results import POLL_SECONDS, Quote


class Charging(Jobs):
    """What a client does with charged reports, which jobs measure; how calls are sent is the client's."""

    def quote_charged_report(
        self,
        release_id: str,
        *,
        epsilon: float,
        delta: float | None = None,
        target: str | None = None,
        columns: Sequence[str] | None = None,
        grant_id: str | None = None,
    ) -> Quote:
        """Ask what a report about a release would cost and how precise it would be (analyst); nothing is spent.

        Args:
            release_id: the release.
            epsilon: of the report.
            delta: of the report; else the service's usual one.
            target: the column that a classifier predicts; else the target of the domain.
            columns: columns to measure; else all. Fewer are measured more precisely.
            grant_id: the grant that pays; else the only open one.
        """
        body = calls.terms(
            self.read_release(release_id).dataset_id,
            release_id,
            epsilon=epsilon,
            delta=delta,
            target=target,
            columns=columns,
            grant_id=grant_id,
        )
        return self.run(calls.quote_report(body))

    def order_charged_report(
        self,
        release_id: str,
        *,
        epsilon: float,
        delta: float | None = None,
        target: str | None = None,
        columns: Sequence[str] | None = None,
        grant_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> ReportJob:
        """Order a report about a release (analyst), drawing on a grant; see `quote_charged_report`.

        A lost answer is asked for again under one idempotency key.
        """
        body = calls.terms(
            self.read_release(release_id).dataset_id,
            release_id,
            epsilon=epsilon,
            delta=delta,
            target=target,
            columns=columns,
            grant_id=grant_id,
        )
        return self.run(calls.order_report(body, idempotency_key=idempotency_key))

    def list_charged_reports(self, release_id: str) -> tuple[ReportEntry, ...]:
        """Give the newest reports about a release."""
        return self.run(calls.list_reports(release_id))

    def read_charged_report(self, report_id: str) -> ChargedReport:
        """Give a report."""
        return self.run(calls.read_report(report_id))

    def wait_for_charged_report(
        self, job_id: str, *, poll_seconds: float = POLL_SECONDS, progress: bool = False
    ) -> ChargedReport:
        """Wait for a job's report.

        Raises:
            JobFailed: if it failed.
            JobCancelled: if it was cancelled.
        """
        with bar_if(progress) as look:
            for job in self.watch_job(job_id, poll_seconds=poll_seconds):
                look(job)
        return self.read_charged_report(report_of(job))
