"""Every request about sealed reports as a value; the two clients send the same ones."""

from understudy.calls import Call, items
from understudy.sealed_reporting.results import SealedReport


def order(release_id: str, *, target: str | None) -> Call[SealedReport]:
    """Order a report; of a release and a column there is one, so repeating it orders no second."""
    return Call(
        method="POST",
        path=f"/v1/releases/{release_id}/sealed-reports",
        read=SealedReport.from_json,
        body={} if target is None else {"target": target},
        headers={"Idempotency-Key": f"sealed-report-{release_id}"},
    )


def list_reports(release_id: str) -> Call[tuple[SealedReport, ...]]:
    """Ask for the reports on a release."""
    return Call(
        method="GET", path=f"/v1/releases/{release_id}/sealed-reports", read=items(SealedReport.from_json)
    )


def read(report_id: str) -> Call[SealedReport]:
    """Ask how far a report is."""
    return Call(method="GET", path=f"/v1/sealed-reports/{report_id}", read=SealedReport.from_json)


def download(report_id: str) -> Call[None]:
    """Ask for the file; the answer is streamed."""
    return Call(method="GET", path=f"/v1/sealed-reports/{report_id}/file", read=lambda _: None)


def delete(report_id: str) -> Call[None]:
    """Have a report removed."""
    return Call(method="DELETE", path=f"/v1/sealed-reports/{report_id}", read=lambda _: None)
