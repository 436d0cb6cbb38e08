"""Bounds on epsilon of a selection: a unit is in one of several parts, and then in one of several trainings, the chosen one.

Let L be the privacy loss of the part that contains the unit, and delta_i(epsilon) the curve of training i. The worst case over all choices
based on earlier outputs is

    delta(epsilon) = max over parts of E[ max over i of delta_i(epsilon - L) ]

This formula is computed directly, on a grid of losses rounded to the nearest point, with every error carried to both sides. The service instead
puts the largest curves back on a grid and composes them. The two share no code.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from understudy.verifying import loss, renyi
from understudy.verifying.accounting import Recomputed, computable, scale_of
from understudy.verifying.bounds import Bounds, Part
from understudy.verifying.chernoff import Floats
from understudy.verifying.loss import LossDistribution

Composition = tuple[Part, ...]
_STEP: Final = 2e-4
"""Spacing of the grid over epsilon."""
_SMALL_CHOICE: Final = 1e-2
"""Pure epsilon below which a divergence is stated as order * epsilon^2 / 2."""
CHOICE_EXCESS: Final = 1e-9
"""Relative amount by which the service raises the divergence of the choice, against rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selecting:
    """The releases of a selection.

    Attributes:
        candidates: each candidate's training on its part.
        choice_epsilon: pure epsilon of the choice on the last part.
        finals: each candidate's training on all units; one of them runs.
    """

    candidates: tuple[Composition, ...]
    choice_epsilon: float
    finals: tuple[Composition, ...]


@lru_cache(maxsize=16)
def recompute(selecting: Selecting, delta: float) -> Recomputed:
    """Recompute epsilon at a delta of all releases of a selection."""
    rdp = _renyi_bounds(selecting, delta)
    return Recomputed(pld=computable(_loss_bounds(selecting, delta, scale=scale_of(rdp))), rdp=rdp)


def divergence(selecting: Selecting, order: int) -> float:
    """Return the Renyi divergence of all releases together at a whole order: the largest part's plus the largest training's."""
    parts = [renyi.divergence(one, order) for one in selecting.candidates]
    pure = _pure_divergence(selecting.choice_epsilon, order)
    return max(*parts, pure) + max(renyi.divergence(one, order) for one in selecting.finals)


def _pure_divergence(epsilon: float, order: float) -> float:
    """The divergence of randomised response, the largest of any mechanism with this pure epsilon."""
    bound = min(order * epsilon**2 / 2, epsilon)
    if epsilon < _SMALL_CHOICE:
        return bound
    up, down = 1 / (1 + math.exp(-epsilon)), 1 / (1 + math.exp(epsilon))
    moment = math.log(up) * order + math.log(down) * (1 - order)
    other = math.log(down) * order + math.log(up) * (1 - order)
    return min(float(np.logaddexp(moment, other)) / (order - 1), bound)


def _renyi_bounds(selecting: Selecting, delta: float) -> Bounds:
    high = min(renyi.converted(divergence(selecting, order), order, delta) for order in renyi.WHOLE_ORDERS)

    def between(order: float) -> float:
        parts = [renyi.integrated(one, order) for one in selecting.candidates]
        finals = [renyi.integrated(one, order) for one in selecting.finals]
        total = max(*parts, _pure_divergence(selecting.choice_epsilon, order)) + max(finals)
        return renyi.converted(total, order, delta)

    return renyi.enclosed(between, high)


def _loss_bounds(selecting: Selecting, delta: float, *, scale: float) -> Bounds | None:
    """Bound epsilon at `delta` by loss distributions, in the worse direction; None if a loss is too large."""
    compositions = (*selecting.candidates, *selecting.finals)
    distributions = {one: loss.distributions_of(one, delta, scale=scale) for one in set(compositions)}
    ends: list[Bounds] = []
    for direction in (0, 1):
        directed: dict[Composition, LossDistribution] = {}
        for one, both in distributions.items():
            if both is None:
                return None
            directed[one] = both[direction]
        parts = [directed[one] for one in selecting.candidates]
        parts.append(_randomised_response(selecting.choice_epsilon))
        finals = [directed[one] for one in selecting.finals]
        ends.append(_directed(parts, finals, delta, spacing=_STEP * scale))
    return Bounds(low=max(one.low for one in ends), high=max(one.high for one in ends))


def _randomised_response(epsilon: float) -> LossDistribution:
    up = 1 / (1 + math.exp(-epsilon))
    return LossDistribution(
        values=np.asarray([-epsilon, epsilon]),
        probabilities=np.asarray([1 - up, up]),
        off=0.0,
        error=0.0,
        lost=0.0,
    )


def _directed(
    parts: Sequence[LossDistribution], finals: Sequence[LossDistribution], delta: float, *, spacing: float
) -> Bounds:
    on_grid = [_rounded(one, spacing) for one in parts]
    reach = max(max(-lowest, lowest + len(masses)) for lowest, masses in on_grid)
    farthest = max(float(one.values[-1]) for one in finals)
    last = reach + math.ceil(max(farthest, 0.0) / spacing) + 2
    grid = np.arange(-reach - 1, last + reach + 1, dtype=np.float64) * spacing
    # The pointwise largest curve of the trainings: table[k] belongs to the point (k - reach - 1) * spacing.
    table = np.max([_deltas(one, grid) for one in finals], axis=0)

    def delta_at(index: int) -> float:
        """Delta of the worst part, at epsilon index * spacing."""
        found = 0.0
        for lowest, masses in on_grid:
            top = index - lowest + reach + 1
            found = max(found, float(masses @ table[top - len(masses) + 1 : top + 1][::-1]))
        return found

    def first_at_most(aim: float) -> int:
        low, high = -1, last
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if delta_at(middle) <= aim else (middle, high)
        return high

    # Half a spacing from rounding each loss, one from the grid of epsilons.
    off = max(one.off for one in parts) + max(one.off for one in finals) + 1.5 * spacing
    error = max(one.error for one in parts) + max(one.error for one in finals)
    lost = max(one.lost for one in parts) + max(one.lost for one in finals)
    return Bounds(
        low=max(first_at_most((delta + error) / (1 - lost)) * spacing - off, 0.0),
        high=first_at_most(delta - error) * spacing + off if delta > error else math.inf,
    )


def _rounded(distribution: LossDistribution, spacing: float) -> tuple[int, Floats]:
    """The distribution's masses at multiples of the spacing, each value at the nearest one; with the index of the first."""
    index = np.rint(distribution.values / spacing).astype(np.int64)
    first = int(index.min())
    return first, np.bincount(index - first, weights=distribution.probabilities).astype(np.float64)


def _deltas(distribution: LossDistribution, epsilons: Floats) -> Floats:
    """Delta at each epsilon: the mass above it, minus exp(epsilon) times the sum of p exp(-value) above it."""
    mass = np.append(np.cumsum(distribution.probabilities[::-1])[::-1], 0.0)
    weighted = np.append(loss.discounted(distribution.values, distribution.probabilities), 0.0)
    above = np.searchsorted(distribution.values, epsilons, side="right")
    farther = np.append(distribution.values, np.inf)[above]
    return np.asarray(np.clip(mass[above] - np.exp(epsilons - farther) * weighted[above], 0.0, 1.0))
