"""A route that refuses ambiguous requests.

FastAPI ignores unknown query parameters, takes the last value of a repeated one, parses JSON leniently, and parses it
before authentication. This route refuses unknown or repeated parameters, repeated headers, bodies of another media type
and ambiguous JSON, and it checks access to the endpoint first.
"""

from collections.abc import Callable, Coroutine
from email.message import Message
from typing import Any, Final, get_origin

from fastapi import Request, Response, params
from fastapi.dependencies.models import Dependant
from fastapi.dependencies.utils import get_flat_params
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.concurrency import run_in_threadpool

from core.errors import UnderstudyError
from service.auth.table import OPEN
from service.dependencies import authorise
from service.edge.json_body import read_json
from service.problem import MalformedRequest, WrongMediaType

# Parsing a larger body takes long enough to block the event loop, so it runs in a thread.
_LARGE_BYTES: Final = 32 * 1024
_SINGLE_HEADERS: Final = ("authorization", "content-type", "idempotency-key", "x-csrf-token")
_MANY: Final = (list, set, frozenset, tuple)

_credentials = HTTPBearer(auto_error=False)

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class StrictRequest(Request):
    """A request with strict JSON parsing."""

    async def json(self) -> Any:  # noqa: ANN401 - any JSON value
        """The document in the body, parsed once.

        Raises:
            MalformedRequest: The body is not JSON.
            RequestValidationError: A location in the document holds a refused value.
        """
        if not hasattr(self, "_json"):
            body = await self.body()
            self._json = (
                await run_in_threadpool(read_json, body) if len(body) > _LARGE_BYTES else read_json(body)
            )
        return self._json


class StrictRoute(APIRoute):
    """The class of every route under ``/v1`` except the health probe."""

    def get_route_handler(self) -> Handler:
        """Serve a request after checking that it is unambiguous."""
        serve = super().get_route_handler()
        single, many = _query_names(self.dependant)
        has_json_body = self.body_field is not None

        async def handle(request: Request) -> Response:
            strict = StrictRequest(request.scope, request.receive)
            try:
                _require_single_headers(request)
                _require_declared_query(request, single=single, many=many)
            except (UnderstudyError, RequestValidationError):
                await self._require_access(request)
                raise
            if has_json_body:
                await self._require_access(request)
                await _require_json(strict)
            return await serve(strict)

        return handle

    async def _require_access(self, request: Request) -> None:
        if self.name not in OPEN:
            await authorise(request, await _credentials(request), None)


def _query_names(dependant: Dependant) -> tuple[frozenset[str], frozenset[str]]:
    single: set[str] = set()
    many: set[str] = set()
    for field in get_flat_params(dependant):
        if not isinstance(field.field_info, params.Query):
            continue
        repeats = (get_origin(field.field_info.annotation) or field.field_info.annotation) in _MANY
        (many if repeats else single).add(field.alias)
    return frozenset(single), frozenset(many)


def _require_single_headers(request: Request) -> None:
    for name in _SINGLE_HEADERS:
        if len(request.headers.getlist(name)) > 1:
            raise MalformedRequest(f"The header {name} was sent more than once.", remedy="Send it only once.")


def _require_declared_query(request: Request, *, single: frozenset[str], many: frozenset[str]) -> None:
    if not request.scope["query_string"]:
        return
    names = [name for name, _ in request.query_params.multi_items()]
    found = [("extra_forbidden", name) for name in set(names) - single - many]
    found += [("repeated", name) for name in single if names.count(name) > 1]
    if found:
        raise RequestValidationError([{"type": kind, "loc": ("query", name)} for kind, name in found])


async def _require_json(request: StrictRequest) -> None:
    sent = Message()
    sent["content-type"] = request.headers.get("content-type", "")
    is_json = "content-type" in request.headers and sent.get_content_type() == "application/json"
    if is_json and str(sent.get_param("charset", "utf-8")).casefold() in {"utf-8", "utf8"}:
        # The endpoint reports what is missing from an empty body.
        if await request.body():
            await request.json()
    elif await request.body():
        raise WrongMediaType
