"""Notification endpoints and their deliveries; the dossier as a file."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from fastapi import APIRouter, Response

from core.db.outbox import Kind
from core.platform.notifications.messages import CHOSEN, WORDS
from service.dashboard.forms import order
from service.dashboard.rendering import page, sent_on
from service.dashboard.visit import CurrentVisit
from service.dossier.endpoints import DossierFormat, export_dossier
from service.notifications.endpoints import (
    confirm_endpoint,
    create_endpoint,
    list_deliveries,
    list_endpoints,
    read_endpoint,
    remove_endpoint,
    resume_endpoint,
    rotate_endpoint,
    test_endpoint,
)
from service.notifications.schemas import Confirmation, EndpointOrder
from service.wire import Before

DELIVERIES: Final = 50

router = APIRouter(include_in_schema=False)

_WHY_PAUSED: Final[Mapping[str, str]] = {
    "unreachable": "A message failed twelve times within hours and no other message was delivered.",
    "gone": "The receiver answered 410 (Gone).",
    "key-ended": "The key that registered it has expired or was revoked. Resume to use your current key instead.",
    "sealed": "Its address cannot be decrypted with the current master key. Remove the endpoint and register it again.",
}


@router.get("/notifications")
def notifications_page(visit: CurrentVisit) -> Response:
    """List the visitor's endpoints, with a form to add one."""
    return page(
        visit,
        "notifications.html",
        endpoints=visit.ask(list_endpoints).items,
        kinds=[(kind.value, WORDS[kind]) for kind in CHOSEN],
        sends_mail=visit.context.settings.smtp_host is not None,
        digest_minutes=round(visit.context.settings.notify_digest_minutes),
        may_add=visit.may(create_endpoint),
    )


@router.post("/notifications")
def add_endpoint(visit: CurrentVisit) -> Response:
    """Register an endpoint. Only this response contains a webhook's secret; no URL leads back to it."""
    form = visit.form
    wanted = order(
        EndpointOrder, channel=form.text("channel"), target=form.text("target"), kinds=set(form.all("kinds"))
    )
    made = visit.ask(create_endpoint, order=wanted)
    if made.secret is None:
        return sent_on(f"/notifications/{made.id}?done=code-sent")
    return page(visit, "new_endpoint.html", endpoint=made, is_new=True)


@router.get("/notifications/{endpoint_id}")
def endpoint_page(endpoint_id: UUID, visit: CurrentVisit, before: Before = None) -> Response:
    """Show one endpoint: address, deliveries and actions."""
    endpoint = visit.ask(read_endpoint, endpoint_id=endpoint_id)
    found = visit.ask(list_deliveries, endpoint_id=endpoint_id, limit=DELIVERIES, before=before)
    return page(
        visit,
        "notification.html",
        endpoint=endpoint,
        why=_WHY_PAUSED.get(endpoint.paused_because or "", endpoint.paused_because),
        deliveries=found.items,
        said={kind.value: WORDS[kind] for kind in Kind},
        next_before=found.next_before,
        is_first=before is None,
        may_change=visit.may(test_endpoint),
    )


@router.post("/notifications/{endpoint_id}/test")
def have_tested(endpoint_id: UUID, visit: CurrentVisit) -> Response:
    """Send a test message."""
    visit.ask(test_endpoint, endpoint_id=endpoint_id)
    return sent_on(f"/notifications/{endpoint_id}?done=test-sent")


@router.post("/notifications/{endpoint_id}/confirm")
def confirm_address(endpoint_id: UUID, visit: CurrentVisit) -> Response:
    """Confirm an e-mail address."""
    visit.ask(
        confirm_endpoint,
        endpoint_id=endpoint_id,
        order=order(Confirmation, code=visit.form.text("code")),
    )
    return sent_on(f"/notifications/{endpoint_id}?done=address-confirmed")


@router.post("/notifications/{endpoint_id}/rotate")
def replace_secret(endpoint_id: UUID, visit: CurrentVisit) -> Response:
    """Replace a webhook's secret; the new one is shown once."""
    made = visit.ask(rotate_endpoint, endpoint_id=endpoint_id)
    return page(visit, "new_endpoint.html", endpoint=made, is_new=False)


@router.post("/notifications/{endpoint_id}/resume")
def resume(endpoint_id: UUID, visit: CurrentVisit) -> Response:
    """Resume a paused endpoint."""
    visit.ask(resume_endpoint, endpoint_id=endpoint_id)
    return sent_on(f"/notifications/{endpoint_id}?done=resumed")


@router.post("/notifications/{endpoint_id}/remove")
def remove(endpoint_id: UUID, visit: CurrentVisit) -> Response:
    """Remove an endpoint."""
    visit.ask(remove_endpoint, endpoint_id=endpoint_id)
    return sent_on("/notifications?done=endpoint-removed")


@router.get("/datasets/{dataset_id}/dossier.{file_format}")
def dossier(dataset_id: UUID, file_format: DossierFormat, visit: CurrentVisit) -> Response:
    """Download the dossier."""
    return visit.ask(export_dossier, dataset_id=dataset_id, file_format=file_format)
