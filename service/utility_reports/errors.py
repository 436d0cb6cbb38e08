"""What goes wrong with utility reports.

NotFound
  * UtilityReportNotFound  404  no such report, or it is about somebody else's dataset
"""

from core.errors import NotFound


class UtilityReportNotFound(NotFound):
    """There is no such report, or it is about somebody else's dataset."""

    code = "charged-report-not-found"

    def __init__(self) -> None:
        super().__init__(
            "There is no such utility report.",
            remedy="List those about a release with GET /v1/releases/{release_id}/charged-reports.",
        )
