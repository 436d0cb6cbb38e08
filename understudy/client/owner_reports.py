"""``client.reports``: owner reports, which compare a release with the real rows for the owner alone."""

from pathlib import Path
from typing import Final

from understudy.client.session import Session
from understudy.http.calls import Call, items, read_nothing
from understudy.results.owner_reports import OwnerReport, OwnerReportSummary, kept_private

POLL_SECONDS: Final = 2.0


class OwnerReports:
    """Reports for the owner of the rows. NOT differentially private: keep them to yourself."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def order(self, release_id: str, *, target: str | None = None) -> OwnerReport:
        """Have a release compared with the real rows (owner). It costs no budget, because only the owner reads it.

        Args:
            target: the column to predict from the others; by default the domain's target, else the last of those with the fewest declared values.
        """
        call = Call(
            "POST",
            f"/v1/releases/{release_id}/sealed-reports",
            OwnerReport.from_json,
            body={} if target is None else {"target": target},
            # There is one report of a release and a column, so a retry orders no second one.
            headers={"Idempotency-Key": f"sealed-report-{release_id}"},
        )
        return self._session.run(call)

    def list(self, release_id: str) -> tuple[OwnerReport, ...]:
        """Return the reports on a release, newest first (owner)."""
        path = f"/v1/releases/{release_id}/sealed-reports"
        return self._session.run(Call("GET", path, items(OwnerReport.from_json)))

    def read(self, report_id: str) -> OwnerReport:
        """Return the state of a report (owner)."""
        return self._session.run(Call("GET", f"/v1/sealed-reports/{report_id}", OwnerReport.from_json))

    def wait(self, report_id: str, *, poll_seconds: float = POLL_SECONDS) -> OwnerReport:
        """Wait until a report is made (owner).

        Raises:
            ReportNotMade: if its attempts are used up.
        """
        while not (report := self.read(report_id)).ended:
            self._session.sleep(poll_seconds)
        report.require_made()
        return report

    def download(self, report_id: str, target: Path | str) -> Path:
        """Write a report to an HTML file that only this user can read (owner). The service logs the access.

        Raises:
            ReportNotMade: if there is no report; the file says why.
        """
        file = Path(target)
        call = Call("GET", f"/v1/sealed-reports/{report_id}/file", read_nothing)
        self._session.download(call, file, private=True)
        return kept_private(file)

    def summary(self, report_id: str) -> OwnerReportSummary:
        """Return a report that is made, in a few sentences (owner). The service logs the access, as for the file.

        Raises:
            Conflict: if the report is not made yet.
        """
        path = f"/v1/sealed-reports/{report_id}/summary"
        return self._session.run(Call("GET", path, OwnerReportSummary.from_json))

    def delete(self, report_id: str) -> None:
        """Delete a report (owner)."""
        self._session.run(Call("DELETE", f"/v1/sealed-reports/{report_id}", read_nothing))

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
            target: the column to predict; see `order`.
            poll_seconds: pause between two requests for its state.

        Raises:
            ReportNotMade: if it could not be made.
        """
        report = self.order(release_id, target=target)
        if not report.ended:
            report = self.wait(report.id, poll_seconds=poll_seconds)
        return self.download(report.id, target_file)
