"""The pattern of the matched route, used in logs, metrics and spans instead of the path.

Callers can put anything into a path, and every id in a path would create its own metric series.
"""

from typing import Final

from starlette.types import Scope

NO_ROUTE: Final = "none"


def route_pattern(scope: Scope) -> str:
    """The full pattern, such as ``/v1/jobs/{job_id}``; known once the request has been routed."""
    # A route of an included router knows only its own part; FastAPI keeps the full pattern separately.
    context = scope.get("fastapi", {}).get("effective_route_context")
    found = getattr(context, "path", None) or getattr(scope.get("route"), "path", None)
    return found if isinstance(found, str) else NO_ROUTE
