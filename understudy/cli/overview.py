"""``understudy overview``: budgets, open requests, grants, jobs and refusals, as far as the key may see them."""

from collections.abc import Iterator

from understudy.cli.answers import tell
from understudy.cli.options import AsJson
from understudy.cli.service import Service
from understudy.documents import Json, take


def overview(as_json: AsJson = False, *, service: Service) -> None:
    """Show what needs attention: budgets, open requests, grants that expire, jobs, refusals."""
    with service.any_client() as client:
        document = client.read_overview()
    tell(document, list(overview_lines(document)) or ["nothing that this key may see"], as_json=as_json)


def overview_lines(document: Json) -> Iterator[str]:
    """Format an overview; parts that the key may not list are left out.

    Args:
        document: as the service gave it.
    """
    known = ("datasets", "requests", "own_grants", "expiring_grants", "live_jobs", "failed_jobs", "refusals")
    datasets, requests, own, expiring, live, failed, refusals = take(document, *known)
    for one in datasets or ():
        yield f"dataset {one['id']} {one['name']!r}: {one['state']}; {_budget(one['budget'])}"
    for one in requests or ():
        after = one["remaining_epsilon_after"]
        left = "does not fit" if after is None else f"would leave epsilon {after:.4g}"
        yield f"request {one['id']} on {one['dataset_name']!r}: epsilon {one['epsilon']:g}, {left}"
    for one in own or ():
        yield f"your grant {one['id']}: epsilon {one['orderable_epsilon']:.4g} can be ordered, until {one['expires_at'][:10]}"
    for one in expiring or ():
        yield f"grant {one['id']} expires {one['expires_at'][:10]}"
    for one in (*(live or ()), *(failed or ())):
        yield f"job {one['id']}: {one['kind']}, {one['state']}"
    for one in refusals or ():
        yield f"refused {one['at'][:10]}: {one['action']} [{one['outcome']}]"


def _budget(budget: Json | None) -> str:
    if budget is None or budget["cap"] is None:
        return "no cap"
    return f"cap epsilon {budget['cap']['epsilon']:g}, delta {budget['cap']['delta']:g}"
