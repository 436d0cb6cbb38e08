"""Additions to FastAPI's OpenAPI document: the problem schema, required headers, event streams."""

from collections.abc import Sequence
from typing import Any

from fastapi.openapi.utils import get_openapi
from starlette.routing import BaseRoute

from core.errors import TooLarge
from service.idempotency import IdempotencyKeyMissing
from service.problem import BodyTooSlow, MalformedRequest, Problem, WrongMediaType, problems

_OF_BODIES = problems(MalformedRequest, BodyTooSlow, TooLarge, WrongMediaType)
_OF_ALL = problems(MalformedRequest)


def document_of(routes: Sequence[BaseRoute], *, title: str, version: str, description: str) -> dict[str, Any]:
    """Return the OpenAPI document. Routes refer to the problem schema by name."""
    document: dict[str, Any] = get_openapi(
        title=title, version=version, description=description, routes=routes
    )
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    schemas["Problem"] = Problem.model_json_schema()
    # The framework's own 422 schema is never sent.
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    for operations in document["paths"].values():
        for operation in operations.values():
            _complete(operation)
    return document


def _complete(operation: dict[str, Any]) -> None:
    responses = operation["responses"]
    if "422" in responses:
        takes_json = "application/json" in operation.get("requestBody", {}).get("content", {})
        for status, response in (_OF_BODIES if takes_json else _OF_ALL).items():
            responses.setdefault(str(status), response)
    for parameter in operation.get("parameters", ()):
        # A missing header is refused with its own error code, so the framework sees it as optional.
        if parameter["name"] == "Idempotency-Key" and _answers_with(operation, IdempotencyKeyMissing.code):
            parameter["required"] = True
    for response in responses.values():
        # The framework describes the event stream as a string; OpenAPI has no schema for it.
        response.get("content", {}).get("text/event-stream", {}).pop("schema", None)


def _answers_with(operation: dict[str, Any], code: str) -> bool:
    return any(
        code in content.get("examples", {})
        for response in operation["responses"].values()
        for content in response.get("content", {}).values()
    )
