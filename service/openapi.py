"""What FastAPI cannot say by itself in the OpenAPI document: the shape of problems, and what happens to bodies."""

from typing import Any

from fastapi import FastAPI

from core.errors import TooLarge
from service.problem import BodyTooSlow, MalformedRequest, Problem, WrongMediaType, problems

_OF_BODIES = problems(MalformedRequest, BodyTooSlow, TooLarge, WrongMediaType)


def complete_document(app: FastAPI) -> None:
    """Extend the document of an application; its routes refer to the shape of problems by name."""
    plain = app.openapi

    def completed() -> dict[str, Any]:
        document = plain()
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        schemas.setdefault("Problem", Problem.model_json_schema())
        # The framework's own shape of a 422 is never sent.
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        for operations in document["paths"].values():
            for operation in operations.values():
                if "application/json" in operation.get("requestBody", {}).get("content", {}):
                    for status, response in _OF_BODIES.items():
                        operation["responses"].setdefault(str(status), response)
        return document

    app.openapi = completed  # type: ignore[method-assign]  # FastAPI's documented way to extend it
