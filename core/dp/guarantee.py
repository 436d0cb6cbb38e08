"""The pair (epsilon, delta) that a release promises."""

import math
from dataclasses import dataclass
from typing import Annotated

from core.dp.errors import InvalidGuarantee
from core.values import BelowOne, Positive, Published, Value

SMALLEST_DELTA = 1e-12
"""Smallest accepted delta: below it the accountant's Fourier transforms lose their digits."""

SMALLEST_EPSILON = 1e-6
"""Minimum reported epsilon of a mechanism that ran, and the resolution of the ledger. Nothing private is free."""


def check_delta(delta: float) -> float:
    """Return `delta` if the accountants support it.

    Raises:
        InvalidGuarantee: `delta` is NaN, below `SMALLEST_DELTA`, or not below one.
    """
    if not SMALLEST_DELTA <= delta < 1:
        raise InvalidGuarantee(
            f"delta must be at least {SMALLEST_DELTA:g} and below 1",
            remedy="choose a delta well below one over the declared size, for example 1e-6",
        )
    return delta


def check_epsilon(epsilon: float) -> float:
    """Return `epsilon` if it is a finite number of at least `SMALLEST_EPSILON`.

    Raises:
        InvalidGuarantee: `epsilon` is below that (so also zero or negative), infinite or NaN.
    """
    if not (math.isfinite(epsilon) and epsilon >= SMALLEST_EPSILON):
        raise InvalidGuarantee(
            f"epsilon must be a finite number of at least {SMALLEST_EPSILON:g}",
            remedy="choose an epsilon between 0.1 and 10",
        )
    return epsilon


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyGuarantee(Value):
    """(epsilon, delta)-differential privacy. Adjacency and privacy unit are stated separately."""

    UNREADABLE = InvalidGuarantee, "a guarantee needs the numbers epsilon and delta"

    epsilon: Annotated[float, Published(Positive)]
    """At least `SMALLEST_EPSILON` and finite."""
    delta: Annotated[float, Published(BelowOne)]
    """At least `SMALLEST_DELTA` and below one."""

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_delta(self.delta)
