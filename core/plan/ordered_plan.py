"""The plan of an order, of any kind: a training, a selection among several, a utility report, or a private model."""

from collections.abc import Mapping
from typing import Any

from core.plan.plan import Plan
from core.plan.private_models.plan import KIND as MODEL
from core.plan.private_models.plan import ModelPlan
from core.plan.selections.plan import KIND as SELECTION
from core.plan.selections.plan import SelectionPlan
from core.plan.several_owners.federation import Federation
from core.plan.several_owners.joint_plan import KIND as JOINT
from core.plan.several_owners.joint_plan import JointPlan
from core.plan.several_owners.member_plan import KIND as MEMBER
from core.plan.several_owners.member_plan import MemberPlan
from core.plan.several_owners.owners import DataOwner
from core.plan.utility_reports.plan import KIND as REPORT
from core.plan.utility_reports.plan import ReportPlan

OrderedPlan = Plan | SelectionPlan | ReportPlan | ModelPlan
"""The kinds of orders: one training, a selection among several, a utility report about a release, or a classifier."""


def owners_of(plan: OrderedPlan) -> tuple[DataOwner, ...]:
    """The owners of a plan over several datasets, by population; empty if it is on one dataset."""
    return (plan.owners or ()) if isinstance(plan, JointPlan | ModelPlan) else ()


def local_size_of(plan: OrderedPlan) -> int:
    """Return the declared number of units whose rows the job reads in this service."""
    return plan.local_size if isinstance(plan, MemberPlan | ModelPlan) else plan.declared_size


def federation_of(plan: OrderedPlan) -> Federation | None:
    """Return the federation of a plan; None without one."""
    return plan.federation if isinstance(plan, MemberPlan | ModelPlan) else None


def ordered_plan_from_json(document: Mapping[str, Any]) -> OrderedPlan:
    """Read a plan of any kind.

    Raises:
        InvalidPlan: as for the respective kind.
        InvalidGuarantee, InvalidMechanism: a number is out of range.
    """
    kinds: dict[object, type[OrderedPlan]] = {
        SELECTION: SelectionPlan, REPORT: ReportPlan, MODEL: ModelPlan, JOINT: JointPlan, MEMBER: MemberPlan,
    }  # fmt: skip
    return kinds.get(_kind_of(document), Plan).from_json(document)


def _kind_of(document: Mapping[str, Any]) -> str | None:
    kind = document.get("kind")
    return kind if isinstance(kind, str) else None
