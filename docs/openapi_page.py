"""The OpenAPI document as a file for programs, and as a page that is read without any viewer.

The page says for every operation who may call it, what goes in and what comes out; the document says the same to programs, with
every schema and an example of every refusal.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from service.auth.table import TABLE, Reach

Json = dict[str, Any]
_NOBODY_COUNTS_SO_FAR = 2**53
_REACH = {
    Reach.NONE: "",
    Reach.SEEN: "on datasets that the caller sees",
    Reach.OWNED: "on the caller's own datasets",
    Reach.MINE: "done by its author or an admin",
    Reach.GOVERNED: "on datasets that the caller owns, all for an admin",
    Reach.FILED: "own requests and those on own datasets, all for admins and auditors",
    Reach.KEY: "the key that is presented",
    Reach.HELD: "own ones, any for an admin",
    Reach.ANY: "",
    Reach.SELF: "what belongs to the caller's own principal",
}


def openapi_text(document: Json) -> str:
    """The document as it is published, a line for each member, so that a change is seen as what it is."""
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def operations_page(document: Json) -> str:
    """Every operation with who may call it, what it takes and what it answers.

    Args:
        document: the OpenAPI document of the application.
    """
    by_noun: dict[str, list[str]] = defaultdict(list)
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            noun = operation.get("tags", ["other"])[0]
            by_noun[noun].append("\n".join(_operation(document, method.upper(), path, operation)))
    parts = [
        "# Operations of the API\n",
        (
            "What [openapi.json](openapi.json) says to programs (the service serves its own at `/v1/openapi.json`), for people. "
            "Refusals are `application/problem+json`; [error codes](errors.md) says when each is given. An object out of reach "
            "answers 404, as if it did not exist.\n"
        ),
    ]
    for noun, operations in sorted(by_noun.items()):
        parts.append(f"## {noun.capitalize()}\n")
        parts += operations
    parts.append("## Bodies\n")
    for name, schema in sorted(document["components"]["schemas"].items()):
        if "properties" in schema or "enum" in schema:
            parts.append("\n".join(_schema(name, schema)))
    return "\n".join(parts)


def _operation(document: Json, method: str, path: str, operation: Json) -> Iterator[str]:
    yield f"### {operation.get('summary', operation['operationId'])}\n"
    yield f"`{method} {path}`\n"
    yield f"{_words(operation.get('description', ''))}\n"
    access = TABLE.get(_function(operation, method, path))
    if access is not None:
        who = ", ".join(sorted(role.value for role in access.roles))
        scope = f"scope `{access.scope.value}`" if access.scope is not None else "any scope"
        if access.whole:
            scope = "no narrowed key"
        held = "not while a recovery is held" if access.sealed else ""
        yield f"*Who*: {'; '.join(filter(None, (who, scope, _REACH[access.reach], held)))}.\n"
    taken = [*_parameters(operation), *_request(operation)]
    if taken:
        yield "| takes | where | type | meaning |\n|---|---|---|---|"
        yield "\n".join(taken) + "\n"
    yield "| answers | |\n|---|---|"
    for status, answer in sorted(operation["responses"].items()):
        yield f"| {status} | {_answer(document, answer)} |"
    yield ""


def _function(operation: Json, method: str, path: str) -> str:
    """The name of the endpoint's function, by which the table of rights knows it: FastAPI appends path and method."""
    tail = re.sub(r"\W", "_", path) + "_" + method.lower()
    return str(operation["operationId"]).removesuffix(tail)


def _parameters(operation: Json) -> Iterator[str]:
    for parameter in operation.get("parameters", []):
        name = f"`{parameter['name']}`" + ("" if parameter.get("required") else " (optional)")
        meaning = parameter.get("description") or parameter["schema"].get("description", "")
        yield f"| {name} | {parameter['in']} | {_type(parameter['schema'])} | {_cell(meaning)} |"


def _request(operation: Json) -> Iterator[str]:
    for kind, body in operation.get("requestBody", {}).get("content", {}).items():
        yield f"| body | `{kind}` | {_type(body.get('schema', {}))} | |"


def _answer(document: Json, answer: Json) -> str:
    if "$ref" in answer:
        answer = document["components"]["responses"][answer["$ref"].rsplit("/", 1)[1]]
    types = {_type(body.get("schema", {})) for body in answer.get("content", {}).values()}
    refusal = "[Problem](#problem)"
    if types == {refusal}:
        return _cell(answer["description"])
    said = "" if answer["description"] == "Successful Response" else _cell(answer["description"])
    return " ".join([said, *sorted(types - {""})]).strip() or "no body"


def _schema(name: str, schema: Json) -> Iterator[str]:
    yield f"### {name}\n"
    if schema.get("description"):
        yield f"{_words(schema['description'])}\n"
    if "enum" in schema:
        yield "One of " + ", ".join(f"`{value}`" for value in schema["enum"]) + ".\n"
    if "properties" in schema:
        yield "| member | type | meaning |\n|---|---|---|"
        required = set(schema.get("required", []))
        for member, described in schema["properties"].items():
            optional = "" if member in required else " (optional)"
            yield f"| `{member}`{optional} | {_type(described)} | {_cell(described.get('description', ''))} |"
        yield ""


def _type(schema: Json) -> str:
    """A schema in a few words, with links to the bodies on the same page."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return name if name == "JsonValue" else f"[{name}](#{name.lower()})"
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(_type(one) for one in schema[several]))
    if "const" in schema:
        return f"`{schema['const']}`"
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {})) or 'anything'}"
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    kind = str(schema.get("format") or schema.get("type", ""))
    return kind + _bounds(schema)


def _bounds(schema: Json) -> str:
    found = [
        f"{words} {schema[name]:,}"
        for name, words in (
            ("minimum", "at least"),
            ("exclusiveMinimum", "above"),
            ("maximum", "at most"),
            ("exclusiveMaximum", "below"),
        )
        if name in schema and abs(schema[name]) < _NOBODY_COUNTS_SO_FAR
    ]
    return f", {', '.join(found)}" if found else ""


def _words(text: str) -> str:
    """A docstring as Markdown: its ``literals`` as ours."""
    return text.strip().replace("``", "`")


def _cell(text: str) -> str:
    return " ".join(_words(str(text)).split()).replace("|", "\\|")
