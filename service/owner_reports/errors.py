"""Errors of owner report requests; those of the order itself are in core.artifacts.reports.errors.

UnderstudyError
  * NotFound
    x OwnerReportNotFound  404  no such report, or on someone else's dataset
  * Conflict
    x OwnerReportNotMade   409  it is not ready yet, or has failed
"""

from core.errors import Conflict, NotFound


class OwnerReportNotFound(NotFound):
    """No such report, or on someone else's dataset."""

    code = "sealed-report-not-found"
    default_remedy = (
        "List the reports of one of your releases with GET /v1/releases/{release_id}/sealed-reports."
    )
    default_detail = "No such owner report."


class OwnerReportNotMade(Conflict):
    """The report is not ready yet, or has failed."""

    code = "sealed-report-not-made"
    title = "The report is not ready"
    default_remedy = "Check its state; if it has failed, order another report."
    default_detail = "This report has no file yet."
