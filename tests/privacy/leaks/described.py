"""The fields that the OpenAPI document describes for the answers of each operation."""

from collections.abc import Iterator, Mapping
from typing import Any

from fastapi import FastAPI

from core.platform.access.roles import Role
from service.auth.table import TABLE
from tests.service.matrix import operations

SUCCESS = ("200", "201", "202")


def described(app: FastAPI) -> dict[str, set[str]]:
    """Operation by operation, the paths of all fields of its success; none where it is no JSON, or for the owner alone."""
    document = app.openapi()
    found: dict[str, set[str]] = {}
    for entry in operations(app):
        answers = document["paths"][entry.path][entry.method.lower()]["responses"]
        schemas = [
            answers[status].get("content", {}).get("application/json", {}).get("schema", {})
            for status in SUCCESS
            if status in answers
        ]
        told = {path for schema in schemas for path in _paths(schema, document, "")}
        found[entry.name] = set() if is_for_the_owner(entry.name) else told
    return found


def is_for_the_owner(operation: str) -> bool:
    """Whether the table of access lets nobody else in; that they are refused is tested elsewhere."""
    access = TABLE.get(operation)
    return access is not None and access.roles == {Role.OWNER} and operation != "create_dataset"


def _paths(schema: Mapping[str, Any], document: Mapping[str, Any], path: str) -> Iterator[str]:
    """Leaves of a schema, but for what is free-form."""
    if "$ref" in schema:
        *_, name = schema["$ref"].split("/")
        schema = document["components"]["schemas"][name]
    for choice in schema.get("anyOf", ()):
        if choice.get("type") != "null":
            yield from _paths(choice, document, path)
    if "properties" in schema:
        for name, inner in schema["properties"].items():
            yield from _paths(inner, document, f"{path}.{name}" if path else name)
    elif "items" in schema:
        yield from _paths(schema["items"], document, f"{path}[]")
    elif "additionalProperties" in schema:
        return  # what it holds is judged by real answers
    elif path and "anyOf" not in schema:
        yield path
