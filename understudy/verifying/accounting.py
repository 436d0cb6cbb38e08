"""Compare the figures of a certificate with accountants that share no code with the service's."""

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
"""Share by which the service's own upper bound by loss distributions may exceed the truth without being refused."""
LARGEST_EPSILON: Final = 200.0
"""A larger epsilon promises nothing and is not verified."""
SMALLEST: Final = 1e-6
"""Least epsilon reported for any mechanism that ran."""
_DIGITS: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Recomputed:
    """Bounds on epsilon at the certificate's delta.

    Attributes:
        pld: the truth lies within, by privacy loss distributions; None where it is too large to be computed.
        rdp: a statement by Renyi divergences lies within.
    """

    pld: Bounds | None
    rdp: Bounds


@lru_cache(maxsize=64)
def recompute(parts: tuple[Part, ...], delta: float) -> Recomputed:
    """Recompute epsilon.

    Args:
        parts: what ran; not empty.
        delta: between 0 and 1.
    """
    rdp = renyi.epsilon_bounds(parts, delta)
    return Recomputed(pld=computable(loss.epsilon_bounds(parts, delta, scale=scale_of(rdp))), rdp=rdp)


def scale_of(rdp: Bounds) -> float:
    """Epsilon, roughly, for the grid: any order gives the lower end, and whole orders alone may lie far above it."""
    return min(max(rdp.low, SMALLEST), LARGEST_EPSILON)


def computable(found: Bounds | None) -> Bounds | None:
    """The epsilon found by privacy losses, unless it promises nothing."""
    return None if found is None or found.low > LARGEST_EPSILON else found


def epsilon_problems(certificate: Mapping[str, Any], found: Recomputed) -> Iterator[str]:
    """Report which statement on epsilon is not true, or not within the guarantee."""
    stated, guarantee = certificate["epsilon"], certificate["privacy_parameters"]["epsilon"]
    pld, rdp = stated["pld"], stated["rdp"]
    if found.pld is None:
        yield "epsilon is too large, or the noise of a single step too small, to be computed here"
        return
    if pld < max(found.pld.low, SMALLEST) * (1 - _DIGITS):
        yield f"epsilon/pld states {pld:.6g}, but it is at least {found.pld.low:.6g}"
    # Where a loss leaves its range, the service states the Renyi figure for both; that one is held below.
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
    """Report which amount that the ledger was charged is not what the mechanism costs, rounded up to a whole millionth.

    Epsilon and delta are rounded from numbers that the certificate states, so they are exact. A divergence is computed by
    the service and here, each with an error of `renyi.ROUNDING` at most: the amount lies between the two rounded ends.
    Below 2.5e10 millionths the ends are the same number or neighbours; above, they are further apart.

    Args:
        certificate: of the published form.
        divergence: of everything that ran, at an order; None where it is infinite, because of a threshold.
        excess: by how much the service raises a divergence on purpose, relatively.
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
