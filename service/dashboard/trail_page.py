"""The audit trail of a dataset in plain language, for its owner and for roles that oversee all datasets."""

from typing import Final
from uuid import UUID

from fastapi import APIRouter, Response

from service.auditing.dataset_trail import list_dataset_audit_events
from service.auditing.endpoints import BeforeSequence, list_audit_events
from service.dashboard.dataset_pages import tabs
from service.dashboard.rendering import page
from service.dashboard.visit import CurrentVisit
from service.datasets.endpoints import read_dataset
from service.wording.labels import principal_in

EVENTS: Final = 50

router = APIRouter(prefix="/datasets/{dataset_id}", include_in_schema=False)


@router.get("/trail")
def trail_page(dataset_id: UUID, visit: CurrentVisit, before: BeforeSequence = None) -> Response:
    """List events on the dataset and its dependent objects, newest first."""
    found = visit.ask(list_dataset_audit_events, dataset_id=dataset_id, limit=EVENTS, before=before)
    dataset = visit.ask(read_dataset, dataset_id=dataset_id)
    members = [UUID(event.object) for event in found.items if event.about == "member"]
    return page(
        visit,
        "trail.html",
        dataset=dataset,
        tabs=tabs(visit, dataset),
        events=found.items,
        people=visit.names_of([*members, *(principal_in(event.actor) for event in found.items)]),
        next_before=found.next_before,
        is_first=before is None,
        may_see_all=visit.may(list_audit_events),
    )
