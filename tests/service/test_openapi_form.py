"""The form of the API is a contract: what a request takes and an answer holds changes on purpose only.

`openapi_form.txt` has a line for each operation and each schema, with a digest of everything but the prose. After a change that
is meant, `python -m tests.service.test_openapi_form` writes it anew; the site publishes the whole document.
"""

import copy
import hashlib
import json
from pathlib import Path
from typing import Any

from docs.reference import openapi

GOLDEN = Path(__file__).parent / "openapi_form.txt"
PROSE = ("description", "summary", "title")


def without_prose(value: Any) -> Any:
    if isinstance(value, list):
        return [without_prose(each) for each in value]
    if not isinstance(value, dict):
        return value
    # A member that happens to be called `title` has a schema, prose is a string.
    return {
        name: without_prose(each)
        for name, each in value.items()
        if not (name in PROSE and isinstance(each, str))
    }


def form_of(document: dict[str, Any]) -> list[str]:
    """A line for each part of an OpenAPI document: what it is and a digest of its form."""
    parts = {
        f"{method.upper()} {path}": operation
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }
    for kind, members in document["components"].items():
        parts |= {f"{kind} {name}": member for name, member in members.items()}
    parts |= {name: document[name] for name in document.keys() - {"paths", "components", "info"}}
    return [f"{name} {_digest(part)}" for name, part in sorted(parts.items())]


def _digest(part: Any) -> str:
    text = json.dumps(without_prose(part), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def test_the_form_of_the_api_is_as_it_was() -> None:
    kept, now = GOLDEN.read_text().splitlines(), form_of(openapi())
    assert sorted(set(now) ^ set(kept)) == [], (
        "a change of the API; if it is meant, see the head of this file"
    )
    assert now == kept


def test_a_changed_type_is_seen_and_changed_prose_is_not() -> None:
    before = form_of(openapi())
    for name, value, changed in (("title", "Words", 0), ("description", "Words.", 0), ("type", "null", 1)):
        document = copy.deepcopy(openapi())
        document["components"]["schemas"]["Problem"]["properties"]["detail"][name] = value
        assert len(set(form_of(document)) - set(before)) == changed, name


if __name__ == "__main__":
    GOLDEN.write_text("\n".join(form_of(openapi())) + "\n")
