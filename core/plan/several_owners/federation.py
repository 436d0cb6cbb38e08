"""A federation: owners that each train in a service of their own, and average weights or add noisy counts through a board.

Every number here is declared and public. A member's ledger is charged for its own noise alone, whatever the others do.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import Field

from core.canonical import canonical_digest
from core.plan.errors import InvalidPlan
from core.values import Count, Identifier, Value

MOST_MEMBERS: Final = 32
MEMBER_NAME: Final = r"^[a-z0-9][a-z0-9_-]{0,39}$"

MemberName = Annotated[str, Field(pattern=MEMBER_NAME)]


@dataclass(frozen=True, slots=True, kw_only=True)
class FederationMember(Value):
    """One owner of a federation, as declared.

    Attributes:
        name: of the owner, unique in the federation.
        declared_size: its public number of privacy units.
    """

    UNREADABLE = InvalidPlan, "a member of the federation lacks a value or has one of the wrong form"

    name: MemberName
    declared_size: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class Federation(Value):
    """The part of a plan that says with whom its weights are averaged, or its noisy counts added.

    Attributes:
        federation_id: on its board; initial weights are drawn from it.
        member: the owner whose plan this is.
        members: all owners, in the order in which their copies or counts are summed.

    Raises:
        InvalidPlan: there are fewer than two members or too many, two have one name, or `member` is none of them.
    """

    UNREADABLE = InvalidPlan, "the plan's federation lacks a value or has one of the wrong form"

    federation_id: Identifier
    member: MemberName
    members: tuple[FederationMember, ...]

    def __post_init__(self) -> None:
        names = [one.name for one in self.members]
        if not 2 <= len(names) <= MOST_MEMBERS or len(set(names)) < len(names):  # noqa: PLR2004 - one owner is an ordinary plan
            raise InvalidPlan(f"a federation has 2 to {MOST_MEMBERS} members of different names")
        if self.member not in names:
            raise InvalidPlan("the plan is of an owner that is no member of its federation")

    @property
    def place(self) -> int:
        """The place of the plan's owner among the members."""
        return [one.name for one in self.members].index(self.member)

    @property
    def own_size(self) -> int:
        """The declared size of the plan's owner."""
        return self.members[self.place].declared_size

    @property
    def declared_size(self) -> int:
        """The sum of the declared sizes."""
        return sum(one.declared_size for one in self.members)

    @property
    def weights(self) -> tuple[float, ...]:
        """The weight of every member's copy in the average."""
        total = self.declared_size
        return tuple(one.declared_size / total for one in self.members)


def shared_digest(plan: Mapping[str, Any]) -> str:
    """Return the SHA-256 of what the plans of all members have in common: everything but the name of the member."""
    federation = {name: value for name, value in plan["federation"].items() if name != "member"}
    return canonical_digest({**plan, "federation": federation})
