"""Certificates of the first form, unsigned: still readable by whoever holds one."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from core.errors import UnderstudyError
from core.privacy import mechanism as mechanisms
from core.privacy.accountant import Epsilons, epsilons
from core.privacy.guarantee import PrivacyGuarantee
from core.releases.errors import InvalidCertificate
from core.synthesis.plan import Plan

SCHEMA = "understudy.certificate/1"
TOLERANCE = 1e-9
"""Relative difference that another machine's floating point may cause."""
# What reading a member of the wrong kind raises.
WRONG_MEMBER = (KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError, ArithmeticError)


def verify_first_certificate(certificate: Mapping[str, Any]) -> Epsilons:
    """Recompute epsilon from the certificate's mechanism, and check that the certificate agrees with itself.

    Returns:
        The recomputed epsilons, at the certificate's delta.

    Raises:
        InvalidCertificate: a member is missing or altered, the mechanism is not the plan's,
            or its epsilon is above what the certificate states or promises.
    """
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
        same_plan = certificate["plan_digest"] == _digest(certificate["plan"]) and _says(certificate, plan)
    except (UnderstudyError, *WRONG_MEMBER):
        raise InvalidCertificate("the certificate lacks a member or has a wrong one") from None
    if not same_plan or mechanism != plan.mechanism or guarantee != plan.guarantee:
        raise InvalidCertificate("the certificate's mechanism or guarantee is not its plan's")
    recomputed = epsilons(mechanism, delta=guarantee.delta)
    if recomputed.reported > min(stated.reported, guarantee.epsilon) * (1 + TOLERANCE):
        raise InvalidCertificate("the mechanism's epsilon is above what the certificate states")
    return recomputed


def _says(certificate: Mapping[str, Any], plan: Plan) -> bool:
    """Whether a plan says what the certificate's does: options that came later are not in it."""
    stated, again = certificate["plan"], plan.to_json()
    options = {name: value for name, value in again["options"].items() if name in stated["options"]}
    return bool(json.loads(json.dumps(again | {"options": options})) == stated)


def _digest(body: Mapping[str, Any]) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
