"""Numbers nobody should send, and every place of the API that takes a number."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

HOSTILE = {
    "nan": "NaN",
    "infinity": "Infinity",
    "minus-infinity": "-Infinity",
    "minus-one": "-1",
    "zero": "0",
    "minus-zero": "-0.0",
    "subnormal": "5e-324",
    "underflow": "1e-400",
    "huge": "1e308",
    "minus-huge": "-1e308",
    "overflow": "1e400",
    "minus-overflow": "-1e400",
    "past-64-bits": "9223372036854775808",
    "below-64-bits": "-9223372036854775809",
    "four-hundred-digits": "1" + "0" * 400,
    "five-thousand-digits": "-1" + "0" * 5000,
    "fraction": "1.5",
    "true": "true",
    "false": "false",
    "text": '"1"',
    "text-nan": '"NaN"',
    "list": "[1]",
}
"""JSON texts, by what they are called in a test's report."""

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Field:
    """A place that takes a number.

    Args:
        path: Where it is, below the body.
        schema: What the document says about it; None where it says nothing.
    """

    path: Path
    schema: Mapping[str, Any] | None

    @property
    def name(self) -> str:
        return str(next(part for part in reversed(self.path) if isinstance(part, str)))


def fields_of_schema(
    schema: Mapping[str, Any],
    schemas: Mapping[str, Any],
    path: Path = (),
    inherited: Mapping[str, Any] | None = None,
) -> Iterator[Field]:
    """Every place of a JSON schema that takes a number, at any depth."""
    if "$ref" in schema:
        yield from fields_of_schema(schemas[schema["$ref"].rsplit("/", 1)[1]], schemas, path, inherited)
    whole = inherited or schema
    kinds = schema.get("type", ())
    if {"number", "integer"} & ({kinds} if isinstance(kinds, str) else set(kinds)):
        yield Field(path, whole)
    for part in [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]:
        yield from fields_of_schema(part, schemas, path, whole)
    for name, part in schema.get("properties", {}).items():
        yield from fields_of_schema(part, schemas, (*path, name))
    for index, part in enumerate([schema["items"]] if isinstance(schema.get("items"), dict) else []):
        yield from fields_of_schema(part, schemas, (*path, index))


def fields_of_example(document: object, path: Path = ()) -> Iterator[Field]:
    """Every place of a document that holds a number now."""
    if isinstance(document, dict):
        for name, value in document.items():
            yield from fields_of_example(value, (*path, name))
    elif isinstance(document, list | tuple):
        for index, value in enumerate(document):
            yield from fields_of_example(value, (*path, index))
    elif isinstance(document, int | float) and not isinstance(document, bool):
        yield Field(path, None)


def with_text(body: object, path: Path, text: str) -> bytes:
    """The JSON of a body with this text at one place; objects on the way there are made."""
    mark = "a place for a number"
    return json.dumps(_set(body, path, mark)).replace(json.dumps(mark), text).encode()


def _set(document: Any, path: Path, value: object) -> Any:
    if not path:
        return value
    first, rest = path[0], path[1:]
    if isinstance(first, int):
        old: Sequence[Any] = document if isinstance(document, list | tuple) else ()
        new = list(old) if len(old) > first else [*old, None]
        new[first] = _set(new[first], rest, value)
        return new
    members = dict(document or {})
    members[first] = _set(members.get(first), rest, value)
    return members


def value_of(text: str) -> Any:
    """What a text means to whoever reads JSON without limits."""
    return json.loads(text, parse_int=lambda digits: int(digits) if len(digits) < 4000 else -math.inf)


def is_finite_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
