"""Inputs and results of the accountants of this package."""

from dataclasses import dataclass
from enum import StrEnum


class Law(StrEnum):
    """Kinds of noise that a plan has."""

    GAUSSIAN = "gaussian"
    DISCRETE_GAUSSIAN = "discrete-gaussian"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One elementary mechanism and how often it ran.

    Attributes:
        law: of the noise.
        noise_multiplier: its standard deviation (for discrete noise its parameter) over the sensitivity.
        sampling_rate: of the Poisson sample; 1 where nothing was sampled.
        count: runs.
    """

    law: Law
    noise_multiplier: float
    sampling_rate: float
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """An interval that contains the true number.

    Attributes:
        low: nothing below it can be true.
        high: a valid upper bound.
    """

    low: float
    high: float
