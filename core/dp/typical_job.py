"""A job that is not planned yet: its typical charge, and its delta where it names none."""

import math
from collections.abc import Sequence
from functools import lru_cache

from core.dp import gaussian
from core.dp.charge import FEMTO, MICRO, ORDERS, UNBOUNDED_MICROS, Charge, decimal_of
from core.dp.filters import Cap, admit, remaining_femtos
from core.dp.guarantee import SMALLEST_DELTA, PrivacyGuarantee

_WORKABLE_DELTA = 2 * SMALLEST_DELTA
"""Smallest default delta that is fitted to a grant: thresholds take a part of it, and the rest must be promisable."""


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


def delta_under_grant(
    cap: Cap, grant: Cap, drawn: Sequence[Charge], *, epsilon: float, thresholds: bool
) -> float:
    """Return the delta of a job that names none and draws on a grant: the cap's default where the grant admits it.

    Where the grant has too little delta for that, the job gets of what is left the share that it asks of the epsilon left,
    so that delta does not run out before epsilon. Where not even that is workable, the default stays, and the grant refuses it.

    Args:
        thresholds: Whether the job has a threshold, as one that learns categories has. If that is not known, True gives the lower bound.
    """
    usual = cap.default_job_delta()
    if admit(grant, [*drawn, typical_charge(epsilon, usual, thresholds=thresholds)]).admitted:
        return usual
    basic = admit(grant, drawn).filters["basic"]
    asked, left = math.ceil(decimal_of(round(epsilon, 9)) * MICRO), basic.remaining_micros
    if asked > left or remaining_femtos(grant, drawn) >= math.ceil(decimal_of(usual) * FEMTO):
        return usual
    # The smallest workable delta is taken where the share is less, as long as it is left.
    share = max(remaining_femtos(grant, drawn) * asked // left, round(_WORKABLE_DELTA * FEMTO))
    return share / FEMTO if share <= remaining_femtos(grant, drawn) else usual


def delta_of_request(cap: Cap, epsilon: float) -> float:
    """Return the delta of a requested grant that names none: the share of the cap's that its epsilon is of the cap's.

    Several grants then run out of delta no earlier than of epsilon. Under a tiny cap it is twice the smallest that can be promised.
    """
    share = cap.delta * min(1.0, epsilon / cap.epsilon)
    return min(cap.delta, max(share, 2 * SMALLEST_DELTA))


def job_delta(granted: float) -> float | None:
    """Return the delta of the job for which a grant with this delta is requested: the half that the basic filter of the default rule has.

    None where that half is less than any job can promise.
    """
    return granted / 2 if granted / 2 >= SMALLEST_DELTA else None
