"""Inputs and results of the accountants of this package."""

from dataclasses import dataclass
from enum import StrEnum


class NoiseKind(StrEnum):
    """Kinds of noise of a plan."""

    GAUSSIAN = "gaussian"
    DISCRETE_GAUSSIAN = "discrete-gaussian"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One elementary mechanism and its number of runs.

    Attributes:
        noise_multiplier: the noise's standard deviation (for discrete noise its parameter) over the sensitivity.
        sampling_rate: rate of the Poisson sample; 1 without sampling.
    """

    kind: NoiseKind
    noise_multiplier: float
    sampling_rate: float
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """An interval that contains the true number."""

    low: float
    high: float
