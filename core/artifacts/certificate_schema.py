"""The published JSON Schema of a certificate (draft 2020-12), made from its types."""

import json
from typing import Any, Final

from core.artifacts.certificate_form import SCHEMA, CertificateForm, Form
from core.values import ADDED_LATER

_LEFT_OUT: Final = frozenset({"title", "default", "description", "readOnly"})
"""Annotations of every type, removed from the schema; a member may still have such a name."""


_PUBLISHED_AS: Final = {
    "ActsPlan": "ActsForm", "AnchorPlan": "AnchorForm", "Charge": "ChargeForm", "DiscreteGaussian": "DiscreteGaussianForm",
    "Epsilons": "Epsilon", "Executed": "Releases", "Gaussian": "GaussianForm", "GeneratorCheck": "GeneratorCheckForm",
    "ImageAnchorPlan": "ImageAnchorForm", "JointPlan": "JointPlanForm", "LabelPlan": "LabelForm", "LearningPlan": "LearningForm",
    "LearningRelease": "LearningReleaseForm", "MarginalsPlan": "MarginalsForm", "NoiseBlock": "BlockForm", "Plan": "PlanForm",
    "PoissonSampled": "PoissonSampledForm", "PrivacyGuarantee": "Parameters", "PrivacyUnit": "UnitColumn",
    "MemberPlan": "MemberPlanForm", "ReportPlan": "ReportPlanForm", "ReusedCounts": "ReusedForm", "ReusedTables": "ReusedTablesForm",
    "SelectionPlan": "SelectionPlanForm", "ModelPlan": "ModelPlanForm", "Threshold": "ThresholdForm",
}  # fmt: skip
"""Names of definitions, by class: the published schemas are older than some names of classes."""
_DEFINITIONS: Final = "#/$defs/"


def json_schema(form: type[Form] = CertificateForm, *, name: str = SCHEMA) -> dict[str, Any]:
    """Return the published JSON Schema (draft 2020-12) of a form: all members except later ones are required, no others are allowed."""
    head: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{name.replace('/', ':')}",
        "title": "Certificate of a differentially private release",
    }
    return head | strict_object(form.model_json_schema(by_alias=True, mode="serialization"))


def schema_text(form: type[Form] = CertificateForm, *, name: str = SCHEMA) -> str:
    """Return the file that is published and shipped with the client."""
    return json.dumps(json_schema(form, name=name), indent=1, sort_keys=True) + "\n"


def strict_object(node: dict[str, Any]) -> dict[str, Any]:
    """The node without annotations for people, with every object strict."""
    kept: dict[str, Any] = {}
    for name, member in node.items():
        if name == "$defs":
            kept[name] = {_PUBLISHED_AS.get(key, key): strict_object(value) for key, value in member.items()}
        elif name == "properties":
            kept[name] = {key: strict_object(value) for key, value in member.items()}
        elif name == "$ref":
            key = member.removeprefix(_DEFINITIONS)
            kept[name] = _DEFINITIONS + _PUBLISHED_AS.get(key, key)
        elif name not in _LEFT_OUT:
            kept[name] = _value(member)
    if "properties" in kept:
        kept |= {"required": sorted(set(kept["properties"]) - ADDED_LATER), "additionalProperties": False}
    return kept


def _value(member: object) -> object:
    if isinstance(member, list):
        return [_value(entry) for entry in member]
    return strict_object(member) if isinstance(member, dict) else member
