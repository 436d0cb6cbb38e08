"""The structure of the REST API: a digest per operation and per schema, and who may call what."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import SecretStr

from core.platform.settings import Settings
from service.app import create_app
from service.auth.table import OPEN, TABLE
from tests.goldens.files import digest

_PROSE: Final = {"description", "summary", "title", "example", "examples"}
_NAMES: Final = {"properties", "patternProperties", "$defs", "headers", "responses", "content"}
"""Members whose own members are names, so that a property that is called `title` is no prose."""


def api() -> dict[str, object]:
    """Members by operation, by component and by the document's other members."""
    document = create_app(_unconnected()).openapi()
    members: dict[str, object] = {"version": document["openapi"], "security": document.get("security")}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            members[f"{method.upper()} {path} ({operation['operationId']})"] = digest(structure(operation))
    for kind, components in document["components"].items():
        for name, component in components.items():
            members[f"{kind} {name}"] = digest(structure(component))
    return members


def access() -> dict[str, object]:
    """By operation: roles, scope, reach, and whether it is sealed or needs a whole key."""
    rows = {
        name: [
            sorted(row.roles),
            None if row.scope is None else row.scope.value,
            row.reach.value,
            row.sealed,
            row.whole,
        ]
        for name, row in TABLE.items()
    }
    return rows | dict.fromkeys(OPEN, "open")


def structure(value: Any, *, names: bool = False) -> Any:
    """A part of the document without its prose; of a problem's examples the codes stay."""
    if isinstance(value, list):
        return [structure(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    kept = {
        name: structure(inner, names=not names and name in _NAMES)
        for name, inner in value.items()
        if names or name not in _PROSE
    }
    if not names and isinstance(value.get("examples"), Mapping):
        kept["codes"] = sorted(value["examples"])
    return kept


def _unconnected() -> Settings:
    # Nothing is connected to: describing the application only needs its shape.
    return Settings(
        database_url="postgresql+psycopg://nowhere/none",
        broker_url="redis://localhost:1/0",
        storage_url="memory://",
        scratch_folder=Path(),
        master_key=SecretStr("0123456789abcdef" * 4),
    )
