"""A plan of several Gaussian releases, all on every unit: what the plans of the image anchor and of graphical models share."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self

from core.dp.mechanism import Gaussian
from core.plan.errors import InvalidPlan


@dataclass(frozen=True, slots=True)
class GaussianReleases(ABC):
    """Numbers that fix the releases; a subclass is a frozen dataclass of integers and floats."""

    NAMED: ClassVar[str]
    """The plan's name in an error message."""

    @property
    @abstractmethod
    def parts(self) -> tuple[Gaussian, ...]:
        """The mechanism of every release, in order."""

    @property
    def noise_multiplier(self) -> float:
        """Of one Gaussian mechanism that is worth all releases together: inverse squares add up."""
        return 1 / math.sqrt(math.fsum(part.noise_multiplier**-2 for part in self.parts))

    def to_json(self) -> dict[str, Any]:
        """Return the plan as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote.

        Raises:
            InvalidPlan: a member is missing, unknown, of the wrong type, or out of its range.
        """
        kinds = {field.name: field.type for field in fields(cls)}
        whole = all(
            type(document.get(name)) is (int if kind in {int, "int"} else float)
            for name, kind in kinds.items()
        )
        if not whole or set(document) != set(kinds):
            raise InvalidPlan(f"the plan of {cls.NAMED} lacks a member or has one of the wrong type")
        return cls(**document)


def sensitivity_above(value: float) -> float:
    """A sensitivity raised by more than the rounding in computing it."""
    return value * (1 + 1e-12)
