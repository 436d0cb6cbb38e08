"""Options and candidates of an order form: ``KEY=VALUE``, with the option names of the command.

A value is parsed as a number or boolean if possible, else kept as text. The order model validates the options and their combinations.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel

from core.plan.options import ABLATIONS, IdpganRequest
from core.plan.private_models.options import ModelRequest
from core.plan.spec import PROFILES
from service.dashboard.errors import FormInvalid
from service.dashboard.forms import Form
from service.edge.json_body import read_json
from service.planning.orders import SelectionOrder
from service.problem import MalformedRequest

JsonScalar = bool | int | float | str

BY_RULES: Final = "rules"
AUTO: Final = "auto"
_NEXT: Final = re.compile(r",(?=[A-Za-z_]+=)")
_SYNTHESIZER: Final = "synthesizer"


def options_of(form: Form) -> dict[str, Any]:
    """Parse options, one per line, and the profile, which is an option too unless it is "auto".

    Raises:
        FormInvalid: A line is not ``KEY=VALUE``, or an option occurs twice.
    """
    lines = [line for line in (form.text("options") or "").splitlines() if line.strip()]
    if (profile := form.text("profile") or AUTO) != AUTO:
        lines.append(f"profile={profile}")
    return _settings("options", lines)


def selection_of(form: Form) -> dict[str, Any] | None:
    """Parse a selection among candidates; None if a single generator is ordered.

    Raises:
        FormInvalid: The selection is incomplete, or a candidate is invalid.
    """
    lines = [line.strip() for line in (form.text("candidates") or "").splitlines() if line.strip()]
    epsilon, choice = form.number("selection_epsilon"), form.number("choice_epsilon")
    if not lines and epsilon is None and choice is None:
        return None
    if not lines or epsilon is None or choice is None:
        raise FormInvalid(
            "A selection needs its candidates and both epsilons.",
            remedy="Fill in all three fields, or leave all three empty to order a single generator.",
        )
    return {"candidates": [_candidate(line) for line in lines], "epsilon": epsilon, "choice_epsilon": choice}


def known_options() -> Sequence[tuple[str, str]]:
    """All options of a generator with their allowed values, for reference."""
    named = (("ablation", ABLATIONS), ("profile", PROFILES))
    return [*((name, " or ".join(sorted(values))) for name, values in named), *_options(IdpganRequest)]


def known_model_options() -> Sequence[tuple[str, str]]:
    """All options of a private model with their allowed values."""
    return _options(ModelRequest)


def _options(request: type[BaseModel]) -> list[tuple[str, str]]:
    properties = request.model_json_schema()["properties"]
    return [
        (name, " or ".join(filter(None, map(_may_be, schema.get("anyOf", [schema])))))
        for name, schema in sorted(properties.items())
    ]


def written(order_selection: SelectionOrder) -> Sequence[str]:
    """A description of each candidate of an order."""
    return [
        ", ".join(f"{name} {value}" for name, value in candidate.options.items()) or "defaults"
        for candidate in order_selection.candidates
    ]


def _candidate(line: str) -> dict[str, Any]:
    if line == BY_RULES:
        return {"options": {}}
    options = _settings("candidates", _NEXT.split(line))
    named = {_SYNTHESIZER: options.pop(_SYNTHESIZER)} if _SYNTHESIZER in options else {}
    return named | {"options": options}


def _settings(field: str, words: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for word in words:
        name, sign, text = (part.strip() for part in word.partition("="))
        if not (sign and name.isidentifier()) or name in found:
            raise FormInvalid(
                f"The field “{field}” contains an entry that is not KEY=VALUE, or a repeated key.",
                remedy="Enter one setting, such as steps=1000, per option.",
            )
        found[name] = _value(text)
    return found


def _value(text: str) -> JsonScalar:
    try:
        found = read_json(text.encode())
    except (MalformedRequest, RequestValidationError):
        return text
    return found if isinstance(found, bool | int | float) else text


def _may_be(schema: Mapping[str, Any]) -> str:
    if "enum" in schema or "const" in schema:
        return " or ".join(str(value) for value in schema.get("enum", [schema.get("const")]))
    kind = {"integer": "a whole number", "number": "a number", "boolean": "true or false"}.get(
        schema.get("type", ""), ""
    )
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    return f"{kind} from {low:g} to {high:g}" if kind and low is not None and high is not None else kind
