"""Inputs and results of the accountants of this package."""

from dataclasses import dataclass
from enum import StrEnum


class Law(StrEnum):
    """Kinds of noise of a plan."""

    GAUSSIAN = "gaussian"
    DISCRETE_GAUSSIAN = "discrete-gaussian"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One elementary mechanism and its number of runs.

    Attributes:
        law: law of the noise.
        noise_multiplier: the noise's standard deviation (for discrete noise its parameter) over the sensitivity.
        sampling_rate: rate of the Poisson sample; 1 without sampling.
        count: number of runs.
    """

    law: Law
    noise_multiplier: float
    sampling_rate: float
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """An interval that contains the true number.

    Attributes:
        low: a valid lower bound.
        high: a valid upper bound.
    """

    low: float
    high: float
