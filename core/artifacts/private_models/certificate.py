"""The certificate of a private model: what was promised, what ran, what it cost, and the accuracy if it was measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from core.artifacts import statements as say
from core.artifacts.certificate import form_of, row
from core.artifacts.errors import InvalidCertificate
from core.artifacts.owners_ledgers import Place, ledgers_of
from core.artifacts.private_models.certificate_form import (
    AVERAGED_SCHEMA,
    FEDERATED_SCHEMA,
    MEMBER_SCHEMA,
    SCHEMA,
    AveragedModelForm,
    FederatedModelForm,
    MemberModelForm,
    ModelCertificateForm,
)
from core.artifacts.private_models.constancy_check import MEMBER, ModelCheck
from core.artifacts.private_models.execution import ModelExecuted
from core.artifacts.signing.contexts import CERTIFICATE
from core.artifacts.signing.signed import SignedDocument, Signer
from core.dp import mechanism as mechanisms
from core.dp.charge import charge_of
from core.plan.domain.images import ImageDomain
from core.plan.domain.table import TableDomain
from core.plan.private_models.plan import ModelPlan

_DEVIATIONS_95: Final = 1.96
_SHADES: Final = 256
"""Number of values of one channel of a pixel."""
_FORMS: Final[Mapping[str, type[ModelCertificateForm]]] = {
    FEDERATED_SCHEMA: FederatedModelForm,
    AVERAGED_SCHEMA: AveragedModelForm,
    MEMBER_SCHEMA: MemberModelForm,
}
_WITHIN: Final = {
    SCHEMA: say.MODEL_WITHIN,
    FEDERATED_SCHEMA: say.FEDERATED_WITHIN,
    AVERAGED_SCHEMA: say.AVERAGED_WITHIN,
    MEMBER_SCHEMA: say.MEMBER_WITHIN,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """Releases of a training beside the weights.

    Attributes:
        noisy_wrong: The noisy number of wrong answers on held-out units; None if no accuracy is measured.
        check: What its answers to rows of the declared domain are; None for images.
    """

    executed: ModelExecuted
    noisy_wrong: float | None
    noise_grid: Mapping[str, Any]
    check: ModelCheck | None = None


def make_model_certificate(
    *,
    plan: ModelPlan,
    trained: Trained,
    release_id: UUID,
    job_id: UUID,
    dataset_id: UUID,
    population_id: UUID,
    issued_at: datetime,
    places: Sequence[Place],
    domain_digest: str,
    cardinalities: Sequence[int],
    software: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the certificate as a JSON object, without the member `artefacts` and the signature.

    Args:
        issued_at: Date of issue, time-zone aware.
        places: Where each ledger says what it was charged; one, or one for each owner in the plan's order.
        domain_digest: Of the canonical declared domain.
        cardinalities: Codes of every modelled column, or of every number of an image and its label.
    """
    unit = plan.privacy_unit.column
    return {
        "schema": _schema(plan),
        "release_id": str(release_id),
        "job_id": str(job_id),
        "dataset_id": str(dataset_id),
        "population_id": str(population_id),
        "issued_at": issued_at.isoformat(),
        "data_product_type": "Machine learning model",
        "dp_flavor": "Approximate DP",
        "privacy_unit": {
            "column": unit,
            "description": say.UNIT_OF_RECORD if unit is None else say.UNIT_OF_COLUMN,
        },
        "privacy_parameters_description": say.FEDERATED_READING if plan.owners else say.MODEL_READING,
        "data_domain": {
            "sha256": domain_digest,
            "columns": len(cardinalities),
            "cells": sum(cardinalities),
        },
        "unprotected_quantities": list(say.UNPROTECTED),
        "model": {
            "model_name": "Central",
            "actors": _actors(plan),
            "release_type": "One release",
            "data_source_type": "Static",
            "access_type": "Non-interactive",
        },
        "preprocessing": list(say.MODEL_PREPROCESSING),
        "post_processing": say.MODEL_POST_PROCESSING,
        "composition": {
            "within": _WITHIN[_schema(plan)],
            "across": say.FEDERATED_ACROSS if plan.owners else say.COMPOSITION_ACROSS,
        },
        "ledger": places[0].to_json(),
        "justification": list(say.MODEL_JUSTIFICATION),
        "randomness": {"cipher": say.CIPHER, "key": say.KEY, "addressing": say.ADDRESSING},
        "noise_grid": dict(trained.noise_grid),
        "software": dict(software),
        "not_covered": list(say.NOT_COVERED),
        "adjacency": plan.adjacency.value,
        "declared_size": plan.declared_size,
        "privacy_parameters": plan.guarantee.to_json(),
        "epsilon": plan.epsilons.to_json(),
        "charge": charge_of(plan.mechanism, delta=plan.guarantee.delta).to_json(),
        "mechanisms": model_mechanism_rows(plan),
        "mechanism": mechanisms.to_json(plan.mechanism),
        "plan": plan.to_json(),
        "plan_digest": plan.digest(),
        "executed": {"steps": plan.steps, "releases": trained.executed.to_json()},
        "accuracy": accuracy_of(plan, trained.noisy_wrong),
        **({} if trained.check is None else {MEMBER: trained.check.to_json()}),
        **ledgers_of(plan, places),
    }


