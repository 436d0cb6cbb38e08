"""Errors as HTML: the API's code, detail and remedy as a page or an htmx fragment.

The API's error handlers stay unchanged; for browser requests their JSON answer is rendered as HTML. A visitor without a
session, or with an expired one, is redirected to the sign-in form and returns from there; one who submits a form is told how to keep it.
"""

import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import Any, Final, cast
from urllib.parse import urlsplit

from fastapi import FastAPI, Request, Response
from starlette.types import Scope

from core.errors import UnderstudyError
from service.auth.cookie import SAFE_METHODS, presented_cookie
from service.dashboard.rendering import open_page, page, sent_on
from service.dashboard.sign_in_pages import HOME, own_path, way_in
from service.dashboard.visit import begin_visit, visit_begun
from service.dependencies import context_of
from service.problem import document_of, response_to

NOTICE: Final = "#notice"
IN_WORDS: Final = "Go back and choose from the options on the page."
"""Replaces remedies that name API paths."""
MISSING: Final = "It does not exist, or you may not see it. Overview, requests, jobs and releases list all that you may see."
"""Replaces the remedy where a page is of an object that the visitor cannot see, whether it exists or not."""
LEAVE: Final = "/sign-out"
_KEPT: Final = ("retry-after", "allow")
_NOT_PAGES: Final = ("/v1/", "/static/", "/metrics", "/healthz", "/livez", "/readyz")

Handler = Callable[[Request, Exception], Awaitable[Response]]


def install_error_pages(app: FastAPI) -> None:
    """Render the answers of the installed error handlers as HTML for browser requests."""
    for kind, handler in list(app.exception_handlers.items()):
        app.add_exception_handler(kind, partial(_shown, cast("Handler", handler)))


async def _shown(handler: Handler, request: Request, error: Exception) -> Response:
    answer = await handler(request, error)
    if not _is_for_people(request) or answer.media_type != "application/problem+json":
        return answer
    if answer.status_code == HTTPStatus.NOT_FOUND and visit_begun(request) is None:
        # No page has this address, so nobody asked who is there.
        with suppress(UnderstudyError):
            await begin_visit(request)
    return as_page(request, json.loads(bytes(answer.body)), answer)


def shown_last(scope: Scope, error: UnderstudyError) -> Response:
    """The answer to an unexpected error: HTML for browsers, JSON for API clients."""
    request, answer = Request(scope), response_to(error)
    return as_page(request, document_of(error), answer) if _is_for_people(request) else answer


def as_page(request: Request, problem: dict[str, Any], answer: Response) -> Response:
    """A problem as a page, a fragment, or a redirect to the sign-in form."""
    is_fragment = "hx-request" in request.headers
    if answer.status_code == HTTPStatus.UNAUTHORIZED:
        way = way_in(_back_to(request))
        if request.method not in SAFE_METHODS and not is_fragment and request.url.path != LEAVE:
            # A redirect would take the place of the form, and with it what was typed.
            return open_page(request, "session_ended.html", status=answer.status_code)
        if not is_fragment:
            return _once_more(request) or sent_on(way)
        return Response(status_code=answer.status_code, headers={"HX-Redirect": way})
    if answer.status_code == HTTPStatus.NOT_FOUND and request.method in SAFE_METHODS:
        problem["remedy"] = MISSING
    elif "/v1" in problem["remedy"]:
        problem["remedy"] = IN_WORDS
    problem["detail"] = _in_words(request, problem)
    kept = {name: answer.headers[name] for name in _KEPT if name in answer.headers}
    if is_fragment:
        kept |= {"HX-Retarget": NOTICE, "HX-Reswap": "innerHTML"}
    visit = visit_begun(request)
    signed_in = presented_cookie(request, context_of(request).settings) is not None
    shown = (partial(open_page, request) if visit is None else partial(page, visit))(
        "problem.html" if is_fragment else "problem_page.html",
        status=answer.status_code,
        problem=problem,
        home=HOME if signed_in else "/",
        is_form=request.method not in SAFE_METHODS,
    )
    shown.headers.update(kept)
    return shown


def _in_words(request: Request, problem: dict[str, Any]) -> str:
    """The detail of a problem, without the API's words where a person opened a page."""
    if request.method not in SAFE_METHODS:
        return str(problem["detail"])
    detail = str(problem["detail"])
    if problem["code"] == "not-found" or "its schema at path." in detail:
        return "There is no page at this address."
    return detail.replace("This endpoint is", "This page is")


def _once_more(request: Request) -> Response | None:
    """Reload the page from our own origin when it was opened from another site, such as a link in an e-mail.

    Browsers withhold the SameSite cookie from cross-site navigation, so the visitor seems signed out. The reload is
    same-site and sends the cookie if there is one.
    """
    elsewhere = request.headers.get("sec-fetch-site") in {"cross-site", "same-site"}
    path = _back_to(request)
    if request.method not in SAFE_METHODS or not elsewhere or own_path(path) != path:
        return None
    return open_page(request, "once_more.html", back_to=path)


def _is_for_people(request: Request) -> bool:
    """Whether a browser shows the answer: a page, a fragment, or the answer to a form."""
    path = request.url.path
    if path.startswith(_NOT_PAGES):
        return False
    return "hx-request" in request.headers or "text/html" in request.headers.get("accept", "")


def _back_to(request: Request) -> str:
    """The page to return to: the requested one, or the page with the form."""
    if request.method in SAFE_METHODS and "hx-request" not in request.headers:
        query = request.url.query
        return f"{request.url.path}?{query}" if query else request.url.path
    came_from = request.headers.get("hx-current-url") or request.headers.get("referer", "")
    try:
        parts = urlsplit(came_from)
    except ValueError:
        return HOME
    return parts.path if parts.netloc == request.headers.get("host") else HOME
