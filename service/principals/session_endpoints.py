"""Browser sessions: opened with an API key, read, closed."""

from collections.abc import Sequence

from fastapi import APIRouter, Request, Response
from sqlalchemy.orm import Session

from core.db.session import on_commit
from core.platform.access.directory import Known
from core.platform.access.errors import CsrfRefused, KeyRefused, LoginThrottled
from core.platform.access.keys import KeyText, parse_key
from core.platform.access.roles import Via
from core.platform.access.throttle import Subject
from service.audit import record
from service.auth.cookie import clear_cookie, presented_cookie, require_own_page, set_cookie
from service.context import AppContext
from service.dependencies import CurrentPrincipal, InjectedContext, OpenSession
from service.principals.key_schemas import Login, SessionView
from service.problem import problems
from service.strict_route import StrictRoute

router = APIRouter(prefix="/session", tags=["session"], route_class=StrictRoute)


@router.post(
    "", status_code=201, summary="Log in", responses=problems(KeyRefused, CsrfRefused, LoginThrottled)
)
def create_session(
    login: Login, request: Request, response: Response, context: InjectedContext
) -> SessionView:
    """Open a browser session with an API key. It has the key's rights, and ends with it.

    The cookie is HttpOnly and SameSite=Strict. Requests that change something must also carry the response's
    `csrf_token` in the header `X-CSRF-Token`. Failed logins delay further attempts from the address and for the key's
    prefix, longer each time.
    """
    require_own_page(request, context.settings)
    key = parse_key(login.key.get_secret_value())
    subjects = begin_attempt(request, context, key)
    if key is None:
        raise KeyRefused
    with context.database.transaction() as session:
        known = context.access.keys.find(session, key)
        cookie = open_session(session, context, known, action="session.open")
        context.access.throttle.succeed(session, subjects)
        principal = context.access.sessions.find(session, cookie).principal
    set_cookie(response, cookie, context.settings)
    return SessionView.of(principal, csrf_token=context.access.sessions.csrf_token(cookie))


def begin_attempt(request: Request, context: AppContext, proof: KeyText | None) -> Sequence[Subject]:
    """Count an attempt to sign in as a failure of its address and of the proof's prefix. Returns both, for its success.

    It is counted before the proof is checked, in a separate transaction: a refusal rolls back what follows.

    Raises:
        LoginThrottled: There were too many failures.
    """
    address = request.client.host if request.client else ""
    subjects = context.access.throttle.subjects(address=address, prefix=proof.prefix if proof else None)
    with context.database.transaction() as session:
        context.access.throttle.begin(session, subjects)
    return subjects


def open_session(session: Session, context: AppContext, known: Known, *, action: str) -> str:
    """Open a browser session and log it in the same transaction. Returns the cookie."""
    row, cookie = context.access.sessions.open(session, known)
    record(session, known.principal, action=action, object_id=row.id, clock=context.clock)
    return cookie


@router.get("", summary="Who am I")
def read_session(principal: CurrentPrincipal, request: Request, context: InjectedContext) -> SessionView:
    """The principal of the key, token or session; for a session also its CSRF token."""
    cookie = presented_cookie(request, context.settings)
    token = context.access.sessions.csrf_token(cookie) if principal.via is Via.SESSION and cookie else None
    return SessionView.of(principal, csrf_token=token)


@router.delete("", status_code=204, summary="Log out", response_class=Response)
def close_session(
    principal: CurrentPrincipal, request: Request, context: InjectedContext, session: OpenSession
) -> Response:
    """End the browser session: at once in this process, within two seconds in all others. Keys and tokens are not affected."""
    answer = Response(status_code=204)
    cookie = presented_cookie(request, context.settings)
    if principal.via is Via.SESSION and cookie is not None:
        context.access.sessions.end(session, cookie)
        on_commit(session, lambda: context.access.authenticator.forget(principal.key_id))
        record(session, principal, action="session.close", object_id=principal.key_id, clock=context.clock)
    clear_cookie(answer, context.settings)
    return answer
