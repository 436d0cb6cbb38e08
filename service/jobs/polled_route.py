"""A fast path for polling: the same checks and response without FastAPI's dependency resolution.

Resolving dependencies takes FastAPI longer than authenticating the caller and reading the row. A plain poll - a
canonical id, no query, one key - is served directly; everything else takes the ordinary route, which also documents the
operation. ``tests/service/test_polled_route.py`` compares the two.
"""

import re
from typing import Final
from uuid import UUID

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.security import HTTPAuthorizationCredentials

from service.dependencies import authorise, context_of
from service.strict_route import Handler, StrictRoute

_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_BEARER: Final = "Bearer "


class PolledRoute(StrictRoute):
    """Serves ``/{job_id}``."""

    def get_route_handler(self) -> Handler:
        """Serve plain polls directly."""
        ordinary = super().get_route_handler()

        async def handle(request: Request) -> Response:
            job_id: str = request.path_params["job_id"]
            presented = request.headers.getlist("authorization")
            is_plain = (
                len(presented) == 1
                and presented[0].startswith(_BEARER)
                and not request.scope["query_string"]
                and _UUID.fullmatch(job_id) is not None
            )
            if not is_plain:
                return await ordinary(request)
            key = presented[0].removeprefix(_BEARER).strip()
            credentials = HTTPAuthorizationCredentials(scheme="Bearer", credentials=key)
            principal = await authorise(request, credentials, None)
            watch = context_of(request).job_watch
            seen = await run_in_threadpool(watch.look, UUID(job_id), principal)
            return Response(seen.text, media_type="application/json")

        return handle
