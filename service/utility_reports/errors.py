"""Errors of utility reports.

NotFound
  * UtilityReportNotFound  404  no such report, or on someone else's dataset
"""

from core.errors import NotFound


class UtilityReportNotFound(NotFound):
    """No such report, or on someone else's dataset."""

    code = "charged-report-not-found"
    default_detail = "No such utility report."
    default_remedy = "List the reports of a release with GET /v1/releases/{release_id}/charged-reports."
