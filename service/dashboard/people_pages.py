"""People and enrolments: created by an admin, accepted by the bearer of the token, cancelled by the person."""

from typing import Final
from uuid import UUID

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.security import HTTPAuthorizationCredentials

from core.platform.access.errors import EnrolmentRefused, KeyRefused, LoginThrottled, TokenRefused
from core.platform.access.roles import Role
from service.auth.cookie import require_proof_of_origin
from service.dashboard.errors import FormInvalid
from service.dashboard.forms import order, read_form
from service.dashboard.long_lists import From, part_of
from service.dashboard.rendering import open_page, page, sent_on
from service.dashboard.sign_in_pages import form_page
from service.dashboard.visit import CurrentVisit
from service.dependencies import InjectedContext
from service.principals.enrolment_endpoints import accept_enrolment, cancel_enrolment, list_enrolments
from service.principals.people_endpoints import create_enrolment, create_person, list_people
from service.principals.people_schemas import Acceptance, PersonOrder

ENROL: Final = "/enrol"

router = APIRouter(include_in_schema=False)


@router.get("/people")
def people_page(visit: CurrentVisit, start: From = 0, enrolments_start: From = 0) -> Response:
    """List people, whether they have enrolled, and the enrolments."""
    people = part_of(visit.ask(list_people).items, start)
    enrolments = part_of(visit.ask(list_enrolments).items, enrolments_start)
    return page(
        visit,
        "principals.html",
        people=people,
        enrolments=enrolments,
        names=visit.names_of([enrolment.principal_id for enrolment in enrolments.items]),
        now=visit.context.clock.now(),
        known_roles=[role.value for role in Role],
        may_create=visit.may(create_person),
        may_cancel=visit.may(cancel_enrolment) and Role.ADMIN in visit.principal.roles,
    )


@router.post("/people")
def make_person(visit: CurrentVisit) -> Response:
    """Create a person. Only this response contains the token; no URL leads back to it."""
    form = visit.form
    made = visit.ask(
        create_person, order=order(PersonOrder, name=form.text("name"), roles=list(form.all("roles")))
    )
    return page(visit, "new_enrolment.html", enrolment=made.enrolment, name=made.name)


@router.post("/people/{principal_id}/enrolments")
def enrol_again(principal_id: UUID, visit: CurrentVisit) -> Response:
    """Create a new enrolment for a person."""
    made = visit.ask(create_enrolment, principal_id=principal_id)
    return page(
        visit, "new_enrolment.html", enrolment=made, name=visit.names_of([principal_id]).get(principal_id)
    )


@router.post("/enrolments/{enrolment_id}/cancel")
def end_enrolment(enrolment_id: UUID, visit: CurrentVisit) -> Response:
    """Cancel an enrolment."""
    visit.ask(cancel_enrolment, enrolment_id=enrolment_id)
    return sent_on(f"{'/people' if visit.may(create_person) else '/keys'}?done=enrolment-cancelled")


@router.get(ENROL)
def enrol_form(request: Request) -> Response:
    """Show the form for an enrolment token. Tokens never appear in URLs."""
    return form_page(request, "enrol.html", None)


@router.post(ENROL)
async def enrol(request: Request, context: InjectedContext) -> Response:
    """Create a first key through the API's own operation, so throttling and logging apply. Only this response contains it."""
    require_proof_of_origin(request, context.settings)
    form = await read_form(request)
    try:
        key = form.text("key")
        shown = None if key is None else HTTPAuthorizationCredentials(scheme="Bearer", credentials=key)
        wanted = order(Acceptance, token=form.required("token"), name=form.required("name"))
        made = await run_in_threadpool(accept_enrolment, wanted, request, context, shown)
    except (EnrolmentRefused, KeyRefused, TokenRefused, LoginThrottled, FormInvalid) as refusal:
        return form_page(request, "enrol.html", refusal)
    return open_page(request, "new_key.html", key=made, old_ends_at=None, recovered_until=made.held_until)
