"""What goes wrong with owner reports here; what the order itself may break is in core.reports.errors.

UnderstudyError
  * NotFound
    x OwnerReportNotFound  404  no such report, or on somebody else's dataset
  * Conflict
    x OwnerReportNotMade   409  it is not made yet, or could not be made
"""

from core.errors import Conflict, NotFound


class OwnerReportNotFound(NotFound):
    """There is no such report, or it is on somebody else's dataset."""

    code = "sealed-report-not-found"
    standing_remedy = (
        "List the reports on a release of your own with GET /v1/releases/{release_id}/sealed-reports."
    )

    def __init__(self) -> None:
        super().__init__("There is no such owner report.")


class OwnerReportNotMade(Conflict):
    """The report is not made yet, or could not be made."""

    code = "sealed-report-not-made"
    title = "The report is not there"
    standing_remedy = "Look at its state; of one that failed, order another."

    def __init__(self) -> None:
        super().__init__("There is no file of this report yet.")
