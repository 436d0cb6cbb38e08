"""Template rendering: always escaped, strict about undefined names, with a CSP that allows only our own files."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from service.dashboard.assets import path_of
from service.dashboard.explained import EXPLAINED_BY
from service.dashboard.navigation import menu
from service.dashboard.sparkline import sparkline_of
from service.dashboard.visit import Visit
from service.wording import domain_text, labels
from service.wording.budget_bar import bar_of

TEMPLATES: Final = Path(__file__).parent / "templates"
CONTENT_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
PAGE_HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": CONTENT_POLICY,
    "Cache-Control": "no-store",
    # Without a referrer, browsers would not state the origin of a form, and every form would fail the CSRF check.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
SEE_OTHER: Final = 303


def page(visit: Visit, template: str, *, status: int = 200, **facts: object) -> Response:
    """Render a page or fragment for a signed-in visitor."""
    shown = {
        "path": visit.request.url.path,
        "menu": menu(visit),
        "csrf_token": visit.csrf_token,
        "roles": sorted(visit.principal.roles),
        "me": visit.principal.id,
        "held_until": visit.held_until,
        "done": labels.DONE.get(visit.request.query_params.get("done", "")),
    }
    return rendered(template, status=status, **shown, **facts)


def open_page(request: Request, template: str, *, status: int = 200, **facts: object) -> Response:
    """Render a page that needs no session."""
    nobody: dict[str, object] = {
        "path": request.url.path,
        "menu": (),
        "csrf_token": None,
        "roles": [],
        "me": None,
        "held_until": None,
        "done": None,
    }
    return rendered(template, status=status, **(nobody | facts))


def sent_on(path: str) -> Response:
    """Redirect after a change (303), so that reloading the page does not repeat the change."""
    return RedirectResponse(path, status_code=SEE_OTHER, headers=dict(PAGE_HEADERS))


def rendered(template: str, *, status: int = 200, **facts: object) -> Response:
    """Render a template as a response."""
    text = environment().get_template(template).render(explained_by=EXPLAINED_BY.get(template), **facts)
    return Response(
        text, status_code=status, media_type="text/html; charset=utf-8", headers=dict(PAGE_HEADERS)
    )


@cache
def environment() -> Environment:
    """The template environment. It escapes everything; a misspelt name raises instead of rendering as empty."""
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals |= {
        "asset": path_of,
        "labels": labels,
        "domain_text": domain_text,
        "bar_of": bar_of,
        "sparkline_of": sparkline_of,
    }
    made.filters |= {
        "moment": labels.moment,
        "day": labels.day,
        "epsilon": labels.epsilon,
        "share": labels.share,
        "delta": labels.delta,
        "exact": labels.exact,
        "count": labels.count,
        "short": labels.short,
        "seconds": labels.seconds,
    }
    return made
