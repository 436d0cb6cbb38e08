"""The remaining budget as one number: the largest epsilon that one more job may have under a cap."""

import math
from collections.abc import Sequence
from functools import lru_cache

from core.dp import gaussian
from core.dp.charge import FEMTO, MICRO, ORDERS, UNBOUNDED_MICROS, Charge, decimal_of
from core.dp.filters import Cap, admit
from core.dp.guarantee import SMALLEST_DELTA, PrivacyGuarantee

_GRAIN = 1e-4
"""The result is a multiple of this, rounded down."""
_WORKABLE_DELTA = 2 * SMALLEST_DELTA
"""Smallest default delta that is fitted to a grant: thresholds take a part of it, and the rest must be promisable."""


def remaining_epsilon(
    cap: Cap, charges: Sequence[Charge], *, thresholds: bool, within: Cap | None = None
) -> float:
    """Return the largest epsilon (0 if none) at which one more typical job at the default delta still fits.

    Input and output are public, so recent answers are cached.

    Args:
        cap: The cap, or a grant as a sub-cap.
        charges: Everything that counts against it.
        thresholds: Whether the job has a threshold, as one that learns categories has. If the kind of job is not known,
            True gives the lower bound.
        within: The cap that a grant lies within, which sets the default delta; None if `cap` is no grant.
    """
    return _largest(cap, tuple(charges), thresholds=thresholds, within=within)


@lru_cache(maxsize=1024)
def _largest(cap: Cap, charges: tuple[Charge, ...], *, thresholds: bool, within: Cap | None) -> float:
    low, high = 0, math.floor(cap.epsilon / _GRAIN)
    while low < high:
        middle = (low + high + 1) // 2
        fits = _fits(cap, charges, middle * _GRAIN, thresholds=thresholds, within=within)
        low, high = (middle, high) if fits else (low, middle - 1)
    return low * _GRAIN


def _fits(
    cap: Cap, charges: Sequence[Charge], epsilon: float, *, thresholds: bool, within: Cap | None
) -> bool:
    if within is None:
        delta = cap.default_job_delta()
    else:
        delta = default_delta(within, cap, charges, epsilon=epsilon, thresholds=thresholds)
    return admit(cap, [*charges, typical_charge(epsilon, delta, thresholds=thresholds)]).admitted


def default_delta(
    cap: Cap, grant: Cap, drawn: Sequence[Charge], *, epsilon: float, thresholds: bool
) -> float:
    """Return the delta of a job that names none and draws on a grant: the cap's default where the grant admits it.

    Where the grant has too little delta for that, the job gets of what is left the share that it asks of the epsilon left,
    so that delta does not run out before epsilon. Where not even that is workable, the default stays, and the grant refuses it.

    Args:
        cap: The population's cap.
        grant: The grant as a sub-cap.
        drawn: Everything that was drawn on the grant.
        epsilon: Of the job.
        thresholds: As in `remaining_epsilon`.
    """
    usual = cap.default_job_delta()
    if admit(grant, [*drawn, typical_charge(epsilon, usual, thresholds=thresholds)]).admitted:
        return usual
    basic = admit(grant, drawn).rooms["basic"]
    asked, left = math.ceil(decimal_of(round(epsilon, 9)) * MICRO), basic.remaining_micros
    if asked > left or remaining_femtos(grant, drawn) >= math.ceil(decimal_of(usual) * FEMTO):
        return usual
    # The smallest workable delta is taken where the share is less, as long as it is left.
    share = max(remaining_femtos(grant, drawn) * asked // left, round(_WORKABLE_DELTA * FEMTO))
    return share / FEMTO if share <= remaining_femtos(grant, drawn) else usual


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
def typical_charge(epsilon: float, delta: float, *, thresholds: bool) -> Charge:
    """Return the charge of a typical job before it is planned: one Gaussian release with this guarantee.

    With thresholds no Renyi divergence is bounded, and only basic composition covers the job and those after it. That
    charge exceeds the other in every amount, so whatever it leaves, a job without thresholds leaves too.

    A pure function of public facts. Recent results are cached, because lists of datasets search the same grid again and again.

    Raises:
        InvalidGuarantee: epsilon or delta is out of range.
    """
    mu = gaussian.largest_mu(PrivacyGuarantee(epsilon=epsilon, delta=delta))
    divergences = (math.ceil(order * mu**2 / 2 * MICRO) for order in ORDERS)
    return Charge(
        epsilon_micros=math.ceil(decimal_of(round(epsilon, 9)) * MICRO),
        delta_femtos=math.ceil(decimal_of(delta) * FEMTO),
        rdp_micros=(UNBOUNDED_MICROS,) * len(ORDERS) if thresholds else tuple(divergences),
    )
