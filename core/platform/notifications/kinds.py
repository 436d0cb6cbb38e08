"""Kinds of events, and the scope that grants access to the same facts: a key with scopes receives only those events."""

from collections.abc import Mapping
from typing import Final

from core.db.outbox import Kind
from core.platform.access.scopes import Scope

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
