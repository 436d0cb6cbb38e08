"""Base of the plans of every kind of order: documents that name the version and contain the mechanism."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal, Self

from core.dp.adjacency import Adjacency
from core.plan.errors import InvalidPlan
from core.values import Published, Value

VERSION: Final = 1
ADJACENCY: Final = Published(Literal[tuple(one.value for one in Adjacency)])


class PlanDocument(Value):
    """Base of a plan.

    Attributes:
        IDENTITY: Members that distinguish its documents from others.
    """

    __slots__ = ()
    UNREADABLE = (
        InvalidPlan,
        "a member of the plan is missing, unknown or of the wrong type, or its mechanism does not follow from its numbers",
    )
    IDENTITY: ClassVar[Mapping[str, object]] = {"version": VERSION}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote.

        Raises:
            InvalidPlan: the version is unknown, a member is missing or wrong, or a derived member, such as the mechanism,
                does not follow from the plan's numbers.
            InvalidGuarantee, InvalidMechanism: a number is out of range.
        """
        if any(document.get(name) != member for name, member in cls.IDENTITY.items()):
            raise InvalidPlan(
                "the plan's version is unknown", remedy="use the software version that wrote it"
            )
        return super().from_json(document)
