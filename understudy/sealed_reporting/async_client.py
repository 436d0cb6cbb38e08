"""Sealed reports, as methods of ``client.reports`` of the asynchronous client."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol, TypeVar

from understudy.calls import Call
from understudy.sealed_reporting import calls
from understudy.sealed_reporting.client import POLL_SECONDS
from understudy.sealed_reporting.results import SealedReport, kept_private

Result = TypeVar("Result")
AsyncDownload = Callable[[Call[None], Path], Awaitable[None]]


class AsyncRun(Protocol):
    """Sends a call and gives its result."""

    async def __call__(self, call: Call[Result]) -> Result:
        """Send it."""


class AsyncSealedReports:
    """As `SealedReports`, for the asynchronous client."""

    def __init__(
        self, run: AsyncRun, download: AsyncDownload, sleep: Callable[[float], Awaitable[None]]
    ) -> None:
        """Keep how calls are sent.

        Args:
            run: sends a call and gives its result.
            download: writes a streamed answer to a file, whole or not at all.
            sleep: waits, in seconds.
        """
        self._run = run
        self._download = download
        self._sleep = sleep

    async def order(self, release_id: str, *, target: str | None = None) -> SealedReport:
        """Have a release compared with the real rows; see `SealedReports.order`."""
        return await self._run(calls.order(release_id, target=target))

    async def list(self, release_id: str) -> tuple[SealedReport, ...]:
        """Give the reports on a release, newest first (owner)."""
        return await self._run(calls.list_reports(release_id))

    async def read(self, report_id: str) -> SealedReport:
        """Say how far a report is (owner)."""
        return await self._run(calls.read(report_id))

    async def wait(self, report_id: str, *, poll_seconds: float = POLL_SECONDS) -> SealedReport:
        """Wait until a report is made (owner).

        Raises:
            ReportNotMade: its attempts are used up.
        """
        while not (report := await self.read(report_id)).ended:
            await self._sleep(poll_seconds)
        report.require_made()
        return report

    async def download(self, report_id: str, target: Path | str) -> Path:
        """Write a report to an HTML file that only this user can read (owner). Reading it is logged.

        Raises:
            ReportNotMade: the file says why there is no report.
        """
        file = Path(target)
        await self._download(calls.download(report_id), file)
        return kept_private(file)

    async def delete(self, report_id: str) -> None:
        """Remove a report (owner)."""
        await self._run(calls.delete(report_id))

    async def make(
        self,
        release_id: str,
        target_file: Path | str,
        *,
        target: str | None = None,
        poll_seconds: float = POLL_SECONDS,
    ) -> Path:
        """Order a report, wait for it and write it to a file; see `SealedReports.make`.

        Raises:
            ReportNotMade: it could not be made.
        """
        report = await self.order(release_id, target=target)
        if not report.ended:
            report = await self.wait(report.id, poll_seconds=poll_seconds)
        return await self.download(report.id, target_file)
