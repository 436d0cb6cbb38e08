"""The reference pages, written from the code alone: API, commands, settings, error codes, metrics and JSON Schemas.

They are not in the repository. Building the site makes them (`docs.reference_hook`).
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from types import NoneType
from typing import Any, Final, Literal, get_args, get_origin

import click
import typer.main
from pydantic import SecretStr

import core
import service
import workers
from core.errors import UnderstudyError
from core.jobs.states import OWNER_WITHDREW, PLAN_ALTERED, TRAINING_FAILED
from core.platform.settings import Settings
from docs.document_schemas import FORMS, schema_text
from docs.metrics_page import metrics_page
from docs.openapi_page import openapi_text, operations_page
from service.app import create_app
from understudy.cli import app as command
from workers.child import MACHINERY_FAILED, REUSED_COUNTS_MISSING

# What `failure` of a failed job can say, from core.jobs.states and workers.child.
_JOB_FAILURES = f"""## Failure codes of jobs

| code | charged | when |
|---|---|---|
| `{TRAINING_FAILED}` | in full | every failure that could depend on rows, whichever it was; also when every attempt's worker fell silent |
| `{MACHINERY_FAILED}` | the steps begun | the database, the object store or the machine failed at the last attempt |
| `{REUSED_COUNTS_MISSING}` | nothing, if no row was read | the plan takes over the counts of a release whose bundle is gone or changed; order again |
| `{OWNER_WITHDREW}` | nothing, in no ledger | an owner of a job over several datasets froze its ledger or revoked its grant before the job was claimed; order again without it |
| `{PLAN_ALTERED}` | nothing, if unclaimed | the stored plan is not the one that was reserved; it was never run |
"""
_KINDS = {
    "str": "text",
    "SecretStr": "secret",
    "Path": "path",
    "int": "whole number",
    "float": "number",
    "bool": "`true` or `false`",
}
# Nothing is connected to: describing the application only needs its shape.
_UNCONNECTED = Settings(
    database_url="postgresql+psycopg://nowhere/none",
    broker_url="redis://localhost:1/0",
    storage_url="memory://",
    scratch_folder=Path(),
    master_key=SecretStr("0123456789abcdef" * 4),
)


def settings_page() -> str:
    """Every ``UNDERSTUDY_*`` variable of the server roles."""
    rows = ["| variable | type | default | meaning |", "|---|---|---|---|"]
    for name, field in Settings.model_fields.items():
        default = "(required)" if field.is_required() else f"`{field.default}`"
        rows.append(
            f"| `UNDERSTUDY_{name.upper()}` | {_kind(field.annotation)} | {default} | {field.description} |"
        )
    return "# Settings\n\n" + "\n".join(rows) + "\n"


def _kind(annotation: Any) -> str:  # noqa: ANN401 - any type
    """A type in a reader's words."""
    if get_origin(annotation) is Literal:
        return " or ".join(f"`{word}`" for word in get_args(annotation))
    if isinstance(annotation, type):
        return _KINDS.get(annotation.__name__, annotation.__name__)
    return " or ".join(_kind(part) for part in get_args(annotation) if part is not NoneType) or str(
        annotation
    )


def errors_page() -> str:
    """Every stable error code."""
    rows = ["| code | status | title | when |", "|---|---|---|---|"]
    for error in sorted(_error_classes(), key=lambda error: (error.status, error.code)):
        when = (error.__doc__ or "").strip().splitlines()[0]
        rows.append(f"| `{error.code}` | {error.status} | {error.title} | {when} |")
    return (
        "# Error codes\n\nEvery error is `application/problem+json` with `type`, `title`, `status`, `detail`, `code` and "
        "`remedy`. Codes are stable; texts may change.\n\n" + "\n".join(rows) + "\n\n" + _JOB_FAILURES
    )


def commands_page() -> str:
    """Every command with its help text."""
    group = typer.main.get_command(command)
    parts = ["# Commands\n"]
    for words, member in _commands(group, ("understudy",)):
        parts.append(f"## `{' '.join(words)}`\n\n{(member.help or '').strip()}\n")
        rows = [
            f"| `{' / '.join(parameter.opts)}` | {_help_of(parameter)} |"
            for parameter in member.params
            if "--help" not in parameter.opts
        ]
        if rows:
            parts.append("| argument | meaning |\n|---|---|\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def api_page() -> str:
    """Every endpoint with its summary and who may call it."""
    document = openapi()
    rows = ["| method | path | summary | answers |", "|---|---|---|---|"]
    for path, methods in sorted(document["paths"].items()):
        for method, operation in methods.items():
            answers = ", ".join(sorted(operation["responses"]))
            rows.append(f"| {method.upper()} | `{path}` | {operation.get('summary', '')} | {answers} |")
    return (
        "# HTTP API\n\nThe full description is served at `/v1/openapi.json`, published as [openapi.json](openapi.json), and made "
        "readable on [a page of its own](operations.md). Every call but the health check sends "
        "`Authorization: Bearer us_...`.\n\n" + "\n".join(rows) + "\n"
    )


@cache
def openapi() -> dict[str, Any]:
    """The OpenAPI document of the service."""
    return create_app(_UNCONNECTED).openapi()


REFERENCE: Final[Mapping[str, Callable[[], str]]] = {
    "api.md": api_page,
    "operations.md": lambda: operations_page(openapi()),
    "commands.md": commands_page,
    "settings.md": settings_page,
    "errors.md": errors_page,
    "metrics.md": metrics_page,
    "openapi.json": lambda: openapi_text(openapi()),
    **{f"{document}.schema.json": partial(schema_text, document) for document in FORMS},
}
"""Every file of the site's folder `reference`, and what writes it."""


def _error_classes() -> set[type[UnderstudyError]]:
    for package in (core, service, workers):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module.name.rsplit(".", 1)[-1] == "errors":
                importlib.import_module(module.name)
    found: set[type[UnderstudyError]] = set()
    waiting = [UnderstudyError]
    while waiting:
        children = waiting.pop().__subclasses__()
        found.update(children)
        waiting.extend(children)
    # Tests declare errors of their own; the page speaks of the product's.
    ours = {core.__name__, service.__name__, workers.__name__}
    return {error for error in found if error.__module__.partition(".")[0] in ours}


def _commands(
    group: click.Command, words: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    # By shape, not by class: typer brings a click of its own.
    members: dict[str, click.Command] = getattr(group, "commands", {})
    if not members:
        yield words, group
    for name, member in sorted(members.items()):
        yield from _commands(member, (*words, name))


def _help_of(parameter: click.Parameter) -> str:
    return str(getattr(parameter, "help", None) or "").replace("|", "\\|").replace("\n", " ")
