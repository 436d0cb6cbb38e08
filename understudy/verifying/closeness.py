"""Compare computed numbers up to rounding."""

import math
from typing import Final

CLOSE: Final = 1e-9
"""Relative difference of two computed numbers that floating point can explain."""


def close(stated: float, derived: float, *, tolerance: float = CLOSE) -> bool:
    """Whether two numbers agree up to rounding."""
    return math.isclose(stated, derived, rel_tol=tolerance, abs_tol=0.0)
