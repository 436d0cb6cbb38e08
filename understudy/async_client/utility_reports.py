"""Utility reports, which the API calls charged reports: noisy errors of a release, measured by a job for an epsilon."""

import uuid
from collections.abc import Sequence

from understudy.async_client.handles import AsyncReportJob
from understudy.async_client.releases import AsyncReleases
from understudy.documents import Json
from understudy.http.calls import Call, given, items
from understudy.results.jobs import POLL_SECONDS, Quote
from understudy.results.utility_reports import ReportEntry, UtilityReport


class AsyncUtilityReports(AsyncReleases):
    """The client's methods for utility reports."""

    async def quote_charged_report(
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
            delta: of the report; by default the service's.
            target: the column that a classifier predicts; by default the domain's target.
            columns: columns to measure; by default all. Fewer are measured more precisely.
            grant_id: the grant that pays; by default the only open one in which the order fits.
        """
        body = await self._order_of_report(release_id, epsilon, delta, target, columns, grant_id)
        return await self.run(Call("POST", "/v1/quotes", Quote.from_json, body=body))

    async def order_charged_report(
        self,
        release_id: str,
        *,
        epsilon: float,
        delta: float | None = None,
        target: str | None = None,
        columns: Sequence[str] | None = None,
        grant_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> AsyncReportJob:
        """Order a report about a release (analyst), drawing on a grant; see `quote_charged_report`.

        A retry is the same order, because it carries the same idempotency key: it spends once.
        """
        body = await self._order_of_report(release_id, epsilon, delta, target, columns, grant_id)
        headers = {"Idempotency-Key": idempotency_key or uuid.uuid4().hex}
        return await self.run(Call("POST", "/v1/jobs", AsyncReportJob.from_json, body=body, headers=headers))

    async def _order_of_report(
        self,
        release_id: str,
        epsilon: float,
        delta: float | None,
        target: str | None,
        columns: Sequence[str] | None,
        grant_id: str | None,
    ) -> Json:
        release = await self.read_release(release_id)
        measured = None if columns is None else list(columns)
        report = given({"release_id": release_id, "target": target, "columns": measured})
        order = {"dataset_id": release.dataset_id, "epsilon": epsilon, "delta": delta, "grant_id": grant_id}
        return given(order) | {"report": report}

    async def list_charged_reports(self, release_id: str) -> tuple[ReportEntry, ...]:
        """Return the newest reports about a release."""
        path = f"/v1/releases/{release_id}/charged-reports"
        return await self.run(Call("GET", path, items(ReportEntry.from_json)))

    async def read_charged_report(self, report_id: str) -> UtilityReport:
        """Return a report."""
        return await self.run(Call("GET", f"/v1/charged-reports/{report_id}", UtilityReport.from_json))

    async def wait_for_charged_report(
        self, job_id: str, *, poll_seconds: float = POLL_SECONDS, progress: bool = False
    ) -> UtilityReport:
        """Wait for a job's report.

        Raises:
            JobFailed: if it failed, or is a job of another kind.
            JobCancelled: if it was cancelled.
        """
        job = await self._ended(job_id, poll_seconds=poll_seconds, progress=progress)
        return await self.read_charged_report(job.require_report())
