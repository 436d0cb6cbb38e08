"""Sealed reports, as methods of ``client.reports``."""

from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol, TypeVar

from understudy.calls import Call
from understudy.sealed_reporting import calls
from understudy.sealed_reporting.results import SealedReport, kept_private

Result = TypeVar("Result")
Download = Callable[[Call[None], Path], None]
POLL_SECONDS: Final = 2.0


class Run(Protocol):
    """Sends a call and gives its result."""

    def __call__(self, call: Call[Result]) -> Result:
        """Send it."""


class SealedReports:
    """What the owner of rows may know about a release of them. NOT differentially private: keep it to yourself."""

    def __init__(self, run: Run, download: Download, sleep: Callable[[float], None]) -> None:
        """Keep how calls are sent.

        Args:
            run: sends a call and gives its result.
            download: writes a streamed answer to a file, whole or not at all.
            sleep: waits, in seconds.
        """
        self._run = run
        self._download = download
        self._sleep = sleep

    def order(self, release_id: str, *, target: str | None = None) -> SealedReport:
        """Have a release compared with the real rows (owner). It costs no budget, because it is sealed.

        Args:
            release_id: the release.
            target: the column to predict from the others; else the domain's target, or the last column.
        """
        return self._run(calls.order(release_id, target=target))

    def list(self, release_id: str) -> tuple[SealedReport, ...]:
        """Give the reports on a release, newest first (owner)."""
        return self._run(calls.list_reports(release_id))

    def read(self, report_id: str) -> SealedReport:
        """Say how far a report is (owner)."""
        return self._run(calls.read(report_id))

    def wait(self, report_id: str, *, poll_seconds: float = POLL_SECONDS) -> SealedReport:
        """Wait until a report is made (owner).

        Raises:
            ReportNotMade: its attempts are used up.
        """
        while not (report := self.read(report_id)).ended:
            self._sleep(poll_seconds)
        report.require_made()
        return report

    def download(self, report_id: str, target: Path | str) -> Path:
        """Write a report to an HTML file that only this user can read (owner). Reading it is logged.

        Raises:
            ReportNotMade: the file says why there is no report.
        """
        file = Path(target)
        self._download(calls.download(report_id), file)
        return kept_private(file)

    def delete(self, report_id: str) -> None:
        """Remove a report (owner)."""
        self._run(calls.delete(report_id))

    def make(
        self,
        release_id: str,
        target_file: Path | str,
        *,
        target: str | None = None,
        poll_seconds: float = POLL_SECONDS,
    ) -> Path:
        """Order a report, wait for it and write it to a file (owner).

        Args:
            release_id: the release.
            target_file: the HTML file.
            target: the column to predict; see `order`.
            poll_seconds: pause between two looks.

        Raises:
            ReportNotMade: it could not be made.
        """
        report = self.order(release_id, target=target)
        if not report.ended:
            report = self.wait(report.id, poll_seconds=poll_seconds)
        return self.download(report.id, target_file)
