"""Sessions of browsers: opened with an API key, looked at, closed."""

from fastapi import APIRouter, Request, Response

from core.access.errors import CsrfRefused, KeyRefused, LoginThrottled
from core.access.keys import parse_key
from core.access.roles import Via
from core.db.session import on_commit
from service.audit import record
from service.auth.cookie import clear_cookie, presented_cookie, require_own_page, set_cookie
from service.auth.schemas import Login, SessionView
from service.dependencies import CurrentPrincipal, InjectedParts, OpenSession
from service.problem import problems
from service.strict_route import StrictRoute

router = APIRouter(prefix="/session", tags=["session"], route_class=StrictRoute)


@router.post(
    "", status_code=201, summary="Log in", responses=problems(KeyRefused, CsrfRefused, LoginThrottled)
)
def create_session(login: Login, request: Request, response: Response, parts: InjectedParts) -> SessionView:
    """Open a browser's session with an API key. It speaks for the key, and ends with it.

    The cookie is out of reach of scripts and is not sent along from other sites. Whatever changes something must also
    carry the header `X-CSRF-Token` with the answer's `csrf_token`. Failed logins make their address and the key's
    prefix wait, longer with each.
    """
    require_own_page(request, parts.settings)
    key = parse_key(login.key.get_secret_value())
    subjects = parts.throttle.subjects(
        address=request.client.host if request.client else "", prefix=key.prefix if key else None
    )
    # Counted as a failure before the key is looked at, in a transaction of its own: what follows may be refused.
    with parts.database.transaction() as session:
        parts.throttle.begin(session, subjects)
    if key is None:
        raise KeyRefused
    with parts.database.transaction() as session:
        known = parts.keys.find(session, key)
        row, cookie = parts.sessions.open(session, known)
        parts.throttle.succeed(session, subjects)
        record(session, known.principal, action="session.open", object_id=row.id, clock=parts.clock)
        principal = parts.sessions.find(session, cookie).principal
    set_cookie(response, cookie, parts.settings)
    return SessionView.of(principal, csrf_token=parts.sessions.csrf_token(cookie))


@router.get("", summary="Who am I")
def read_session(principal: CurrentPrincipal, request: Request, parts: InjectedParts) -> SessionView:
    """Whom the key, token or session speaks for; in a session also the token that changes must carry."""
    cookie = presented_cookie(request, parts.settings)
    token = parts.sessions.csrf_token(cookie) if principal.via is Via.SESSION and cookie else None
    return SessionView.of(principal, csrf_token=token)


@router.delete("", status_code=204, summary="Log out", response_class=Response)
def close_session(
    principal: CurrentPrincipal, request: Request, parts: InjectedParts, session: OpenSession
) -> Response:
    """End the browser's session, here at once and in all processes within two seconds; keys and tokens stay as they are."""
    answer = Response(status_code=204)
    cookie = presented_cookie(request, parts.settings)
    if principal.via is Via.SESSION and cookie is not None:
        parts.sessions.end(session, cookie)
        on_commit(session, lambda: parts.doorkeeper.forget(principal.key_id))
        record(session, principal, action="session.close", object_id=principal.key_id, clock=parts.clock)
    clear_cookie(answer, parts.settings)
    return answer
