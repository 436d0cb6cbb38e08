"""Sign-in with the link that `understudy up` prints: a page that takes the token from the URL's fragment and posts it.

Opening the page uses nothing up, so a program that fetches links ahead of the person does no harm; the button does.
Only the embedded stack on the loopback address has these pages.
"""

from typing import Final

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.concurrency import run_in_threadpool

from core.platform.access.errors import LinkRefused, LoginThrottled
from core.platform.access.keys import parse_link_token
from service.auth.cookie import require_proof_of_origin, set_cookie
from service.context import AppContext
from service.dashboard.errors import FormInvalid
from service.dashboard.forms import read_form
from service.dashboard.rendering import sent_on
from service.dashboard.sign_in_pages import HOME, form_page
from service.dependencies import InjectedContext
from service.principals.session_endpoints import begin_attempt, open_session

LINK: Final = "/sign-in/link"

router = APIRouter(include_in_schema=False)


@router.get(LINK)
def link_form(request: Request, context: InjectedContext) -> Response:
    """Show the button. The server never sees the fragment."""
    _require_alone(context)
    return form_page(request, "sign_in_link.html", None)


@router.post(LINK)
async def take_link(request: Request, context: InjectedContext) -> Response:
    """Open a session and use up the link, in one transaction; failures are counted as those of other logins."""
    _require_alone(context)
    require_proof_of_origin(request, context.settings)
    form = await read_form(request)
    try:
        cookie = await run_in_threadpool(_session_of, form.required("token"), request, context)
    except (LinkRefused, LoginThrottled, FormInvalid) as refusal:
        return form_page(request, "sign_in_link.html", refusal)
    answer = sent_on(HOME)
    set_cookie(answer, cookie, context.settings)
    return answer


def _session_of(text: str, request: Request, context: AppContext) -> str:
    subjects = begin_attempt(request, context, parse_link_token(text))
    with context.database.transaction() as session:
        known = context.access.links.take(session, text)
        context.access.throttle.succeed(session, subjects)
        return open_session(session, context, known, action="session.open-by-link")


def _require_alone(context: AppContext) -> None:
    if not context.settings.is_alone:
        raise HTTPException(404)