def _actors(plan: ModelPlan) -> str:
    if plan.federation is not None:
        return say.MEMBER_ACTORS
    return say.FEDERATED_ACTORS if plan.owners else say.MODEL_ACTORS


def sign_model_certificate(certificate: Mapping[str, Any], signer: Signer) -> SignedDocument:
    """Sign a certificate.

    Raises:
        InvalidCertificate: it is not of the published form.
    """
    signed = signer.sign(certificate, context=CERTIFICATE)
    form_of(signed.to_json(), _form(certificate))
    return signed


def _form(certificate: Mapping[str, Any]) -> type[ModelCertificateForm]:
    return _FORMS.get(str(certificate.get("schema")), ModelCertificateForm)


def _schema(plan: ModelPlan) -> str:
    if plan.federation is not None:
        return MEMBER_SCHEMA
    if plan.options.averaging_rounds is not None:
        return AVERAGED_SCHEMA
    return FEDERATED_SCHEMA if plan.owners else SCHEMA


def described_codes(domain: TableDomain | ImageDomain) -> tuple[int, ...]:
    """Codes of every modelled column, or of every number of an image and its label, which the certificate counts."""
    if isinstance(domain, TableDomain):
        return domain.cardinalities
    return (_SHADES,) * domain.values + (len(domain.labels),)


def accuracy_of(plan: ModelPlan, noisy_wrong: float | None) -> dict[str, Any] | None:
    """The accuracy that a noisy number of wrong answers gives, over the declared number of held-out units.

    Raises:
        InvalidCertificate: the plan measures no accuracy and there is a number, or the other way round.
    """
    std = plan.accuracy_noise_multiplier
    if (std is None) != (noisy_wrong is None):
        raise InvalidCertificate("the accuracy is not the plan's")
    if std is None or noisy_wrong is None:
        return None

    def within(wrong: float) -> float:
        return min(1.0, max(0.0, 1.0 - wrong / plan.held_out_size))

    reach = _DEVIATIONS_95 * std
    return {
        "noisy_wrong": noisy_wrong,
        "noise_std": std,
        "held_out_size": plan.held_out_size,
        "estimate": within(noisy_wrong),
        "low": within(noisy_wrong + reach),
        "high": within(noisy_wrong - reach),
    }


def model_mechanism_rows(plan: ModelPlan) -> list[dict[str, Any]]:
    """Return every mechanism with its parameters, in the order in which it ran, for people."""
    rows: list[dict[str, Any]] = []
    if (noise := plan.pca_noise_multiplier) is not None:
        rows.append(row("principal-components", "gaussian", 1, 1.0, noise, rate=1.0, std=noise))
    kind, norm, noise = "poisson-sampled-gaussian", plan.options.clipping_norm, plan.noise_multiplier
    rows.append(row("model-steps", kind, plan.steps, norm, noise, rate=plan.sampling_rate, std=noise * norm))
    if (noise := plan.accuracy_noise_multiplier or 0.0) > 0:
        rows.append(row("model-accuracy", "gaussian", 1, 1.0, noise, rate=1.0, std=noise))
    return rows
