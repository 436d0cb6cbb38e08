"""The published JSON Schemas (draft 2020-12) of certificates and utility reports, made from their types."""

import json
from collections.abc import Mapping
from typing import Any, Final

from core.artifacts import certificate_form, selection_certificate
from core.artifacts.certificate_form import CertificateForm, Form
from core.artifacts.joint_form import JOINT_SCHEMA, JointCertificateForm
from core.artifacts.member_form import MEMBER_SCHEMA, MemberCertificateForm
from core.artifacts.private_models import certificate_form as model_form
from core.artifacts.private_models.certificate_form import (
    AveragedModelForm,
    FederatedModelForm,
    MemberModelForm,
    ModelCertificateForm,
)
from core.artifacts.reports import utility_form
from core.artifacts.reports.utility_form import UtilityReportForm
from core.artifacts.selection_certificate import SelectionCertificateForm
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


CERTIFICATE: Final = "Certificate of a differentially private release"
FORMS: Final[Mapping[str, tuple[type[Form], str, str]]] = {
    "certificate": (CertificateForm, certificate_form.SCHEMA, CERTIFICATE),
    "charged": (UtilityReportForm, utility_form.SCHEMA, "Utility report on a differentially private release"),
    "federated": (JointCertificateForm, JOINT_SCHEMA, CERTIFICATE),
    "model": (ModelCertificateForm, model_form.SCHEMA, CERTIFICATE),
    "federated-model": (FederatedModelForm, model_form.FEDERATED_SCHEMA, CERTIFICATE),
    "averaged-model": (AveragedModelForm, model_form.AVERAGED_SCHEMA, CERTIFICATE),
    "member-model": (MemberModelForm, model_form.MEMBER_SCHEMA, CERTIFICATE),
    "member": (MemberCertificateForm, MEMBER_SCHEMA, CERTIFICATE),
    "selection": (SelectionCertificateForm, selection_certificate.SCHEMA, CERTIFICATE),
}
"""The form of each kind of document, the name of its schema and the title, by the name of the file."""


def json_schema(document: str) -> dict[str, Any]:
    """The JSON Schema of a kind of document: all members except later ones are required, no others are allowed."""
    form, name, title = FORMS[document]
    head: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{name.replace('/', ':')}",
        "title": title,
    }
    return head | _strict(form.model_json_schema(by_alias=True, mode="serialization"))


def schema_text(document: str) -> str:
    """The file that is published and shipped with the client."""
    return json.dumps(json_schema(document), indent=1, sort_keys=True) + "\n"


def _strict(node: dict[str, Any]) -> dict[str, Any]:
    """The node without annotations for people, with every object strict."""
    kept: dict[str, Any] = {}
    for name, member in node.items():
        if name == "$defs":
            kept[name] = {_PUBLISHED_AS.get(key, key): _strict(value) for key, value in member.items()}
        elif name == "properties":
            kept[name] = {key: _strict(value) for key, value in member.items()}
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
    return _strict(member) if isinstance(member, dict) else member
