"""The menu: only pages that the visitor's key may use."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from service.auditing.endpoints import list_audit_events
from service.dashboard.visit import Visit
from service.datasets.endpoints import list_datasets
from service.diagnosis.endpoints import read_health_report
from service.grants.endpoints import list_all_grants
from service.jobs.endpoints import list_jobs
from service.notifications.endpoints import list_endpoints
from service.principals.key_endpoints import list_keys
from service.principals.people_endpoints import list_people
from service.releases.endpoints import list_releases
from service.requests.endpoints import list_budget_requests


class Item(NamedTuple):
    """A menu item."""

    path: str
    title: str


_PLACES: Final[Sequence[tuple[Item, Callable[..., Any]]]] = (
    (Item("/overview", "Overview"), list_datasets),
    (Item("/requests", "Requests"), list_budget_requests),
    (Item("/grants", "Grants"), list_all_grants),
    (Item("/jobs", "Jobs"), list_jobs),
    (Item("/releases", "Releases"), list_releases),
    (Item("/notifications", "Notifications"), list_endpoints),
    (Item("/people", "People"), list_people),
    (Item("/keys", "Keys"), list_keys),
    (Item("/system", "System"), read_health_report),
    (Item("/audit", "Audit log"), list_audit_events),
)


def menu(visit: Visit) -> Sequence[Item]:
    """The menu items for this visitor."""
    return [item for item, operation in _PLACES if visit.may(operation)]
