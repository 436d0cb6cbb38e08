"""Template rendering: always escaped, strict about undefined names, with a CSP that allows only our own files.

Every page has a menu and a link to the page of the documentation that explains it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from service.auditing.endpoints import list_audit_events
from service.budget_requests.endpoints import list_budget_requests
from service.dashboard.assets import path_of
from service.dashboard.visit import Visit
from service.datasets.endpoints import list_datasets
from service.diagnosis.endpoints import read_health_report
from service.grants.endpoints import list_all_grants
from service.jobs.endpoints import list_jobs
from service.notifications.endpoints import list_endpoints
from service.principals.key_endpoints import list_keys
from service.principals.people_endpoints import list_people
from service.releases.endpoints import list_releases
from service.wording import amounts, domain_text, labels
from service.wording.budget_pictures import bar_of, sparkline_of

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
# A browser breaks a line after any hyphen, which would cut `--epsilon` in two.
_OPTION: Final = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
_LONG_WORD: Final = re.compile(r"\S{17,}")
# Within an escaped character such as `&amp;` there is no place to break.
_PLACE_TO_BREAK: Final = re.compile(r"[_./-]+(?=\w)")
_BUDGET: Final = "concepts.html#the-budget"
_PRICE: Final = "tutorials/analyst.html#3-see-the-price"
_AUDIT: Final = "tutorials/protection-officer.html#read-the-audit-log"
_KEYS: Final = "sign-in.html#with-a-key"
_PEOPLE: Final = "tutorials/admin.html#create-people"
_CHAIN: Final = "tutorials/protection-officer.html#check-the-ledger"
_SYSTEM: Final = "tutorials/admin.html#see-that-it-works"
_FEDERATED: Final = "federated.html#following-a-federation"
_UTILITY: Final = "reports.html#utility-reports-for-analysts"

EXPLAINED_BY: Final[Mapping[str, str]] = {
    "audit.html": _AUDIT,
    "dataset.html": _BUDGET,
    "declare.html": "tutorials/declaring.html#begin-with-a-draft",
    "delete.html": "decisions/deletion.html",
    "documentation.html": "index.html",
    "edit_draft.html": "tutorials/declaring.html#go-through-it-column-by-column",
    "enrol.html": _KEYS,
    "facts.html": "domain.html",
    "federation.html": _FEDERATED,
    "federations.html": _FEDERATED,
    "grant.html": _BUDGET,
    "grants.html": _BUDGET,
    "help.html": "concepts.html",
    "job.html": "tutorials/analyst.html#4-order-and-wait",
    "jobs.html": "tutorials/analyst.html#4-order-and-wait",
    "keys.html": _KEYS,
    "ledger.html": _CHAIN,
    "new_endpoint.html": "notifications.html#webhooks",
    "new_enrolment.html": _PEOPLE,
    "new_key.html": _KEYS,
    "notification.html": "notifications.html",
    "notifications.html": "notifications.html",
    "order.html": _PRICE,
    "overview.html": "dashboard.html#who-sees-what",
    "people.html": "tutorials/owner.html#4-show-it-to-analysts",
    "principals.html": _PEOPLE,
    "problem_page.html": "reference/errors.html",
    "quote_page.html": _PRICE,
    "release.html": "tutorials/analyst.html#6-know-what-you-have",
    "releases.html": "tutorials/analyst.html#5-draw-as-much-as-you-like",
    "request.html": _BUDGET,
    "requests.html": _BUDGET,
    "review.html": "tutorials/declaring.html#go-through-it-column-by-column",
    "revoke_key.html": _KEYS,
    "session_ended.html": "sign-in.html",
    "sign_in.html": "sign-in.html",
    "sign_in_link.html": "sign-in.html#on-your-own-machine-the-link",
    "system.html": _SYSTEM,
    "system_findings_page.html": _SYSTEM,
    "trail.html": _AUDIT,
    "upload.html": "tutorials/owner.html#3-send-the-rows",
    "utility_quote_page.html": _UTILITY,
    "utility_report.html": _UTILITY,
    "verification_page.html": _CHAIN,
    "what_if_page.html": _PRICE,
}
"""Paths in the site by template. `tests/docs/test_site.py` holds each to an anchor of the built site."""


class Item(NamedTuple):
    """A menu item."""

    path: str
    title: str


_PLACES: Final[Sequence[tuple[Item, Callable[..., Any]]]] = (
    (Item("/overview", "Overview"), list_datasets),
    (Item("/requests", "Requests"), list_budget_requests),
    (Item("/grants", "Grants"), list_all_grants),
    (Item("/jobs", "Jobs"), list_jobs),
    (Item("/releases", "Releases"), list_releases),
    (Item("/notifications", "Notifications"), list_endpoints),
    (Item("/people", "People"), list_people),
    (Item("/keys", "Keys"), list_keys),
    (Item("/system", "System"), read_health_report),
    (Item("/audit", "Audit log"), list_audit_events),
)


def menu(visit: Visit) -> Sequence[Item]:
    """The menu items for this visitor: only pages that the visitor's key may use."""
    return [item for item, operation in _PLACES if visit.may(operation)]


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
        "amounts": amounts,
        "labels": labels,
        "domain_text": domain_text,
        "bar_of": bar_of,
        "sparkline_of": sparkline_of,
    }
    made.filters |= {
        "options": with_whole_options,
        "breaks": with_breaks,
        "moment": amounts.moment,
        "day": amounts.day,
        "epsilon": amounts.epsilon,
        "share": amounts.share,
        "delta": amounts.delta,
        "exact": amounts.exact,
        "count": amounts.count,
        "short": amounts.short,
        "seconds": amounts.seconds,
    }
    return made


def with_breaks(text: str) -> Markup:
    """A name of a page, escaped, whose long words may be broken after `_`, `-`, `/` and `.`: on a phone they would be cut anywhere."""
    return Markup(_LONG_WORD.sub(lambda word: _PLACE_TO_BREAK.sub(r"\g<0><wbr>", word[0]), str(escape(text))))  # noqa: S704 - escaped, and `<wbr>` has no content


def with_whole_options(text: str) -> Markup:
    """Text of a page, escaped unless it is Markup, whose options of commands stay in one line."""
    return Markup(_OPTION.sub(r'<span class="option">\g<0></span>', str(escape(text))))  # noqa: S704 - escaped, and an option has no markup
