"""The cost of a mechanism: two valid upper bounds on epsilon, of which the smaller is reported."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from core.dp.errors import InvalidGuarantee
from core.dp.guarantee import SMALLEST_EPSILON, check_delta
from core.dp.loss import epsilon_of_leaves
from core.dp.mechanism import Leaf, Mechanism, Threshold, leaves
from core.dp.renyi import FINE_ORDERS, epsilon_of_rdp, rdp_of_leaves
from core.values import NotNegative, Value, derived


@dataclass(frozen=True, slots=True, kw_only=True)
class Epsilons(Value):
    """Two upper bounds on the epsilon of one mechanism at one delta."""

    UNREADABLE = (
        InvalidGuarantee,
        "the epsilons need the numbers pld and rdp, of at least 0, and the smaller of them",
    )

    pld: NotNegative
    """Epsilon by the privacy loss distribution (exact where every part is a plain Gaussian)."""
    rdp: NotNegative
    """Epsilon by Renyi differential privacy at fine orders."""

    @derived
    def reported(self) -> NotNegative:
        """The smaller of the two; both are valid."""
        return min(self.pld, self.rdp)


def epsilons(mechanism: Mechanism, *, delta: float) -> Epsilons:
    """Return the epsilon of `mechanism` at `delta`, by both accountants.

    The result does not depend on the order of the parts. An empty mechanism has epsilon 0; any other has at
    least `SMALLEST_EPSILON`, even if delta alone would cover it. The share of thresholds in `delta` is subtracted first.

    Raises:
        InvalidGuarantee: `delta`, or its rest after thresholds, is below `SMALLEST_DELTA`; or it is not below one, or NaN.
    """
    check_delta(delta)
    counts = leaves(mechanism)
    thresholds = [count * leaf.delta for leaf, count in counts.items() if isinstance(leaf, Threshold)]
    if not thresholds:
        return _epsilons(frozenset(counts.items()), delta)
    rest = {leaf: count for leaf, count in counts.items() if not isinstance(leaf, Threshold)}
    return _epsilons(frozenset(rest.items()), check_delta(delta - math.fsum(thresholds)))


@lru_cache(maxsize=512)
def _epsilons(counts: frozenset[tuple[Leaf, int]], delta: float) -> Epsilons:
    if not counts:
        return Epsilons(pld=0.0, rdp=0.0)
    ordered = dict(sorted(counts, key=repr))
    return Epsilons(
        pld=_safe(epsilon_of_leaves(ordered, delta)),
        rdp=_safe(epsilon_of_rdp(rdp_of_leaves(ordered, FINE_ORDERS), FINE_ORDERS, delta)),
    )


def _safe(epsilon: float) -> float:
    """Raise a smaller or negative epsilon to `SMALLEST_EPSILON`."""
    assert not math.isnan(epsilon)
    return max(epsilon, SMALLEST_EPSILON)


def rdp_at(mechanism: Mechanism | Leaf, orders: Sequence[float]) -> tuple[float, ...]:
    """Return the Renyi divergence of `mechanism` at each of `orders`, never negative; infinite with a threshold.

    Raises:
        InvalidGuarantee: an order is not above one.
    """
    if not all(order > 1 for order in orders):
        raise InvalidGuarantee("a Renyi order must be above 1")
    return tuple(float(value) for value in rdp_of_leaves(leaves(mechanism), orders))
