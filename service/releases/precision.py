"""The expected error of a release, from the plan in its certificate and the declared domain."""

from collections.abc import Mapping
from typing import Any, Final

from core.artifacts.certificate_form import SCHEMA
from core.artifacts.joint_form import JOINT_SCHEMA
from core.artifacts.member_form import MEMBER_SCHEMA
from core.errors import UnderstudyError
from core.plan.crowding import checked_columns
from core.plan.domain.declared import Domain
from core.plan.domain.table import TableDomain
from core.plan.learning import learning_of
from core.plan.ordered_plan import ordered_plan_from_json
from core.plan.plan import Plan
from core.plan.selections.plan import SelectionPlan
from core.plan.training_quote import expected_error_in
from service.planning.facts import DatasetFacts

UNKNOWN_PLAN: Final = "unknown-plan"


def expected_error_of(certificate: Mapping[str, Any], facts: DatasetFacts) -> dict[str, Any]:
    """The members `expected_error` and `expected_error_missing`; the latter says why there is no error.

    The error of a selection is that of its winner's training. Of a domain that the training learnt in part it is the quote's,
    for the most codes that it may have. A certificate of another format or domain has a plan that is not known here.
    """
    plan = _plan_of(certificate, facts)
    error = UNKNOWN_PLAN if plan is None else expected_error_in(plan, facts.domain)
    if isinstance(error, str):
        return {"expected_error": None, "expected_error_missing": error}
    return {"expected_error": error.to_json(), "expected_error_missing": None}


def _plan_of(certificate: Mapping[str, Any], facts: DatasetFacts) -> Plan | None:
    try:
        if certificate["schema"] not in (SCHEMA, JOINT_SCHEMA, MEMBER_SCHEMA):
            return None
        plan = ordered_plan_from_json(certificate["plan"])
        if isinstance(plan, SelectionPlan):
            plan = plan.finals[certificate["executed"]["winner"]]
        if not isinstance(plan, Plan):
            return None
        # A certificate states the domain as it was learnt, which no declaration hashes to.
        is_of_declared = certificate["data_domain"]["sha256"] == facts.domain.digest()
        return plan if is_of_declared or _learns(plan, facts.domain) else None
    except (KeyError, IndexError, TypeError, UnderstudyError):
        return None


def _learns(plan: Plan, domain: Domain) -> bool:
    """Whether the plan learns parts of a domain, those that this one leaves open."""
    if plan.learning is None or not isinstance(domain, TableDomain):
        return False
    if plan.learning.only_checks:
        return set(plan.learning.checks) <= set(checked_columns(domain))
    return plan.learning.releases == learning_of(domain).releases
