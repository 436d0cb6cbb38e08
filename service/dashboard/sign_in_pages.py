"""Sign-in, sign-out, and the redirect to the home page."""

from http import HTTPStatus
from typing import Annotated, Final
from urllib.parse import quote, unquote, urlsplit

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from core.errors import UnderstudyError
from core.platform.access.errors import KeyMissing, KeyRefused, LoginThrottled, SessionRefused
from service.auth.cookie import presented_cookie, require_proof_of_origin
from service.current_request import current_trail
from service.dashboard.errors import FormInvalid
from service.dashboard.forms import order, read_form
from service.dashboard.rendering import open_page, sent_on
from service.dashboard.visit import CurrentVisit, begin_visit
from service.dependencies import InjectedContext, context_of
from service.principals.key_schemas import Login
from service.principals.session_endpoints import close_session, create_session
from service.wording import labels

HOME: Final = "/overview"
SIGN_IN: Final = "/sign-in"
_LONGEST_NEXT: Final = 2000

router = APIRouter(include_in_schema=False)

Next = Annotated[str, Query(max_length=_LONGEST_NEXT)]


def own_path(text: str) -> str:
    r"""The redirect target after sign-in if it is a local path, else the home page. Prevents open redirects.

    Browsers treat ``//host``, ``/\\host`` and control characters as links to other sites. A local path therefore starts
    with exactly one slash and contains printable ASCII only.
    """
    begins = text.startswith("/") and text[1:2] not in {"/", "\\"}
    plain = text.isascii() and text.isprintable() and "\\" not in text
    try:
        parts = urlsplit(text)
    except ValueError:
        return HOME
    inside = not parts.scheme and not parts.netloc and not unquote(parts.path).startswith(("//", "/\\"))
    is_way_in = parts.path.startswith(("/v1", SIGN_IN, "/sign-out", "/enrol"))
    return text if begins and plain and inside and not is_way_in else HOME


def way_in(back_to: str) -> str:
    """The URL of the sign-in form that returns to a path."""
    path = own_path(back_to)
    return SIGN_IN if path == HOME else f"{SIGN_IN}?next={quote(path, safe='/')}"


def sign_in_page(
    request: Request, *, back_to: str, done: str | None = None, problem: UnderstudyError | None = None
) -> Response:
    """The ways to sign in, with the reason why an attempt was refused."""
    settings = context_of(request).settings
    return form_page(
        request,
        "sign_in.html",
        problem,
        back_to=back_to,
        done=done,
        has_provider=context_of(request).access.provider is not None,
        provider_host=urlsplit(settings.oidc_issuer or "").netloc,
        is_alone=settings.is_alone,
    )


def form_page(request: Request, template: str, problem: UnderstudyError | None, **facts: object) -> Response:
    """A form that needs no session, with the reason why it was refused, if it was; the audit log gets it too."""
    status = HTTPStatus.OK if problem is None else problem.status
    shown = open_page(request, template, status=status, problem=problem, **facts)
    if problem is not None:
        current_trail().refusal = problem
    if isinstance(problem, LoginThrottled):
        shown.headers["Retry-After"] = str(problem.retry_after_seconds)
    return shown


@router.get("/")
def root(request: Request) -> Response:
    """Redirect to the home page, or to the sign-in form."""
    signed_in = presented_cookie(request, context_of(request).settings) is not None
    return sent_on(HOME if signed_in else SIGN_IN)


@router.get(SIGN_IN)
async def sign_in_form(request: Request, next: Next = HOME, done: str = "") -> Response:  # noqa: A002 - the query parameter's name
    """Show the ways to sign in, or redirect a signed-in visitor, who may come here by the browser's Back."""
    back_to = own_path(next)
    try:
        await begin_visit(request)
    except (KeyMissing, SessionRefused):
        return await run_in_threadpool(sign_in_page, request, back_to=back_to, done=labels.DONE.get(done))
    return sent_on(back_to)


@router.post(SIGN_IN)
async def sign_in(request: Request, context: InjectedContext) -> Response:
    """Open a browser session with an API key through the API's own operation, so throttling and logging apply."""
    require_proof_of_origin(request, context.settings)
    form = await read_form(request)
    back_to = own_path(form.text("next") or HOME)
    answer = sent_on(back_to)
    try:
        login = order(Login, key=form.required("key"))
        await run_in_threadpool(create_session, login, request, answer, context)
    except (KeyRefused, LoginThrottled, FormInvalid) as refusal:
        return sign_in_page(request, back_to=back_to, problem=refusal)
    return answer


@router.post("/sign-out")
def sign_out(visit: CurrentVisit) -> Response:
    """End the session."""
    closed = visit.ask(close_session)
    answer = sent_on(f"{SIGN_IN}?done=signed-out")
    for value in closed.headers.getlist("set-cookie"):
        answer.headers.append("set-cookie", value)
    return answer
