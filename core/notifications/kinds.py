"""Kinds of events, and the scope that grants access to the same facts: a key with scopes receives only those events."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from core.access.scopes import Scope


class Kind(StrEnum):
    """One kind of event. `TEST` is sent on request, to the tested endpoint only."""

    REQUEST_FILED = "budget-request.filed"
    REQUEST_APPROVED = "budget-request.approved"
    REQUEST_DENIED = "budget-request.denied"
    REQUEST_WITHDRAWN = "budget-request.withdrawn"
    REQUEST_EXPIRED = "budget-request.expired"
    BUDGET_LOW = "budget.low"
    DATASET_FROZEN = "dataset.frozen"
    JOB_SUCCEEDED = "job.succeeded"
    JOB_FAILED = "job.failed"
    JOB_CANCELLED = "job.cancelled"
    RELEASE_PUBLISHED = "release.published"
    RECOVERY_MADE = "recovery.made"
    RECOVERY_ACCEPTED = "recovery.accepted"
    RECOVERY_CANCELLED = "recovery.cancelled"
    TEST = "test"
    CONFIRM = "address.confirm"


CHOSEN: Final = tuple(kind for kind in Kind if kind not in {Kind.TEST, Kind.CONFIRM})
"""The kinds that an endpoint may subscribe to."""

RECOVERIES: Final = (Kind.RECOVERY_MADE, Kind.RECOVERY_ACCEPTED, Kind.RECOVERY_CANCELLED)
"""The kinds that report that an administrator lets a person make new keys; the person's endpoints cannot opt
out."""

_SCOPE_OF: Final[Mapping[str, Scope]] = {
    "budget-request": Scope.BUDGET_READ,
    "budget": Scope.BUDGET_READ,
    "dataset": Scope.BUDGET_READ,
    "job": Scope.JOBS_READ,
    "release": Scope.RELEASES_READ,
}


def scope_of(kind: Kind) -> Scope | None:
    """The scope a key with scopes needs for this kind; None if it only concerns the endpoint or its principal."""
    return _SCOPE_OF.get(kind.value.partition(".")[0])
