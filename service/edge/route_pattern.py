"""The pattern of the route that serves a request: what logs, metrics and spans say instead of a path.

A caller can put anything into a path, and ids in a path would make a series of metrics each.
"""

from typing import Final

from starlette.types import Scope

NO_ROUTE: Final = "none"


def route_pattern(scope: Scope) -> str:
    """The whole pattern, such as ``/v1/jobs/{job_id}``; known once the request has been routed."""
    # A route of an included router knows its own part only; FastAPI keeps the whole pattern beside it.
    context = scope.get("fastapi", {}).get("effective_route_context")
    found = getattr(context, "path", None) or getattr(scope.get("route"), "path", None)
    return found if isinstance(found, str) else NO_ROUTE
