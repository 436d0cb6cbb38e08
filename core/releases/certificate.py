"""The certificate of a release: what was promised, what ran, and all that is needed to compute epsilon again."""

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from core.errors import UnderstudyError
from core.privacy import mechanism as mechanisms
from core.privacy.accountant import Epsilons, epsilons
from core.privacy.charge import charge_of
from core.privacy.guarantee import PrivacyGuarantee
from core.releases.errors import InvalidCertificate
from core.synthesis.plan import Plan

SCHEMA = "understudy.certificate/1"
_TOLERANCE = 1e-9
"""Relative difference that another machine's floating point may cause."""

_READING = (
    "For every pair of tables that differ by all records of one privacy unit, and every set of outputs, the "
    "probability of the set under one table is at most exp(epsilon) times that under the other, plus delta. This "
    "holds for the generator and for everything ever drawn from it. It adds up with other releases of the same "
    "population; the service's ledger bounds their sum."
)
_NOT_COVERED = [
    "facts that the owner declared public: the domain, the declared size, the names of the columns",
    "what the owner's own sealed reports say",
    "timing of the sampler and residue in device memory",
]


# What reading a member of the wrong kind raises.
_WRONG_MEMBER = (KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError, ArithmeticError)


def make_certificate(
    *,
    plan: Plan,
    dataset_id: object,
    population_id: object,
    job_id: object,
    release_id: object,
    issued_at: datetime,
    software_version: str,
    noise_grid: Mapping[str, Any] | float | None,
) -> dict[str, Any]:
    """Return the certificate as a JSON object.

    Args:
        plan: The plan that ran to its end.
        dataset_id: Identifiers are written as text.
        population_id: Whom the ledger charges.
        job_id: The job that ran the plan.
        release_id: The release that the certificate goes with.
        issued_at: When, aware.
        software_version: What ran it.
        noise_grid: The public grid that sums and noise were rounded to, against attacks on low bits (Mironov 2012).
    """
    charge = charge_of(plan.mechanism, delta=plan.guarantee.delta)
    body = {
        "schema": SCHEMA,
        "release_id": str(release_id),
        "job_id": str(job_id),
        "dataset_id": str(dataset_id),
        "population_id": str(population_id),
        "issued_at": issued_at.isoformat(),
        "software_version": software_version,
        "guarantee": plan.guarantee.to_json(),
        "adjacency": plan.adjacency.value,
        "privacy_unit": plan.privacy_unit.to_json(),
        "declared_size": plan.declared_size,
        "reading": _READING,
        "not_covered": list(_NOT_COVERED),
        "epsilon": plan.epsilons.to_json(),
        "charge": charge.to_json(),
        "mechanism": mechanisms.to_json(plan.mechanism),
        "noise_grid": dict(noise_grid) if isinstance(noise_grid, Mapping) else noise_grid,
        "plan": plan.to_json(),
        "plan_digest": plan.digest(),
    }
    return body | {"digest": _digest(body)}


def verify_certificate(certificate: Mapping[str, Any]) -> Epsilons:
    """Recompute epsilon from the certificate's mechanism, and check that the certificate agrees with itself.

    Returns:
        The recomputed epsilons, at the certificate's delta.

    Raises:
        InvalidCertificate: the schema is unknown, a member is missing or altered, the mechanism is not the plan's,
            or its epsilon is above what the certificate states or promises.
    """
    if certificate.get("schema") != SCHEMA:
        raise InvalidCertificate(
            "the certificate's schema is not known", remedy="use the software that wrote it"
        )
    body = {name: value for name, value in certificate.items() if name != "digest"}
    try:
        whole = certificate.get("digest") == _digest(body)
    except (
        ValueError,
        TypeError,
        RecursionError,
    ):  # what no JSON of ours holds: NaN, halves of letters, endless nesting
        whole = False
    if not whole:
        raise InvalidCertificate("the certificate was altered after it was issued")
    try:
        guarantee = PrivacyGuarantee.from_json(certificate["guarantee"])
        stated = Epsilons.from_json(certificate["epsilon"])
        mechanism = mechanisms.from_json(certificate["mechanism"])
        plan = Plan.from_json(certificate["plan"])
        same_plan = certificate["plan_digest"] == plan.digest()
    except (UnderstudyError, *_WRONG_MEMBER):
        raise InvalidCertificate("the certificate lacks a member or has a wrong one") from None
    if not same_plan or mechanism != plan.mechanism or guarantee != plan.guarantee:
        raise InvalidCertificate("the certificate's mechanism or guarantee is not its plan's")
    recomputed = epsilons(mechanism, delta=guarantee.delta)
    if recomputed.reported > min(stated.reported, guarantee.epsilon) * (1 + _TOLERANCE):
        raise InvalidCertificate("the mechanism's epsilon is above what the certificate states")
    return recomputed


def _digest(body: Mapping[str, Any]) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
