"""People: created by admins, who hand over an enrolment for creating the first key."""

from uuid import UUID

from fastapi import APIRouter

from core.platform.access.errors import KeyNarrowed, PersonNotFound
from core.platform.access.names import name_principal, names_of
from service.audit import record
from service.dependencies import CurrentPrincipal, InjectedContext, OpenSession
from service.principals.people_schemas import NewEnrolment, NewPerson, PersonList, PersonOrder, PersonView
from service.problem import problems
from service.strict_route import StrictRoute

router = APIRouter(prefix="/people", tags=["people"], route_class=StrictRoute)


@router.post("", status_code=201, summary="Create a person", responses=problems(KeyNarrowed))
def create_person(
    order: PersonOrder, principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> NewPerson:
    """Create a principal with a name and roles, and an enrolment for it.

    The response contains the token, which cannot be shown again. Give it to the person: whoever accepts it first creates
    the person's first key, and nobody can accept it twice.
    """
    row = context.access.enrolments.create_person(session, roles=order.roles, by=principal.id)
    name_principal(session, row.principal_id, order.name, by=principal.id, clock=context.clock)
    record(session, principal, action="person.create", object_id=row.principal_id, clock=context.clock)
    enrolment, token = context.access.enrolments.invite(session, row.principal_id, by=principal.id)
    record(session, principal, action="enrolment.create", object_id=enrolment.id, clock=context.clock)
    shown = PersonView.of(row, names_of(session, [row.principal_id]))
    return NewPerson(
        **shown.model_dump(), enrolment=NewEnrolment.with_token(enrolment, token, at=context.clock.now())
    )


@router.get("", summary="List people")
def list_people(_principal: CurrentPrincipal, context: InjectedContext, session: OpenSession) -> PersonList:
    """All people with name, roles and enrolment status."""
    rows = context.access.enrolments.people(session)
    names = names_of(session, [row.principal_id for row in rows])
    return PersonList(items=[PersonView.of(row, names) for row in rows])


@router.post(
    "/{principal_id}/enrolments",
    status_code=201,
    summary="Create an enrolment",
    responses=problems(PersonNotFound, KeyNarrowed),
)
def create_enrolment(
    principal_id: UUID, principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> NewEnrolment:
    """Create a new enrolment for a person who lost the first one, or all keys. A waiting enrolment is cancelled.

    For a person who has had keys, this is a recovery. The person and the auditors are notified; valid keys keep working,
    and each of them can cancel the recovery. Unless the person accepts it with an existing key, data sealed to the person
    stays locked for `recovery_hold_hours`, and the person does not count for the two-person rule until then.
    """
    row, token = context.access.enrolments.invite(session, principal_id, by=principal.id)
    action = "recovery.create" if row.is_recovery else "enrolment.create"
    record(session, principal, action=action, object_id=row.id, clock=context.clock)
    return NewEnrolment.with_token(row, token, at=context.clock.now())
