"""Errors of utility reports.

NotFound
  * UtilityReportNotFound  404  no such report, or on someone else's dataset
"""

from core.errors import NotFound


class UtilityReportNotFound(NotFound):
    """No such report, or on someone else's dataset."""

    code = "charged-report-not-found"

    def __init__(self) -> None:
        super().__init__(
            "No such utility report.",
            remedy="List the reports of a release with GET /v1/releases/{release_id}/charged-reports.",
        )
