"""Deleting a dataset: show the consequences, have the name typed in, call the API's operation."""

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
    """Show the consequences and the form that asks for the name."""
    visit.require(delete_dataset)
    dataset = visit.ask(read_dataset, dataset_id=dataset_id)
    return page(visit, "delete.html", dataset=dataset, tabs=tabs(visit, dataset))


@router.post("")
def delete(dataset_id: UUID, visit: CurrentVisit) -> Response:
    """Destroy the key of the rows if the name was typed exactly.

    Raises:
        FormInvalid: The typed name differs; nothing was deleted.
    """
    visit.require(delete_dataset)
    dataset = visit.ask(read_dataset, dataset_id=dataset_id)
    if visit.form.required("typed_name") != dataset.name.strip():
        raise FormInvalid(
            "The typed name does not match the dataset's name. Nothing was deleted.",
            remedy="Go back and type the name exactly as shown, or leave the page.",
        )
    visit.ask(delete_dataset, dataset_id=dataset_id)
    return sent_on(f"/datasets/{dataset_id}/facts?done=deleted")
