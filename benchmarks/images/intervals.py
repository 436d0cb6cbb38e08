"""Means and intervals over seeds."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.stats import t

COVERAGE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A mean over seeds and how far off it may be.

    Args:
        mean: of the values.
        half_width: of the 95 % interval by Student's t, or None where there is one value only.
        seeds: number of values.
    """

    mean: float
    half_width: float | None
    seeds: int

    def text(self, digits: int, *, percent: bool = False) -> str:
        """The interval in words, such as 0.951 ± 0.004, or the mean alone where there is one seed."""
        factor, sign = (100.0, " %") if percent else (1.0, "")
        mean = f"{self.mean * factor:.{digits}f}"
        if self.half_width is None:
            return mean + sign
        return f"{mean} ± {self.half_width * factor:.{digits}f}{sign}"


def interval(values: Sequence[float]) -> Interval:
    """Mean and 95 % interval `t_(n-1, 0.975) s / sqrt(n)`, which supposes values near a normal distribution.

    Args:
        values: one of each seed, at least one.
    """
    if len(values) == 1:
        return Interval(mean=values[0], half_width=None, seeds=1)
    quantile = float(t.ppf((1.0 + COVERAGE) / 2.0, len(values) - 1))
    return Interval(
        mean=statistics.fmean(values),
        half_width=quantile * statistics.stdev(values) / math.sqrt(len(values)),
        seeds=len(values),
    )
