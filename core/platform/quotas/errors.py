"""Errors of quotas.

Conflict
  * QuotaExceeded         409  the principal has reached a limit set by the operator
"""

from core.errors import Conflict


class QuotaExceeded(Conflict):
    """The principal has reached a limit that the operator sets per principal."""

    code = "quota-exceeded"
    title = "The quota is used up"

    def __init__(self, *, quota: str, what: str, limit: int, used: int, requested: int, remedy: str) -> None:
        super().__init__(
            f"This would be more {what} than one principal may have.",
            remedy=f"{remedy}, or ask the operator to raise {quota}.",
            quota=quota,
            limit=limit,
            used=used,
            requested=requested,
        )
