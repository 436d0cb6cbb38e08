"""The remaining budget as one number: the largest epsilon that one more job may have under a cap."""

import math
from collections.abc import Sequence
from functools import lru_cache

from core.dp import gaussian
from core.dp.charge import FEMTO, MICRO, ORDERS, Charge, decimal_of
from core.dp.filters import Cap, admit
from core.dp.guarantee import SMALLEST_DELTA, PrivacyGuarantee

_GRAIN = 1e-4
"""The result is a multiple of this, rounded down."""


def remaining_epsilon(cap: Cap, charges: Sequence[Charge]) -> float:
    """Return the largest epsilon (0 if none) at which one more Gaussian release at the default delta still fits.

    The typical job is nearly Gaussian, so this is the epsilon that a further order can request. Input and output are public, so
    recent answers are cached.
    """
    return _largest(cap, tuple(charges))


@lru_cache(maxsize=1024)
def _largest(cap: Cap, charges: tuple[Charge, ...]) -> float:
    delta = cap.default_job_delta()
    low, high = 0, math.floor(cap.epsilon / _GRAIN)
    while low < high:
        middle = (low + high + 1) // 2
        fits = admit(cap, [*charges, gaussian_charge(middle * _GRAIN, delta)]).admitted
        low, high = (middle, high) if fits else (low, middle - 1)
    return low * _GRAIN


def remaining_femtos(cap: Cap, charges: Sequence[Charge]) -> int:
    """Return the delta that the basic filter has left, in 1e-15; 0 if none."""
    basic = admit(cap, charges).rooms["basic"]
    return max(0, (basic.capacity_femtos or 0) - (basic.used_femtos or 0))


def job_delta(granted: float) -> float | None:
    """Return the delta of the job for which a grant with this delta is requested: the half that the basic filter of the default rule has.

    None where that half is less than any job can promise.
    """
    return granted / 2 if granted / 2 >= SMALLEST_DELTA else None


@lru_cache(maxsize=4096)
def gaussian_charge(epsilon: float, delta: float) -> Charge:
    """Return the charge of one Gaussian release with this guarantee: that of a typical job before it is planned.

    A pure function of two public numbers. Recent results are cached, because lists of datasets search the same grid
    again and again.

    Raises:
        InvalidGuarantee: epsilon or delta is out of range.
    """
    mu = gaussian.largest_mu(PrivacyGuarantee(epsilon=epsilon, delta=delta))
    return Charge(
        epsilon_micros=math.ceil(decimal_of(round(epsilon, 9)) * MICRO),
        delta_femtos=math.ceil(decimal_of(delta) * FEMTO),
        rdp_micros=tuple(math.ceil(order * mu**2 / 2 * MICRO) for order in ORDERS),
    )
