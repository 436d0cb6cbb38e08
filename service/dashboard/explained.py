"""The page of the documentation that explains each page of the dashboard."""

from collections.abc import Mapping
from typing import Final

_MONEY: Final = "concepts.html#the-money"
_PRICE: Final = "tutorials/analyst.html#3-look-at-the-price"
_AUDIT: Final = "tutorials/protection-officer.html#read-the-audit-log"
_KEYS: Final = "sign-in.html#with-a-key"
_PEOPLE: Final = "tutorials/admin.html#create-people"
_CHAIN: Final = "tutorials/protection-officer.html#check-the-ledger"
_SYSTEM: Final = "tutorials/admin.html#see-that-it-works"
_UTILITY: Final = "reports.html#utility-reports-for-analysts"

EXPLAINED_BY: Final[Mapping[str, str]] = {
    "audit.html": _AUDIT,
    "dataset.html": _MONEY,
    "declare.html": "tutorials/declaring.html#begin-with-a-draft",
    "delete.html": "decisions/deletion.html",
    "documentation.html": "index.html",
    "enrol.html": _KEYS,
    "facts.html": "domain.html",
    "grant.html": _MONEY,
    "grants.html": _MONEY,
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
    "request.html": _MONEY,
    "requests.html": _MONEY,
    "review.html": "tutorials/declaring.html#go-through-it-column-by-column",
    "revoke_key.html": _KEYS,
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
