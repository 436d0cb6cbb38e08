"""Sessions of browsers: opened with an API key, looked at, closed."""

from fastapi import APIRouter, Request, Response

from core.access.errors import CsrfRefused, KeyRefused, LoginThrottled
from core.access.keys import parse_key
from core.access.roles import Via
from core.db.session import on_commit
from service.audit import record
from service.auth.cookie import clear_cookie, presented_cookie, require_own_page, set_cookie
from service.auth.schemas import Login, SessionView
from service.dependencies import CurrentPrincipal, InjectedContext, OpenSession
from service.problem import problems
from service.strict_route import StrictRoute

router = APIRouter(prefix="/session", tags=["session"], route_class=StrictRoute)


@router.post(
    "", status_code=201, summary="Log in", responses=problems(KeyRefused, CsrfRefused, LoginThrottled)
)
def create_session(
    login: Login, request: Request, response: Response, context: InjectedContext
) -> SessionView:
    """Open a browser's session with an API key. It speaks for the key, and ends with it.

    The cookie is out of reach of scripts and is not sent along from other sites. Whatever changes something must also
    carry the header `X-CSRF-Token` with the answer's `csrf_token`. Failed logins make their address and the key's
    prefix wait, longer with each.
    """
    require_own_page(request, context.settings)
    key = parse_key(login.key.get_secret_value())
    subjects = context.access.throttle.subjects(
        address=request.client.host if request.client else "", prefix=key.prefix if key else None
    )
    # Counted as a failure before the key is looked at, in a transaction of its own: what follows may be refused.
    with context.database.transaction() as session:
        context.access.throttle.begin(session, subjects)
    if key is None:
        raise KeyRefused
    with context.database.transaction() as session:
        known = context.access.keys.find(session, key)
        row, cookie = context.access.sessions.open(session, known)
        context.access.throttle.succeed(session, subjects)
        record(session, known.principal, action="session.open", object_id=row.id, clock=context.clock)
        principal = context.access.sessions.find(session, cookie).principal
    set_cookie(response, cookie, context.settings)
    return SessionView.of(principal, csrf_token=context.access.sessions.csrf_token(cookie))


@router.get("", summary="Who am I")
def read_session(principal: CurrentPrincipal, request: Request, context: InjectedContext) -> SessionView:
    """Whom the key, token or session speaks for; in a session also the token that changes must carry."""
    cookie = presented_cookie(request, context.settings)
    token = context.access.sessions.csrf_token(cookie) if principal.via is Via.SESSION and cookie else None
    return SessionView.of(principal, csrf_token=token)


@router.delete("", status_code=204, summary="Log out", response_class=Response)
def close_session(
    principal: CurrentPrincipal, request: Request, context: InjectedContext, session: OpenSession
) -> Response:
    """End the browser's session, here at once and in all processes within two seconds; keys and tokens stay as they are."""
    answer = Response(status_code=204)
    cookie = presented_cookie(request, context.settings)
    if principal.via is Via.SESSION and cookie is not None:
        context.access.sessions.end(session, cookie)
        on_commit(session, lambda: context.access.authenticator.forget(principal.key_id))
        record(session, principal, action="session.close", object_id=principal.key_id, clock=context.clock)
    clear_cookie(answer, context.settings)
    return answer
