"""A plan of several Gaussian releases, all on every unit: what the plans of the image anchor and of graphical models share."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from core.dp.mechanism import Gaussian
from core.values import Value


@dataclass(frozen=True, slots=True)
class GaussianReleases(Value, ABC):
    """Numbers that fix the releases; a subclass is a frozen dataclass of integers and floats."""

    @property
    @abstractmethod
    def parts(self) -> tuple[Gaussian, ...]:
        """The mechanism of every release, in order."""

    @property
    def noise_multiplier(self) -> float:
        """Noise multiplier of the one Gaussian mechanism that is worth all releases together: inverse squares add up."""
        return 1 / math.sqrt(math.fsum(part.noise_multiplier**-2 for part in self.parts))


def sensitivity_above(value: float) -> float:
    """A sensitivity raised by more than the rounding in computing it."""
    return value * (1 + 1e-12)
