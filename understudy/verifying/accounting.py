"""Compare the figures of a certificate with accountants that share no code with those of the service."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from understudy.verifying import loss, renyi
from understudy.verifying.bounds import Bounds, Part
from understudy.verifying.learning import UNBOUNDED_MICROS

PESSIMISM: Final = 0.02
"""Relative excess over the truth that is accepted for the service's upper bound by loss distributions."""
LARGEST_EPSILON: Final = 200.0
"""Largest verified epsilon; a larger one promises nothing."""
SMALLEST: Final = 1e-6
"""Smallest epsilon reported for a mechanism that ran."""
_DIGITS: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Recomputed:
    """Bounds on epsilon at the certificate's delta.

    Attributes:
        pld: an interval around the truth, by privacy loss distributions; None if it is too large to compute.
        rdp: an interval for statements by Renyi divergences.
    """

    pld: Bounds | None
    rdp: Bounds


@lru_cache(maxsize=64)
def recompute(parts: tuple[Part, ...], delta: float) -> Recomputed:
    """Recompute epsilon at a delta, of at least one mechanism."""
    rdp = renyi.epsilon_bounds(parts, delta)
    return Recomputed(pld=computable(loss.epsilon_bounds(parts, delta, scale=scale_of(rdp))), rdp=rdp)


def scale_of(rdp: Bounds) -> float:
    """A rough epsilon for the grid: any order gives the lower end, and whole orders alone may be far above it."""
    return min(max(rdp.low, SMALLEST), LARGEST_EPSILON)


def computable(found: Bounds | None) -> Bounds | None:
    """The epsilon by privacy losses, unless it promises nothing."""
    return None if found is None or found.low > LARGEST_EPSILON else found


def epsilon_problems(certificate: Mapping[str, Any], found: Recomputed) -> Iterator[str]:
    """Report statements on epsilon that are false or exceed the guarantee."""
    stated, guarantee = certificate["epsilon"], certificate["privacy_parameters"]["epsilon"]
    pld, rdp = stated["pld"], stated["rdp"]
    if found.pld is None:
        yield "epsilon is too large, or the noise of a single step too small, to be computed here"
        return
    if pld < max(found.pld.low, SMALLEST) * (1 - _DIGITS):
        yield f"epsilon/pld states {pld:.6g}, but it is at least {found.pld.low:.6g}"
    # If a loss leaves its range, the service states the Renyi figure for both; that figure is checked below.
    if pld > max(found.pld.high, SMALLEST) * (1 + PESSIMISM) and pld != rdp:
        yield f"epsilon/pld states {pld:.6g}, but the mechanism has at most {found.pld.high:.6g}"
    if (
        not max(found.rdp.low, SMALLEST) * (1 - _DIGITS)
        <= rdp
        <= max(found.rdp.high, SMALLEST) * (1 + _DIGITS)
    ):
        yield f"epsilon/rdp states {rdp:.6g}, but it is between {found.rdp.low:.6g} and {found.rdp.high:.6g}"
    if stated["reported"] != min(pld, rdp):
        yield "epsilon/reported is not the smaller of the two"
    if stated["reported"] > guarantee:
        yield f"epsilon {stated['reported']:.6g} is above the promised {guarantee:.6g}"


def charge_problems(
    certificate: Mapping[str, Any], divergence: Callable[[int], float] | None, *, excess: float = 0.0
) -> Iterator[str]:
    """Report charged amounts that differ from the cost of the mechanism, rounded up to a whole millionth.

    Epsilon and delta are rounded from numbers in the certificate, so they are exact. The service and this code each compute a divergence
    with an error of at most `renyi.ROUNDING`, so the amount lies between the two rounded ends. Below 2.5e10 millionths the ends are equal or
    adjacent; above, they are further apart.

    Args:
        certificate: a certificate of the published form.
        divergence: divergence of everything that ran, by order; None if it is infinite because of a threshold.
        excess: relative amount by which the service raises a divergence on purpose.
    """
    charge = certificate["charge"]
    delta = Fraction(repr(float(certificate["privacy_parameters"]["delta"])))
    if charge["epsilon_micros"] != math.ceil(Fraction(certificate["epsilon"]["reported"]) * 10**6):
        yield "charge/epsilon_micros"
    if charge["delta_femtos"] != math.ceil(delta * 10**15):
        yield "charge/delta_femtos"
    for order in renyi.CHARGED_ORDERS:
        if divergence is None:
            if charge["rdp_micros"][str(order)] != UNBOUNDED_MICROS:
                yield f"charge/rdp_micros/{order}"
            continue
        micros = Fraction(divergence(order)) * 10**6
        least = math.ceil(micros * Fraction(1 - 2 * renyi.ROUNDING))
        most = math.ceil(micros * Fraction(1 + 2 * renyi.ROUNDING + excess))
        if not least <= charge["rdp_micros"][str(order)] <= most:
            yield f"charge/rdp_micros/{order}"
