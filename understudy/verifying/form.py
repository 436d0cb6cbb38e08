"""Validate a document against the shipped JSON Schema, for the few keywords that the schema uses."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from understudy.verifying.local_form import local_schema

_KINDS: Final[Mapping[str, Callable[[object], bool]]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
}
_BOUNDS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "minimum": lambda value, bound: value >= bound,
    "maximum": lambda value, bound: value <= bound,
    "exclusiveMinimum": lambda value, bound: value > bound,
    "exclusiveMaximum": lambda value, bound: value < bound,
    "minLength": lambda value, bound: len(value) >= bound,
    "maxLength": lambda value, bound: len(value) <= bound,
    "minItems": lambda value, bound: len(value) >= bound,
    "maxItems": lambda value, bound: len(value) <= bound,
    # Fullmatch, because a dollar sign also matches before a final line break.
    "pattern": lambda value, bound: re.fullmatch(bound, value) is not None,
    "enum": lambda value, bound: value in bound,
}
_ELSEWHERE: Final = frozenset({
    "$schema", "$id", "$defs", "$ref", "title", "type", "const", "anyOf", "properties", "required",
    "additionalProperties", "items",
})  # fmt: skip


@cache
def schema(kind: str = "certificate") -> Mapping[str, Any]:
    """The JSON Schema of one kind of certificate, as shipped with this client; `kind` is the stem of a schema file, or "local" or "local-model"."""
    loaded: Mapping[str, Any]
    if kind in {"local", "local-model"}:
        loaded = local_schema(schema("certificate" if kind == "local" else "model"))
    else:
        loaded = json.loads(files(__package__).joinpath(f"{kind}.schema.json").read_text("utf-8"))
    _require_known_words(loaded)
    return loaded


def _require_known_words(rule: Mapping[str, Any]) -> None:
    assert rule.keys() <= _ELSEWHERE | _BOUNDS.keys(), "a keyword of the schema that is not checked"
    inner = (*rule.get("$defs", {}).values(), *rule.get("properties", {}).values(), *rule.get("anyOf", ()))
    for each in (*inner, *([rule["items"]] if "items" in rule else ())):
        _require_known_words(each)


def problems(document: object, *, kind: str = "certificate") -> Iterator[str]:
    """Yield the places where a certificate violates its schema."""
    yield from _problems(document, schema(kind), "", schema(kind)["$defs"])


def _problems(
    value: object, rule: Mapping[str, Any], place: str, forms: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    if "$ref" in rule:
        yield from _problems(value, forms[rule["$ref"].removeprefix("#/$defs/")], place, forms)
    elif "anyOf" in rule:
        fewest: list[str] = []
        for choice in rule["anyOf"]:
            found = list(_problems(value, choice, place, forms))
            if not found:
                return
            if not fewest or len(found) < len(fewest):
                fewest = found
        yield fewest[0]
    else:
        yield from _of_value(value, rule, place, forms)


def _of_value(
    value: object, rule: Mapping[str, Any], place: str, forms: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    here = place or "the certificate"
    if "type" in rule and not _KINDS[rule["type"]](value):
        yield f"{here} is no {rule['type']}"
        return
    if "const" in rule and (type(value) is not type(rule["const"]) or value != rule["const"]):
        yield f"{here} is not what every certificate of this version says"
        return
    crossed = [word for word in rule if word in _BOUNDS and not _BOUNDS[word](value, rule[word])]
    if crossed:
        yield f"{here} is not within the schema ({next(filter(crossed.__contains__, _BOUNDS))})"
    elif isinstance(value, dict):
        yield from _of_members(value, rule, place, forms)
    elif isinstance(value, list) and "items" in rule:
        for index, entry in enumerate(value):
            yield from _problems(entry, rule["items"], f"{place}/{index}", forms)


def _of_members(
    value: Mapping[str, object], rule: Mapping[str, Any], place: str, forms: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    known = rule["properties"]
    for name in sorted(set(rule["required"]) - value.keys()):
        yield f"{place}/{name} is missing"
    for name in sorted(value.keys() - known.keys()):
        yield f"{place}/{name} is not part of a certificate"
    for name in sorted(known.keys() & value.keys()):
        yield from _problems(value[name], known[name], f"{place}/{name}", forms)
