"""Enrolments: accepted by the bearer of the token, visible to and cancelled by the person and admins."""

from uuid import UUID

from fastapi import APIRouter, Request

from core.db.session import on_commit
from core.db.tables.enrolment import Enrolment
from core.platform.access.directory import principal_of
from core.platform.access.errors import (
    CsrfRefused,
    EnrolmentEnded,
    EnrolmentNotFound,
    EnrolmentRefused,
    ExpiryRefused,
    LoginThrottled,
)
from core.platform.access.keys import parse_enrolment_token
from core.platform.access.names import names_of
from core.platform.access.roles import Role
from service.audit import record
from service.auth.authenticator import Proof
from service.auth.cookie import require_own_page
from service.dependencies import Credentials, CurrentPrincipal, InjectedContext, OpenSession
from service.principals.key_schemas import NewKey, end_of
from service.principals.people_schemas import Acceptance, AcceptedEnrolment, EnrolmentList, EnrolmentView
from service.principals.session_endpoints import begin_attempt
from service.problem import problems
from service.strict_route import StrictRoute

router = APIRouter(prefix="/enrolments", tags=["people"], route_class=StrictRoute)


@router.post(
    "",
    status_code=201,
    summary="Accept an enrolment",
    responses=problems(EnrolmentRefused, CsrfRefused, ExpiryRefused, LoginThrottled),
)
def accept_enrolment(
    acceptance: Acceptance, request: Request, context: InjectedContext, credentials: Credentials
) -> AcceptedEnrolment:
    """Create a person's first key with an enrolment token. Only this response contains the secret.

    No key is needed. A recovery causes no hold if `Authorization` carries an unrestricted key (or a bearer token) of the
    same person with all their roles, which proves their identity. Refused tokens delay further attempts from the
    address and for the prefix, longer each time.
    """
    require_own_page(request, context.settings)
    text = acceptance.token.get_secret_value()
    subjects = begin_attempt(request, context, parse_enrolment_token(text))
    shown = (
        None
        if credentials is None
        else context.access.authenticator.recognise(Proof(credentials.credentials))
    )
    now = context.clock.now()
    with context.database.transaction() as session:
        accepted = context.access.enrolments.accept(
            session,
            text,
            name=acceptance.name,
            expires_at=end_of(
                acceptance.expires_at, now=now, lifetime_days=context.settings.key_lifetime_days
            ),
            shown=shown,
        )
        context.access.throttle.succeed(session, subjects)
        row = accepted.key
        record(
            session,
            principal_of(row),
            action=_action("accept", accepted.enrolment),
            object_id=accepted.enrolment.id,
            clock=context.clock,
        )
        made = NewKey.with_secret(row, accepted.text, names_of(session, [row.principal_id]))
        return AcceptedEnrolment(**made.model_dump(), held_until=accepted.enrolment.held_until)


@router.get("", summary="List enrolments")
def list_enrolments(
    principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> EnrolmentList:
    """The caller's enrolments, newest first; all enrolments for admins and auditors. At most 1,000."""
    sees_all = principal.has(Role.ADMIN, Role.AUDITOR)
    rows = context.access.enrolments.of(session, None if sees_all else principal.id)
    now = context.clock.now()
    return EnrolmentList(items=[EnrolmentView.of(row, at=now) for row in rows])


@router.delete(
    "/{enrolment_id}",
    summary="Cancel an enrolment",
    responses=problems(EnrolmentNotFound, EnrolmentEnded),
)
def cancel_enrolment(
    enrolment_id: UUID, principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> EnrolmentView:
    """Cancel a waiting enrolment, or a recovery that is still on hold: keys created with it are revoked.

    For admins, and for the person with any key that was not created with this enrolment.
    """
    row, ended = context.access.enrolments.cancel(session, enrolment_id, by=principal)
    record(session, principal, action=_action("cancel", row), object_id=row.id, clock=context.clock)

    def forget() -> None:
        for key_id in ended:
            context.access.authenticator.forget(key_id)

    on_commit(session, forget)
    return EnrolmentView.of(row, at=context.clock.now())


def _action(what: str, row: Enrolment) -> str:
    return f"recovery.{what}" if row.is_recovery else f"enrolment.{what}"
