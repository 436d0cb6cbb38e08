"""The published JSON Schema of a certificate (draft 2020-12), made from its types."""

import json
from typing import Any, Final

from core.artifacts.certificate_form import SCHEMA, CertificateForm

_LEFT_OUT: Final = frozenset({"title", "default", "description"})
"""Annotations of every type, removed from the schema; a member may still have such a name."""

_LATER: Final = frozenset(
    {
        "critic_asks", "generator_check", "learning", "records", "reused", "anchor_screening_share",
        "column_sensitivity", "table_sensitivity", "screening_sensitivity",
    }
)  # fmt: skip
"""Members that older certificates lack: allowed but not required, and absence has one meaning."""


def json_schema(form: type[CertificateForm] = CertificateForm, *, name: str = SCHEMA) -> dict[str, Any]:
    """Return the published JSON Schema (draft 2020-12) of a form: all members except later ones are required, no others are allowed."""
    head: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{name.replace('/', ':')}",
        "title": "Certificate of a differentially private release",
    }
    return head | strict_object(form.model_json_schema(by_alias=True))


def schema_text(form: type[CertificateForm] = CertificateForm, *, name: str = SCHEMA) -> str:
    """Return the file that is published and shipped with the client."""
    return json.dumps(json_schema(form, name=name), indent=1, sort_keys=True) + "\n"


def strict_object(node: dict[str, Any]) -> dict[str, Any]:
    """The node without annotations for people, with every object strict."""
    kept: dict[str, Any] = {}
    for name, member in node.items():
        if name in {"properties", "$defs"}:
            kept[name] = {key: strict_object(value) for key, value in member.items()}
        elif name not in _LEFT_OUT:
            kept[name] = _value(member)
    if "properties" in kept:
        kept |= {"required": sorted(set(kept["properties"]) - _LATER), "additionalProperties": False}
    return kept


def _value(member: object) -> object:
    if isinstance(member, list):
        return [_value(entry) for entry in member]
    return strict_object(member) if isinstance(member, dict) else member
