"""What goes wrong with sealed reports here; what the order itself may break is in core.reports.errors.

UnderstudyError
  * NotFound
    x SealedReportNotFound  404  no such report, or on somebody else's dataset
  * Conflict
    x SealedReportNotMade   409  it is not made yet, or could not be made
"""

from core.errors import Conflict, NotFound


class SealedReportNotFound(NotFound):
    """There is no such report, or it is on somebody else's dataset."""

    code = "sealed-report-not-found"
    standing_remedy = (
        "List the reports on a release of your own with GET /v1/releases/{release_id}/sealed-reports."
    )

    def __init__(self) -> None:
        super().__init__("There is no such sealed report.")


class SealedReportNotMade(Conflict):
    """The report is not made yet, or could not be made."""

    code = "sealed-report-not-made"
    title = "The report is not there"
    standing_remedy = "Look at its state; of one that failed, order another."

    def __init__(self) -> None:
        super().__init__("There is no file of this report yet.")
