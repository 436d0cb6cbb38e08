"""Error responses: RFC 9457 ``application/problem+json``.

    {"type": "urn:understudy:problem:budget-refused", "title": "...", "status": 409, "detail": "...",
     "code": "budget-refused", "remedy": "...", "facts": {...}, "request_id": "..."}

``code`` is stable and meant for programs; ``detail`` and ``remedy`` are sentences for people; ``facts`` holds public
values (budget amounts, limits, positions in the request). Responses never echo what the caller sent, and never contain
the text of a library's exception, which may quote data.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import iter_route_contexts
from obstore.exceptions import BaseError as StoreError
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException

from core.data.errors import StorageUnavailable
from core.db.errors import DatabaseBusy
from core.errors import (
    InternalError,
    InvalidInput,
    NotFound,
    TooLarge,
    TooManyRequests,
    UnderstudyError,
    Unsupported,
)
from core.logs import get_logger
from service.current_request import current_request_id, current_trail

MEDIA_TYPE = "application/problem+json"
FIRST_SERVER_ERROR = 500
MOST_NAMED = 8


class Problem(BaseModel):
    """Why a request was refused."""

    model_config = ConfigDict(extra="forbid")

    type: str = Field(description="`urn:understudy:problem:` and the code.")
    title: str = Field(description="The general kind of problem.")
    status: int = Field(description="The HTTP status.", ge=400, le=599)
    detail: str = Field(description="What is wrong, for people.")
    code: str = Field(description="What is wrong, for programs; stable.")
    remedy: str = Field(description="What the caller can do.")
    facts: dict[str, Any] = Field(description="Public facts about the problem.")
    request_id: str = Field(description="Identifies this request in the operator's log.")


class MethodNotAllowed(UnderstudyError):
    """The path exists, but not with this method."""

    code = "method-not-allowed"
    status = 405
    title = "Method not allowed"


class MalformedRequest(UnderstudyError):
    """The request could not be read as HTTP or JSON."""

    code = "malformed-request"
    status = 400
    title = "Malformed request"


class WrongMediaType(Unsupported):
    """The endpoint does not accept the media type of the request body."""

    code = "wrong-media-type"
    default_detail = "This endpoint accepts only application/json."
    default_remedy = "Send UTF-8 JSON with the header Content-Type: application/json."


class BodyTooSlow(UnderstudyError):
    """The request body did not arrive in time."""

    code = "body-too-slow"
    status = 408
    title = "Request timeout"


def document_of(error: UnderstudyError) -> dict[str, Any]:
    """The response body for an error."""
    return Problem(
        type=f"urn:understudy:problem:{error.code}",
        title=error.title,
        status=error.status,
        detail=error.detail,
        code=error.code,
        remedy=error.remedy,
        facts=json.loads(json.dumps(error.facts, default=str)),
        request_id=current_request_id(),
    ).model_dump()


def response_to(error: UnderstudyError, *, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """The response to an error, with the headers that its status requires."""
    current_trail().refusal = error
    extra = dict(headers or {})
    if error.status == HTTPStatus.UNAUTHORIZED:
        extra.setdefault("WWW-Authenticate", 'Bearer realm="understudy"')
    if isinstance(error, TooManyRequests):
        extra.setdefault("Retry-After", str(error.retry_after_seconds))
    if error.status == HTTPStatus.SERVICE_UNAVAILABLE:
        extra.setdefault("Retry-After", "2")
    return JSONResponse(document_of(error), status_code=error.status, media_type=MEDIA_TYPE, headers=extra)


def install_problems(app: FastAPI) -> None:
    """Install handlers that turn our errors and those of the framework and connection pool into problem responses."""
    app.add_exception_handler(UnderstudyError, _ours)
    app.add_exception_handler(HTTPException, _of_framework)
    app.add_exception_handler(RequestValidationError, _of_validation)
    app.add_exception_handler(PoolTimeout, _of_pool)
    app.add_exception_handler(StoreError, _of_store)


def problems(*errors: type[UnderstudyError]) -> dict[int | str, dict[str, Any]]:
    """The ``responses`` argument of a route: its problems by status, with each code as an example."""
    by_status: dict[int | str, dict[str, Any]] = {}
    for error in errors:
        entry = by_status.setdefault(
            error.status,
            {"description": "", "content": {MEDIA_TYPE: {"schema": _SCHEMA_REFERENCE, "examples": {}}}}
            | _HEADERS_OF.get(error.status, {}),
        )
        entry["content"][MEDIA_TYPE]["examples"][error.code] = {
            "summary": _first_line(error),
            "value": _example_of(error),
        }
    for entry in by_status.values():
        entry["description"] = "; ".join(f"`{code}`" for code in entry["content"][MEDIA_TYPE]["examples"])
    return by_status


_SCHEMA_REFERENCE = {"$ref": "#/components/schemas/Problem"}


def _header(name: str, description: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"headers": {name: {"description": description, "required": True, "schema": dict(schema)}}}


_RETRY_AFTER = _header("Retry-After", "Seconds to wait.", {"type": "integer", "minimum": 1})
_HEADERS_OF: Mapping[int, dict[str, Any]] = {
    401: _header("WWW-Authenticate", "The supported authentication scheme.", {"type": "string"}),
    429: _RETRY_AFTER,
    503: _RETRY_AFTER,
}


def _first_line(error: type[UnderstudyError]) -> str:
    return (error.__doc__ or error.title).strip().splitlines()[0]


def _example_of(error: type[UnderstudyError]) -> dict[str, Any]:
    return {
        "type": f"urn:understudy:problem:{error.code}",
        "title": error.title,
        "status": error.status,
        "detail": getattr(error, "default_detail", _first_line(error)),
        "code": error.code,
        "remedy": error.default_remedy,
        "facts": {},
        "request_id": "5f0c6f0e9f5d4f0bb4a1c1f0a1b2c3d4",
    }


async def _ours(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, UnderstudyError)
    request.app.state.context.recorder.refused(error)
    if error.status >= FIRST_SERVER_ERROR:
        get_logger().error("request-failed", code=error.code)
    return response_to(error)


async def _of_framework(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = ", ".join(_methods_of(request))
    known: dict[int, UnderstudyError] = {
        404: NotFound("No resource at this path.", remedy="See /v1/openapi.json for all paths."),
        405: MethodNotAllowed("This path does not support this method.", remedy="See the Allow header."),
        408: BodyTooSlow("The request body did not arrive in time.", remedy="Send the request again."),
        413: TooLarge("The request body is larger than this endpoint accepts."),
        400: MalformedRequest("The request could not be read."),
    }
    if error.status_code in known:
        return response_to(known[error.status_code], headers=headers)
    return response_to(InternalError())


def _methods_of(request: Request) -> list[str]:
    """All methods of a path. FastAPI itself lists only those of the first matching route."""
    found: set[str] = set()
    for route in iter_route_contexts(request.app.routes):
        if route.methods and route.path_regex.match(request.scope["path"]):
            found |= route.methods
    return sorted(found | ({"HEAD"} if "GET" in found else set()))


async def _of_validation(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    names = _declared_names(request.app)
    places = [
        {"where": _place(problem["loc"], names), "kind": str(problem["type"])} for problem in error.errors()
    ]
    named = ", ".join(f"{place['where']} ({place['kind']})" for place in places[:MOST_NAMED])
    return response_to(
        InvalidInput(
            f"The request does not match its schema at {named}.",
            remedy="facts.problems lists all mismatches; see /v1/openapi.json for the schema.",
            problems=places,
        )
    )


async def _of_pool(_request: Request, _error: Exception) -> JSONResponse:
    get_logger().error("request-failed", code=DatabaseBusy.code)
    return response_to(DatabaseBusy("All database connections are in use.", remedy="Try again in a moment."))


async def _of_store(_request: Request, error: Exception) -> JSONResponse:
    get_logger().error("request-failed", code=StorageUnavailable.code, exc_info=error)
    return response_to(StorageUnavailable())


def _place(location: Iterable[object], names: frozenset[str]) -> str:
    """Format a location using only schema names: an unexpected field's name is the caller's text."""
    return ".".join(str(part) if isinstance(part, int) or part in names else "?" for part in location)


def _declared_names(app: FastAPI) -> frozenset[str]:
    if not hasattr(app.state, "declared_names"):
        document = app.openapi()
        names = {"body", "query", "path", "header", "cookie"}
        for operations in document["paths"].values():
            for operation in operations.values():
                names.update(parameter["name"] for parameter in operation.get("parameters", []))
        app.state.declared_names = frozenset(names).union(*_properties(document["components"]["schemas"]))
    found: frozenset[str] = app.state.declared_names
    return found


def _properties(schema: object) -> Iterator[Iterable[str]]:
    """The member names at every depth of a schema."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict):
            yield schema["properties"]
        for part in schema.values():
            yield from _properties(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from _properties(part)
