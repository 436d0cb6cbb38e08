"""Every page that the dashboard serves, by name: who looks at it, and where it is in the scene.

Pictures, accessibility, widths and milliseconds are taken of these. `test_every_page.py` compares them with the routes,
so a new page is in all of them or fails a test.
"""

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from fastapi.routing import APIRoute
from starlette.routing import Match

from service.dashboard.pages import GROUPS

QUESTION: Final = quote("ward by sick where age between 50 and 99")
PAGES: Final[Mapping[str, tuple[str | None, str]]] = {
    "sign-in": (None, "/sign-in"),
    "sign-in-link": (None, "/sign-in/link"),
    "enrol": (None, "/enrol"),
    "documentation": (None, "/docs/concepts.html"),
    "overview": ("admin", "/overview"),
    "own-datasets": ("owner", "/overview"),
    "orderable": ("analyst", "/overview"),
    "requests": ("admin", "/requests"),
    "request": ("owner", "/requests/{request_id}"),
    "grants": ("admin", "/grants"),
    "grant": ("admin", "/grants/{grant_id}"),
    "revoked-grant": ("auditor", "/grants/{revoked_id}"),
    "jobs": ("analyst", "/jobs"),
    "job": ("analyst", "/jobs/{running_id}"),
    "failed-job": ("analyst", "/jobs/{failed_id}"),
    "joint-job": ("analyst", "/jobs/{joint_id}"),
    "federations": ("analyst", "/federations"),
    "joint-jobs": ("auditor", "/federations"),
    "federation": ("analyst", "/federations/{federation_id}"),
    "failed-federation": ("analyst", "/federations/{late_id}"),
    "releases": ("auditor", "/releases"),
    "release": ("analyst", "/releases/{release_id}"),
    "owned-release": ("owner", "/releases/{release_id}"),
    "certificate": ("auditor", "/releases/{release_id}"),
    "asked": ("analyst", f"/releases/{{release_id}}?question={QUESTION}"),
    "images": ("analyst", "/releases/{pictures_id}"),
    "utility-report": ("analyst", "/charged-reports/{charged_id}"),
    "dataset": ("owner", "/datasets/{dataset_id}"),
    "analyst-dataset": ("analyst", "/datasets/{dataset_id}"),
    "order": ("analyst", "/datasets/{dataset_id}/order"),
    "people-of-dataset": ("owner", "/datasets/{dataset_id}/people"),
    "ledger": ("auditor", "/datasets/{dataset_id}/ledger"),
    "facts": ("owner", "/datasets/{dataset_id}/facts"),
    "image-facts": ("owner", "/datasets/{images_id}/facts"),
    "trail": ("owner", "/datasets/{dataset_id}/trail"),
    "delete": ("owner", "/datasets/{dataset_id}/delete"),
    "declare": ("owner", "/datasets/new"),
    "upload": ("owner", "/datasets/{declared_id}/upload"),
    "notifications": ("owner", "/notifications"),
    "endpoint": ("owner", "/notifications/{endpoint_id}"),
    "people": ("admin", "/people"),
    "keys": ("admin", "/keys"),
    "revoke-key": ("admin", "/keys/{key_id}/revoke"),
    "system": ("admin", "/system"),
    "audit": ("auditor", "/audit"),
    "help": ("admin", "/help"),
    "error": ("owner", "/jobs/00000000-0000-4000-8000-000000000000"),
}
"""Name, role (None for nobody) and path; the names in braces are those of `Scene` and `Newer`."""
COMPUTED: Final[Mapping[str, tuple[str, str]]] = {
    "findings": ("admin", "/overview/findings"),
    "examination": ("admin", "/system/findings"),
    "preview": ("analyst", "/releases/{release_id}/preview"),
    "ledger-verification": ("auditor", "/datasets/{dataset_id}/ledger/verification"),
    "audit-verification": ("auditor", "/audit/verification"),
}
"""What pages show when it has been computed. It may take longer than a page, which does not wait for it."""
NO_PAGES: Final = frozenset(
    {
        "/", "/static/{name}", "/docs", "/docs/", "/sign-in/account", "/sign-in/callback", "/releases/{release_id}/sheet.png",
        "/federations/{federation_id}/certificates/{member}.json", "/datasets/{dataset_id}/ledger.csv", "/datasets/{dataset_id}/dossier.{file_format}",
    }
)  # fmt: skip
"""Files, and addresses that only lead elsewhere."""


def routes() -> list[APIRoute]:
    """What answers to GET, in the order in which it is looked for."""
    found = [route for group in GROUPS for route in group.router.routes if isinstance(route, APIRoute)]
    return [route for route in found if "GET" in (route.methods or ())]


def route_of(path: str) -> str:
    """The route that answers to a path."""
    scope = {"type": "http", "method": "GET", "path": path.partition("?")[0]}
    return next(route.path for route in routes() if route.matches(scope)[0] is Match.FULL)
