"""Remaining budget of a cap: the largest epsilon that one more job may have, and what is admitted in place of a refused job.

`remaining_epsilon` answers for a typical job at its default delta. `largest_epsilon` and `admitted_instead` answer for one certain job,
and what they answer was tried on it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import ROUND_FLOOR, Decimal
from functools import lru_cache

from core.dp.charge import FEMTO, MICRO, Charge, decimal_of
from core.dp.filters import Cap, admit, remaining_femtos
from core.dp.guarantee import SMALLEST_DELTA, PrivacyGuarantee
from core.dp.typical_job import delta_under_grant, typical_charge
from core.errors import InvalidInput

_RESOLUTION, _PLACES = 1e-4, 4
"""An epsilon that is left is a multiple of this, rounded down."""
_DELTA_DIGITS = 3
"""Significant digits of a delta that is offered, rounded down: people type it."""
_BELOW_ONE = math.nextafter(1.0, 0.0)

ChargeAt = Callable[[PrivacyGuarantee], Charge]
"""Charge of the job at a guarantee; raises InvalidInput where it cannot be planned: no such noise, or options that this epsilon does not allow."""


def gaussian_charge_at(guarantee: PrivacyGuarantee) -> Charge:
    """Return the charge of one Gaussian release with this guarantee: that of a typical job."""
    return typical_charge(guarantee.epsilon, guarantee.delta, thresholds=False)


def remaining_epsilon(
    cap: Cap, charges: Sequence[Charge], *, thresholds: bool, within: Cap | None = None
) -> float:
    """Return the largest epsilon (0 if none) at which one more typical job at the default delta still fits.

    Input and output are public, so recent answers are cached.

    Args:
        cap: The cap, or a grant as a sub-cap.
        thresholds: As in `delta_under_grant`.
        within: The cap that a grant lies within, which sets the default delta; None if `cap` is no grant.
    """
    return _largest(cap, tuple(charges), thresholds=thresholds, within=within)


@lru_cache(maxsize=1024)
def _largest(cap: Cap, charges: tuple[Charge, ...], *, thresholds: bool, within: Cap | None) -> float:
    def fits(steps: int) -> bool:
        epsilon = _epsilon(steps)
        if within is None:
            delta = cap.default_job_delta()
        else:
            delta = delta_under_grant(within, cap, charges, epsilon=epsilon, thresholds=thresholds)
        return admit(cap, [*charges, typical_charge(epsilon, delta, thresholds=thresholds)]).admitted

    return _epsilon(_last(fits, 0, _most_steps(cap)))


def largest_epsilon(
    cap: Cap, charges: Sequence[Charge], *, delta: float, charge_at: ChargeAt = gaussian_charge_at
) -> float:
    """Return the largest epsilon (0 if none) at which one more job of this delta is admitted beside everything spent and reserved."""

    def fits(steps: int) -> bool:
        return steps == 0 or _admits(cap, charges, _guarantee(steps, delta), charge_at)

    # Few plans are made: nearly every job costs what a Gaussian does, and one with a threshold what basic composition leaves.
    high = _gaussian_steps(cap, charges, delta, basic_alone=False)
    if fits(high):
        return _epsilon(high)
    basic = _gaussian_steps(cap, charges, delta, basic_alone=True)
    if fits(basic):
        return _epsilon(basic if not fits(basic + 1) else _last(fits, basic + 1, high))
    return _epsilon(_last(fits, 0, basic))


def admitted_instead(
    cap: Cap,
    charges: Sequence[Charge],
    wanted: PrivacyGuarantee,
    *,
    charge_at: ChargeAt = gaussian_charge_at,
) -> PrivacyGuarantee | None:
    """Return what a cap admits now, beside everything spent and reserved, in place of a job that it refuses; None if nothing.

    It is the wanted epsilon at the delta that the basic filter has left, if that fits; else the largest epsilon that fits at the
    wanted delta or at the one that is left.
    """
    deltas = [wanted.delta]
    free = floored(min(remaining_femtos(cap, charges) / FEMTO, _BELOW_ONE), _DELTA_DIGITS)
    if SMALLEST_DELTA <= free < wanted.delta:
        less = PrivacyGuarantee(epsilon=wanted.epsilon, delta=free)
        if _admits(cap, charges, less, charge_at):
            return less
        deltas.append(free)
    epsilon, delta = max(
        (largest_epsilon(cap, charges, delta=delta, charge_at=charge_at), delta) for delta in deltas
    )
    return PrivacyGuarantee(epsilon=epsilon, delta=delta) if epsilon else None


def composed_epsilon(cap: Cap, charges: Sequence[Charge]) -> float | None:
    """Return the smallest epsilon of a cap, with this cap's delta and rule, that admits the charges; None if this cap does not.

    It says how far the ledger's own rule has come. The promise is the cap, which is fixed beforehand
    (docs/decisions/accountant-as-filter.md).
    """
    if not admit(cap, charges).admitted:
        return None
    if not any(charge.epsilon_micros for charge in charges):
        return 0.0
    low, high = 0, math.floor(decimal_of(cap.epsilon) * MICRO)
    while high - low > 1:
        middle = (low + high) // 2
        admitted = admit(replace(cap, epsilon=middle / MICRO), charges).admitted
        low, high = (low, middle) if admitted else (middle, high)
    return high / MICRO


def floored(value: float, digits: int) -> float:
    """Return a number with at most so many significant digits, rounded down; 0 stays."""
    exact = Decimal(repr(value))
    if not exact:
        return 0.0
    return float(exact.quantize(Decimal((0, (1,), exact.adjusted() - digits + 1)), rounding=ROUND_FLOOR))


def _gaussian_steps(cap: Cap, charges: Sequence[Charge], delta: float, *, basic_alone: bool) -> int:
    """The largest number of steps of epsilon at which a Gaussian release fits, of all filters or of the basic one."""

    def charge_at(guarantee: PrivacyGuarantee) -> Charge:
        return typical_charge(guarantee.epsilon, guarantee.delta, thresholds=basic_alone)

    def fits(steps: int) -> bool:
        return steps == 0 or _admits(cap, charges, _guarantee(steps, delta), charge_at)

    return _last(fits, 0, _most_steps(cap))


def _most_steps(cap: Cap) -> int:
    """The least number of steps of epsilon above a cap; in decimals, because 0.3 / 1e-4 is less than 3000 in floats."""
    return math.floor(decimal_of(cap.epsilon) / decimal_of(_RESOLUTION)) + 1


def _last(fits: Callable[[int], bool], low: int, high: int) -> int:
    """The largest whole number that fits: from `low`, which does, below `high`, which does not."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _epsilon(steps: int) -> float:
    return round(steps * _RESOLUTION, _PLACES)


def _guarantee(steps: int, delta: float) -> PrivacyGuarantee:
    return PrivacyGuarantee(epsilon=_epsilon(steps), delta=delta)


def _admits(cap: Cap, charges: Sequence[Charge], wanted: PrivacyGuarantee, charge_at: ChargeAt) -> bool:
    try:
        return admit(cap, [*charges, charge_at(wanted)]).admitted
    except InvalidInput:
        return False
