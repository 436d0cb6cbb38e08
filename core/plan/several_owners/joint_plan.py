"""The plan of a generator over the datasets of several owners, who declared the same domain.

The counts of all owners' records are added before one noise: sums of integers, so how the records lie in datasets changes nothing. A unit
is one owner's, and the same value of the unit column at two owners is two units. So a unit moves a sum by as much as in a job on one
dataset, and every ledger is charged the whole mechanism.
"""

from dataclasses import dataclass, field, fields
from typing import ClassVar, Final, Literal

from core.plan.errors import InvalidPlan, InvalidSpec
from core.plan.plan import Plan
from core.plan.plan_document import VERSION
from core.plan.several_owners.owners import DataOwner, require_together

KIND: Final = "joint"


@dataclass(frozen=True, slots=True, kw_only=True)
class JointPlan(Plan):
    """Plan of one training of a generator over several datasets; used in place of a `Plan`.

    Raises:
        InvalidPlan: as `Plan`; or the owners do not go together, or the plan needs more than the counts of a table.
    """

    IDENTITY: ClassVar = {"version": VERSION, "kind": KIND}

    kind: Literal["joint"] = field(default=KIND, repr=False, compare=False)
    owners: tuple[DataOwner, ...]
    """The datasets, by population."""

    def __post_init__(self) -> None:
        # A class with slots is made anew, so super() without arguments finds the old one.
        Plan.__post_init__(self)
        require_together(self.owners, self.declared_size)
        if not self.only_counts or self.reused:
            raise InvalidPlan("a plan over several owners' datasets needs more than counts")


def joint_plan(plan: Plan, owners: tuple[DataOwner, ...]) -> JointPlan:
    """Return the plan over the datasets of these owners, whose declared sizes add up to the plan's.

    Raises:
        InvalidSpec: the plan trains on records, makes images, learns its domain or is of a graphical model.
    """
    if not plan.only_counts:
        raise InvalidSpec(
            "a generator over several owners' datasets is trained on counts of a table whose domain is declared",
            remedy='order the synthesizer "idpgan" without "critic", or name one dataset',
        )
    return JointPlan(owners=owners, **{one.name: getattr(plan, one.name) for one in fields(plan)})
