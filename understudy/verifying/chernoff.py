"""Chernoff bounds on the sum of independent losses on grids: the start of its tails, and the best order at a tail."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]

_BLOCKS = 2**14
_SLOPES = np.geomspace(0.05, 20.0, 40)
"""Slopes of the Chernoff bounds, times the deviation of the sum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounded:
    """The loss of one run on the grid: probabilities of `lowest`, `lowest + 1`, ... times h.

    Attributes:
        lowest: index of the first probability.
        probabilities: probabilities of the losses within reach; they sum to one.
        shift: change of the mean by rounding.
        log_moment: if tilted, the logarithm of E[exp(order * index)], by which the probabilities were divided.
    """

    lowest: int
    probabilities: Floats
    shift: float
    count: int
    log_moment: float = 0.0


def best_order(singles: Sequence[Rounded], delta: float) -> float:
    """Return the order, over one spacing, with the smallest Chernoff bound on the sum's loss at `delta`."""
    slopes = _SLOPES / _deviation(singles)
    return float(slopes[_best(_Moments(singles), slopes, delta)[0]])


def window(singles: Sequence[Rounded], *, tail: float) -> tuple[int, int]:
    """Return indices below and above which the sum has probability at most `tail` each, by Chernoff."""
    slopes = _SLOPES / _deviation(singles)
    moments = _Moments(singles)
    highest = math.ceil(_best(moments, slopes, tail)[1])
    lowest = math.floor(-_best(moments, -slopes, tail)[1])
    tops = [one.count * (one.lowest + len(one.probabilities) - 1) for one in singles]
    bottoms = [one.count * one.lowest for one in singles]
    return max(lowest, sum(bottoms)), min(highest, sum(tops))


def _deviation(singles: Sequence[Rounded]) -> float:
    """The deviation of the sum, in spacings; at least one."""
    variance = 0.0
    for one in singles:
        index = np.arange(len(one.probabilities))
        mean = float(index @ one.probabilities)
        variance += one.count * float((index - mean) ** 2 @ one.probabilities)
    return math.sqrt(max(variance, 1.0))


class _Moments:
    """Bounds on log E[exp(slope * index)] of the sum.

    Moments use at most `_BLOCKS` blocks of losses, with each block's mass at the end that makes the moment larger.
    """

    def __init__(self, singles: Sequence[Rounded]) -> None:
        self._singles: list[tuple[int, Floats, Floats, Floats]] = []
        for one in singles:
            length = -(-len(one.probabilities) // _BLOCKS)
            starts = np.arange(0, len(one.probabilities), length)
            masses = np.add.reduceat(one.probabilities, starts)
            ends = np.minimum(starts + length, len(one.probabilities)) - 1
            kept = masses > 0
            first, last = one.lowest + starts[kept], one.lowest + ends[kept]
            self._singles.append(
                (one.count, np.log(masses[kept]), first.astype(np.float64), last.astype(np.float64))
            )

    def bound(self, slope: float) -> float:
        """An upper bound."""
        return math.fsum(
            count * log_sum(logs + slope * (last if slope > 0 else first))
            for count, logs, first, last in self._singles
        )


def _best(moments: _Moments, slopes: Floats, tail: float) -> tuple[int, float]:
    """Return the index of the slope with the smallest Chernoff bound at `tail`, and that bound on the index.

    Every slope gives a bound. The logarithm of a moment is convex and zero at zero, so the bounds fall to the smallest one and rise after it, and
    bisection finds it.
    """
    known: dict[int, float] = {}

    def bound(which: int) -> float:
        if which not in known:
            slope = float(slopes[which])
            known[which] = (moments.bound(slope) - math.log(tail)) / abs(slope)
        return known[which]

    low, high = 0, len(slopes) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if bound(middle) <= bound(middle + 1) else (middle + 1, high)
    return low, bound(low)


def log_sum(exponents: Floats) -> float:
    """Return the logarithm of the sum of exponentials."""
    largest = float(exponents.max())
    return largest + math.log(float(np.exp(exponents - largest).sum()))
