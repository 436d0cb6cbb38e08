"""Deleting a dataset: what would be destroyed and what stays, then the name typed by hand, then the API's operation."""

from uuid import UUID

from fastapi import APIRouter, Response

from service.dashboard.dataset_pages import tabs
from service.dashboard.errors import FormInvalid
from service.dashboard.rendering import page, sent_on
from service.dashboard.visit import CurrentVisit
from service.datasets.deleting import delete_dataset
from service.datasets.endpoints import read_dataset

router = APIRouter(prefix="/datasets/{dataset_id}/delete", include_in_schema=False)


@router.get("")
def deletion_page(dataset_id: UUID, visit: CurrentVisit) -> Response:
    """What deleting does, and the form that asks for the name."""
    visit.require(delete_dataset)
    dataset = visit.ask(read_dataset, dataset_id=dataset_id)
    return page(visit, "delete.html", dataset=dataset, tabs=tabs(visit, dataset))


@router.post("")
def delete(dataset_id: UUID, visit: CurrentVisit) -> Response:
    """Destroy the key of the rows, once the name was typed as it is.

    Raises:
        FormInvalid: Another name was typed; nothing has happened.
    """
    visit.require(delete_dataset)
    dataset = visit.ask(read_dataset, dataset_id=dataset_id)
    if visit.form.required("typed_name") != dataset.name.strip():
        raise FormInvalid(
            "The name that was typed is not the name of the dataset, so nothing was deleted.",
            remedy="Go back, and type the name exactly as it is shown; or leave the page.",
        )
    visit.ask(delete_dataset, dataset_id=dataset_id)
    return sent_on(f"/datasets/{dataset_id}/facts?done=deleted")
