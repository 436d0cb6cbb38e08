"""The certificate of a release: the guarantee, what ran, and all that is needed to recompute epsilon.

A training child reports what it executed; the publishing process adds the ledger's links and the hashes of
the bundle's files, and signs (`workers.publishing`). The form is `core.artifacts.certificate_form`; readers
outside the service use `understudy verify`, which shares no code with this.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypeVar, cast
from uuid import UUID

from core.artifacts import statements as say
from core.artifacts.certificate_form import SCHEMA, CertificateForm, Form
from core.artifacts.errors import InvalidCertificate
from core.artifacts.execution import Executed, multiplier_runs
from core.artifacts.joint_form import JOINT_SCHEMA, JointCertificateForm
from core.artifacts.member_form import MEMBER_SCHEMA, MemberCertificateForm
from core.artifacts.owners_ledgers import Place, ledgers_of
from core.artifacts.sampling.generator_check import MEMBER, GeneratorCheck
from core.artifacts.signing.contexts import CERTIFICATE
from core.artifacts.signing.signed import SignedDocument, Signer
from core.dp import mechanism as mechanisms
from core.dp.charge import charge_of
from core.errors import UnderstudyError
from core.ledger.hash_chain import Head
from core.plan.options import IdpganOptions
from core.plan.plan import Plan
from core.plan.several_owners.joint_plan import JointPlan
from core.plan.several_owners.member_plan import MemberPlan
from core.values import read


def make_certificate(
    *,
    plan: Plan,
    executed: Executed,
    release_id: UUID,
    job_id: UUID,
    dataset_id: UUID,
    population_id: UUID,
    issued_at: datetime,
    reserved: Head,
    spent: Head,
    domain_digest: str,
    cardinalities: Sequence[int],
    noise_grid: Mapping[str, Any],
    software: Mapping[str, Any],
    generator_check: GeneratorCheck | None = None,
    others: Sequence[Place] = (),
) -> dict[str, Any]:
    """Return the certificate as a JSON object, without the member `artefacts` and the signature.

    Args:
        executed: The releases recorded where noise is added to private values.
        issued_at: Date of issue, time-zone aware.
        spent: The link that spent it, the chain's head when the first row was opened. A later head would
            reveal when training ended.
        domain_digest: Of the canonical declared domain.
        cardinalities: Codes of every modelled column.
        noise_grid: The public grids that sums and noise were rounded to, against attacks on low bits (Mironov 2012).
        generator_check: Result of the degeneracy check; None if there was none.
        others: Where the ledgers of further owners say what they were charged, in the plan's order.
    """
    checked = {} if generator_check is None else {MEMBER: generator_check.to_json()}
    unit = plan.privacy_unit.column
    place = Place(reserved=reserved, spent=spent)
    return {
        "schema": _schema(plan),
        "release_id": str(release_id),
        "job_id": str(job_id),
        "dataset_id": str(dataset_id),
        "population_id": str(population_id),
        "issued_at": issued_at.isoformat(),
        "data_product_type": "Synthetic data",
        "dp_flavor": "Approximate DP",
        "adjacency": plan.adjacency.value,
        "privacy_unit": {
            "column": unit,
            "description": say.UNIT_OF_RECORD if unit is None else say.UNIT_OF_COLUMN,
        }
        | ({} if plan.privacy_unit.records is None else {"records": plan.privacy_unit.records}),
        "declared_size": plan.declared_size,
        "privacy_parameters": plan.guarantee.to_json(),
        "privacy_parameters_description": _reading(plan),
        "epsilon": plan.epsilons.to_json(),
        "charge": charge_of(plan.mechanism, delta=plan.guarantee.delta).to_json(),
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
        "mechanisms": mechanism_rows(plan),
        "mechanism": mechanisms.to_json(plan.mechanism),
        "plan": plan.to_json(),
        "plan_digest": plan.digest(),
        "executed": {
            "steps": sum(count for _first, _every, count in executed.gradients.progressions),
            "releases": executed.to_json(),
            "noise_multipliers": multiplier_runs(plan),
        },
        "preprocessing": _preprocessing(plan),
        "post_processing": say.POST_PROCESSING,
        "composition": _composition(plan),
        "ledger": place.to_json(),
        "justification": _justification(plan),
        "randomness": {"cipher": say.CIPHER, "key": say.KEY, "addressing": say.ADDRESSING},
        "noise_grid": dict(noise_grid),
        "software": dict(software),
        "not_covered": list(say.NOT_COVERED),
        **checked,
        **ledgers_of(plan, (place, *others)),
    }


_FORMS: Final[Mapping[str, type[CertificateForm]]] = {
    SCHEMA: CertificateForm,
    JOINT_SCHEMA: JointCertificateForm,
    MEMBER_SCHEMA: MemberCertificateForm,
}


def _schema(plan: Plan) -> str:
    if isinstance(plan, MemberPlan):
        return MEMBER_SCHEMA
    return JOINT_SCHEMA if isinstance(plan, JointPlan) else SCHEMA


def _actors(plan: Plan) -> str:
    if isinstance(plan, MemberPlan):
        return say.MEMBER_COUNTS_ACTORS
    return say.JOINT_ACTORS if isinstance(plan, JointPlan) else say.ACTORS


def _composition(plan: Plan) -> dict[str, str]:
    if isinstance(plan, JointPlan):
        return {"within": say.JOINT_WITHIN, "across": say.FEDERATED_ACROSS}
    if isinstance(plan, MemberPlan):
        return {"within": say.MEMBER_COUNTS_WITHIN, "across": say.COMPOSITION_ACROSS}
    return {"within": say.COMPOSITION_WITHIN, "across": say.COMPOSITION_ACROSS}


def _reading(plan: Plan) -> str:
    if isinstance(plan, JointPlan):
        return say.JOINT_READING
    return say.READING_BESIDE_EARLIER if plan.reused else say.READING


def _justification(plan: Plan) -> list[str]:
    options = plan.options
    ordered = isinstance(options, IdpganOptions) and options.first_noise_multiplier is not None
    return list(say.ORDERED_JUSTIFICATION if ordered else say.JUSTIFICATION)


def _preprocessing(plan: Plan) -> list[str]:
    bounded = plan.privacy_unit.records is not None or plan.learns_records
    if plan.learning is None:
        return list(say.BOUNDED_PREPROCESSING if bounded else say.PREPROCESSING)
    if plan.learning.names_per_unit is None:
        return list(say.LEARNT_BOUNDED_PREPROCESSING if bounded else say.LEARNT_PREPROCESSING)
    return list(say.LEARNT_NAMES_BOUNDED_PREPROCESSING if bounded else say.LEARNT_NAMES_PREPROCESSING)


def sign_certificate(certificate: Mapping[str, Any], signer: Signer) -> SignedDocument:
    """Sign a certificate.

    Raises:
        InvalidCertificate: it is not of the published form.
    """
    signed = signer.sign(certificate, context=CERTIFICATE)
    form_of(signed.to_json(), _form(certificate))
    return signed


def _form(certificate: Mapping[str, Any]) -> type[CertificateForm]:
    return _FORMS.get(str(certificate.get("schema")), CertificateForm)


def mechanism_rows(plan: Plan) -> list[dict[str, Any]]:
    """Return every mechanism with its parameters, in the order in which it ran, for people.

    A multiplier that changes over the steps is null here; `plan` and `executed` list it. The same holds for the noise of
    the steps, whose standard deviation follows the thresholds.
    """
    rows: list[dict[str, Any]] = []
    if plan.learning is not None:
        noise = plan.learning.noise_multiplier
        rows += [
            row(
                f"learning-{one.learns}",
                "gaussian",
                1,
                one.sensitivity,
                noise,
                rate=1.0,
                std=noise * one.sensitivity,
            )
            for one in plan.learning.releases
        ]
    if plan.label_histogram is not None:
        noise = plan.label_histogram.noise_multiplier
        rows.append(row("label-histogram", "discrete-gaussian", 1, 1.0, noise, rate=1.0, std=noise))
    if plan.anchor is not None:
        rows += [
            row(name, "gaussian", times, sensitivity, noise, rate=1.0, std=noise * sensitivity)
            for name, times, sensitivity, noise in plan.anchor.releases
        ]
    if plan.steps:
        multipliers = {block.noise_multiplier for block in plan.blocks}
        constant = multipliers.pop() if len(multipliers) == 1 else None
        kind, norm, rate = "poisson-sampled-gaussian", plan.idpgan_options.clipping_norm, plan.sampling_rate
        rows.append(row("critic-steps", kind, plan.steps, norm, constant, rate=rate, std=None))
    if plan.acts is not None:
        noise, times = plan.acts.noise_multiplier, -(-plan.steps // plan.acts.interval)
        kind, rate = "poisson-sampled-gaussian", plan.sampling_rate
        rows.append(row("threshold-histograms", kind, times, 1.0, noise, rate=rate, std=noise))
    return rows


def row(
    name: str,
    kind: str,
    times: int,
    sensitivity: float,
    noise_multiplier: float | None,
    *,
    rate: float,
    std: float | None,
) -> dict[str, Any]:
    """Return one mechanism with its parameters."""
    return {
        "name": name,
        "kind": kind,
        "times": times,
        "sampling_rate": rate,
        "sensitivity": sensitivity,
        "noise_multiplier": noise_multiplier,
        "noise_std": std,
    }


F = TypeVar("F", bound=Form)


def form_of(certificate: Mapping[str, Any], form: type[F]) -> F:
    """Read a certificate of a form.

    Raises:
        InvalidCertificate: it is not of that form, or a number of its plan is out of range.
    """
    try:
        return cast("F", read(form, certificate))
    except (ValueError, UnderstudyError):
        raise InvalidCertificate("the certificate is not of the published form") from None
