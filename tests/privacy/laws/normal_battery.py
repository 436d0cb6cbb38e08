"""Are numbers standard normal and independent? Statistics that add up over any number of pieces of `LENGTH`.

Bounds are exact for normal numbers unless said otherwise: the sum of squares is chi-square; `a . b / |a|` of two
halves is normal given `a`; the periodogram of known variance is exponential at every frequency; the largest of `n` has a
closed law; the distribution function is within Massart's bound (1990) at any set of points; tails are binomial.
Pearson's chi-square and the law of Anderson and Darling's statistic are limits, at 131,072 numbers or more.
"""

import math

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from models.randomness import PIECE
from tests.privacy.laws.alarm import Alarm
from tests.privacy.laws.word_battery import even, fair

Floats = npt.NDArray[np.float64]
LENGTH = 4 * PIECE
"""Numbers of one piece: whole pieces of the sampler, so that the two numbers of one radius are a known distance apart."""
CELLS = 4096
TAILS = (4.0, 4.5, 5.0, 5.5, 6.0)
GAPS = {"neighbours": 1, "one radius": PIECE // 2, "pieces of the sampler": PIECE}
SQUARE = 16
"""Cells a side of the tables of pairs."""
COMPARISONS = 10 + len(TAILS) + 2 * len(GAPS)


class NormalBattery:
    """Everything about the law of normal numbers and of what hangs together."""

    def __init__(self) -> None:
        self.pieces = 0
        self._sum = self._squares = self._largest = self._worst_darling = 0.0
        self._cells = np.zeros(CELLS, dtype=np.int64)
        self._tails = np.zeros(len(TAILS), dtype=np.int64)
        self._signs = 0
        self._products = dict.fromkeys(GAPS, 0.0)
        self._tables = {gap: np.zeros(SQUARE * SQUARE, dtype=np.int64) for gap in GAPS}
        self._spectrum = np.zeros(LENGTH // 2 - 1)
        self._peak = 0.0

    @property
    def numbers(self) -> int:
        """How many numbers were added."""
        return self.pieces * LENGTH

    def add(self, x: Floats) -> None:
        """Count one piece of `LENGTH` numbers."""
        assert x.shape == (LENGTH,)
        self.pieces += 1
        self._sum += float(x.sum())
        self._squares += float(x @ x)
        magnitudes = np.abs(x)
        self._largest = max(self._largest, float(magnitudes.max()))
        far = magnitudes[magnitudes > TAILS[0]]
        self._tails += [int((far > tail).sum()) for tail in TAILS]
        self._signs += int((np.signbit(x[:-1]) != np.signbit(x[1:])).sum())
        u = special.ndtr(x)
        self._cells += np.bincount((u * CELLS).astype(np.int64).clip(0, CELLS - 1), minlength=CELLS)
        self._add_pairs(x, (u * SQUARE).astype(np.int64).clip(0, SQUARE - 1))
        periodogram = np.abs(np.fft.rfft(x)[1:-1]) ** 2 / LENGTH
        self._spectrum += periodogram
        self._peak = max(self._peak, float(periodogram.max()))
        self._worst_darling = max(self._worst_darling, _darling(np.sort(x)))

    def _add_pairs(self, x: Floats, cells: npt.NDArray[np.int64]) -> None:
        for name, gap in GAPS.items():
            first, second = x.reshape(-1, 2, gap).transpose(1, 0, 2).reshape(2, -1)
            self._products[name] += float(first @ second) / math.sqrt(float(first @ first))
            one, other = cells.reshape(-1, 2, gap).transpose(1, 0, 2).reshape(2, -1)
            self._tables[name] += np.bincount(SQUARE * one + other, minlength=SQUARE**2)

    def judge(self, alarm: Alarm) -> None:
        """Compare everything with independent standard normal numbers."""
        n, side = self.numbers, alarm.side
        reach = float(stats.norm.isf(side))
        alarm.within("mean", self._sum / math.sqrt(n), -reach, reach)
        alarm.within("squares", self._squares, stats.chi2(n).ppf(side), stats.chi2(n).isf(side))
        even(alarm, "cells", self._cells, np.full(CELLS, 1 / CELLS))
        distance = np.abs(np.cumsum(self._cells) / n - np.arange(1, CELLS + 1) / CELLS).max()
        alarm.below("Kolmogorov and Smirnov", distance, math.sqrt(math.log(1 / side) / (2 * n)))
        alarm.below("Anderson and Darling", self._worst_darling, darling_bound(side / self.pieces))
        for tail, count in zip(TAILS, self._tails, strict=True):
            law = stats.binom(n, 2 * float(stats.norm.sf(tail)))
            alarm.within(f"beyond {tail}", count, law.ppf(side), law.isf(side))
        nowhere = -math.expm1(math.log(side) / n)  # of one number, where the largest of n is that small
        low, high = stats.norm.isf(nowhere / 2), stats.norm.isf(side / (2 * n))
        alarm.within("largest", self._largest, float(low), float(high))
        fair(alarm, "changes of sign", self._signs, n - self.pieces)
        for name in GAPS:
            alarm.within(f"product: {name}", self._products[name] / math.sqrt(self.pieces), -reach, reach)
            even(alarm, f"table: {name}", self._tables[name], np.full(SQUARE**2, SQUARE**-2.0))
        frequencies = self._spectrum.size
        law = stats.gamma(self.pieces)
        low, high = law.ppf(side / frequencies), law.isf(side / frequencies)
        alarm.below("peak of a spectrum", self._peak, math.log(frequencies * self.pieces / side))
        alarm.within("weakest frequency", float(self._spectrum.min()), low, math.inf)
        alarm.below("strongest frequency", float(self._spectrum.max()), high)


def darling_bound(tail: float) -> float:
    """A value that Anderson and Darling's statistic exceeds with probability `tail` at most, in the limit.

    The limit law is `sum Z_j^2 / (j (j + 1))` (Anderson and Darling 1952); Chernoff's inequality at exponents `t` below
    1, where the generating function `prod (1 - 2 t / (j (j + 1)))^(-1/2)` ends.
    """
    last = 20_000
    weights = 2.0 / (np.arange(1, last + 1) * np.arange(2, last + 2))

    def bound(t: float) -> float:
        logarithm = (
            -0.5 * float(np.log1p(-t * weights).sum()) + 2.0 * t / last
        )  # the rest of the sum is below
        return (math.log(1 / tail) + logarithm) / t

    return min(bound(t) for t in (0.8, 0.9, 0.95, 0.98, 0.99, 0.995))


def _darling(ordered: Floats) -> float:
    ranks = 2.0 * np.arange(1, ordered.size + 1) - 1.0
    both = special.log_ndtr(ordered) + special.log_ndtr(-ordered[::-1])
    return float(-ordered.size - (ranks @ both) / ordered.size)
