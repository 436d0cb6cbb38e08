"""Smoothing of the noisy counts of a column where the noise is large relative to the counts.

The counts are `y_i = level_i + N(0, s^2)` with known `s`. They are replaced by the posterior mean of the levels:

* Of ordered codes neighbours are averaged. A priori the levels are constant on segments: after each code a new segment begins with
  probability `q`, and its level is `N(0, t^2)`. The scales `t` and the probabilities `q` are those of two short lists, equally likely.
  The posterior mean over all segmentations, scales and probabilities is exact by one forward and one backward recursion (Barry and
  Hartigan 1992, "Product partition models for change point problems"; Fearnhead 2006, "Exact and efficient Bayesian inference for
  multiple changepoint problems").
* Of many codes without an order every level is `N(0, t^2)`, and the probabilities of the scales are those under which the column's
  counts are likeliest: empirical Bayes (Efron and Morris 1973). Lists of many codes, such as ICD or postcodes, have chapters: of what this
  takes off the counts, each block of neighbouring codes gets back the part that its noise does not explain.

Neither prior is true of real columns, which costs more than it saves once the noise is small. So the posterior mean and the counts are
averaged, the former with a weight that falls as the mean count of a code grows (`smoothed_weight`).

Few codes without an order have a prior that is learnt from all such columns (`models.tables.estimation.column_prior`).

Post-processing of a release, free of charge.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from core.plan.counting_rules import smoothed_weight
from models.tables.code_groups import Groups
from models.tables.estimation.column_prior import ColumnPrior, estimated

LONGEST_SEGMENT: Final = 128
"""Codes of a segment at most: time grows with codes times this."""
FEWEST_CODES, MOST_CODES = 3, 2**12
"""Codes of a column that is smoothed; the most where they are ordered, which takes time for each code and each length of a segment."""
FEWEST_OF_BLOCKS: Final = 64
"""Codes without an order from which on there are blocks; a block has about the root of their number."""
CHANGES: Final = (0.02, 0.05, 0.1, 0.2, 0.35, 0.55, 0.8, 0.97)
"""Probabilities of a new segment after a code."""

_ROUNDS: Final = 30
"""Rounds of the expectation maximisation that finds the probabilities of the scales."""
_PRIOR_CODES: Final = 0.5
"""Codes that each scale has in advance, so that few codes do not exclude one."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeOrder:
    """Public facts of the columns.

    Args:
        ordered: of every column, whether neighbouring codes are alike.
        alone: of every column, the codes outside its order, such as missing values.
    """

    ordered: Sequence[bool]
    alone: Sequence[Sequence[int]]

    def of_groups(self, column: int, groups: Groups) -> npt.NDArray[np.int64]:
        """Places of a column's groups in order, without codes that have no place in it; none of a column without an order."""
        if not self.ordered[column]:
            return np.array([], dtype=np.int64)
        return np.setdiff1d(groups, groups[list(self.alone[column])])

    def smoother(self, columns: Sequence[Floats], stds: Floats, *, total: float) -> "Smoother":
        """Learn from the columns without an order how even their shares are.

        Args:
            columns: noisy counts of the codes of every column.
            stds: (columns,) standard deviations of their noise.
            total: records.
        """
        places = [place for place, ordered in enumerate(self.ordered) if not ordered]
        prior = ColumnPrior.learnt(
            [columns[place] for place in places], [float(stds[place]) for place in places], total=total
        )
        return Smoother(order=self, prior=prior, total=total)


@dataclass(frozen=True, slots=True, kw_only=True)
class Smoother:
    """Smooths the columns of one table.

    Args:
        order: of the codes.
        prior: of the columns without an order.
        total: records.
    """

    order: CodeOrder
    prior: ColumnPrior
    total: float

    def smoothed(self, column: int, counts: Floats, std: float) -> Floats:
        """Estimate a column's counts from noisy ones. Of an ordered column, those of codes outside the order stay.

        Args:
            column: which.
            counts: (codes,) noisy counts.
            std: standard deviation of the noise on each.
        """
        ordered = self.order.ordered[column]
        if not ordered and estimated(len(counts)):
            return self.prior.estimate(counts, std, total=self.total)
        places = np.setdiff1d(np.arange(len(counts)), np.array(self.order.alone[column], dtype=np.int64))
        if len(places) < FEWEST_CODES or (ordered and len(places) > MOST_CODES):
            return counts
        own = counts[places]
        weight = smoothed_weight(float(own.mean()) / std)
        smoothed = counts.copy()
        posterior = mean_of_segments if ordered else mean_of_blocks
        smoothed[places] = weight * posterior(own, std) + (1.0 - weight) * own
        return smoothed


def mean_of_blocks(counts: Floats, std: float) -> Floats:
    """Return the mean of the levels of codes without an order, some of whose neighbours may be alike; (codes,).

    Args:
        counts: (codes,) noisy counts in the declared order.
        std: standard deviation of the noise on each.
    """
    levels = mean_of_scales(counts, std)
    if len(counts) < FEWEST_OF_BLOCKS:
        return levels
    taken = counts - levels
    bounds = np.linspace(0, len(counts), math.isqrt(len(counts)) + 1).astype(np.int64)
    sizes, mean = np.diff(bounds), float(taken.mean())
    roots = np.sqrt(sizes)
    sums = np.add.reduceat(taken, bounds[:-1]) - mean * sizes
    back = mean + mean_of_scales(sums / roots, std) / roots
    levels += np.repeat(back, sizes)
    return levels


def mean_of_scales(counts: Floats, std: float) -> Floats:
    """Return the mean of the levels of codes without an order given their counts; (codes,).

    Args:
        counts: (codes,) noisy counts.
        std: standard deviation of the noise on each.
    """
    squares = _scales(counts / std) ** 2
    logs = -0.5 * ((counts[:, None] / std) ** 2 / (1.0 + squares) + np.log(1.0 + squares))
    likely = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares = np.full(len(squares), 1.0 / len(squares))
    for _ in range(_ROUNDS):
        shares = _of_scales(likely, shares).sum(axis=0) + _PRIOR_CODES
        shares /= shares.sum()
    levels: Floats = counts * (_of_scales(likely, shares) @ (squares / (1.0 + squares)))
    return levels


def _of_scales(likely: Floats, shares: Floats) -> Floats:
    """(codes, scales) posterior probabilities of the scale of every code's level."""
    posterior = likely * shares
    posterior /= posterior.sum(axis=1, keepdims=True)
    return posterior


def mean_of_segments(counts: Floats, std: float) -> Floats:
    """Return the mean of the levels of ordered codes given their counts; (codes,).

    Args:
        counts: (codes,) noisy counts in the order of the codes.
        std: standard deviation of the noise on each.
    """
    codes = len(counts)
    longest = min(codes, LONGEST_SEGMENT)
    evidence, means = _segments(counts / std, longest)
    change = np.array(CHANGES)[:, None]
    # (changes, codes, lengths) logarithm of prior and evidence of the segment that begins at a code and has length 1, 2, ...
    weights = evidence + np.arange(longest) * np.log1p(-change[..., None]) + np.log(change[..., None])
    ahead, behind = _forward(weights), _backward(weights)
    whole = ahead[:, -1]
    posterior = np.exp(whole - _log_sum(whole))
    # The posterior probability of every segment, times the mean of its level, is spread over its codes by a difference array.
    steps = np.zeros(codes + 1)
    for length in range(1, longest + 1):
        first = np.arange(codes - length + 1)
        logs = ahead[:, first] + weights[:, first, length - 1] + behind[:, first + length] - whole[:, None]
        # A logarithm of a probability; sums of squares of counts near 2**33 deviations leave it no digits, and `exp` would overflow.
        share = (posterior @ np.exp(np.minimum(logs, 1.0))) * means[first, length - 1]
        steps[first] += share
        steps[first + length] -= share
    levels: Floats = std * np.cumsum(steps)[:codes]
    return levels


def _scales(counts: Floats) -> Floats:
    """Zero, and the powers of two from a half to the largest count; counts and scales in standard deviations of noise."""
    highest = np.log2(max(float(np.abs(counts).max()), 1.0))
    return np.concatenate([[0.0], 2.0 ** np.arange(-1, np.ceil(highest) + 1)])


def _segments(counts: Floats, longest: int) -> tuple[Floats, Floats]:
    """Return of the segment that begins at each code, by its length, the logarithm of its evidence and the mean of its level.

    Both are (codes, lengths); the noise has the standard deviation one, and the evidence is relative to levels of zero.
    """
    codes, lengths = len(counts), np.arange(1, longest + 1)
    sums = np.concatenate([[0.0], np.cumsum(counts)])
    stops = np.arange(codes)[:, None] + lengths
    total = sums[np.minimum(stops, codes)] - sums[:codes, None]
    scales = _scales(counts)
    best, scaled, level = np.full(total.shape, -np.inf), np.zeros(total.shape), np.zeros(total.shape)
    for scale in scales:
        spread = 1.0 + lengths * scale**2
        kept = scale**2 / spread
        logs = 0.5 * (kept * total**2 - np.log(spread)) - np.log(len(scales))
        top = np.maximum(best, logs)
        before, now = np.exp(best - top), np.exp(logs - top)
        scaled, level = scaled * before + now, level * before + now * kept * total
        best = top
    evidence = np.where(stops <= codes, best + np.log(scaled), -np.inf)
    return evidence, level / scaled


def _forward(weights: Floats) -> Floats:
    """(changes, codes + 1) logarithm of the weight of all segmentations of the codes before each."""
    changes, codes, longest = weights.shape
    ahead = np.full((changes, codes + 1), -np.inf)
    ahead[:, 0] = 0.0
    for stop in range(1, codes + 1):
        first = np.arange(max(0, stop - longest), stop)
        ahead[:, stop] = _log_sum((ahead[:, first] + weights[:, first, stop - first - 1]).T)
    return ahead


def _backward(weights: Floats) -> Floats:
    """(changes, codes + 1) logarithm of the weight of all segmentations of the codes from each on."""
    changes, codes, longest = weights.shape
    behind = np.full((changes, codes + 1), -np.inf)
    behind[:, codes] = 0.0
    for first in range(codes - 1, -1, -1):
        lengths = min(longest, codes - first)
        behind[:, first] = _log_sum(
            (weights[:, first, :lengths] + behind[:, first + 1 : first + 1 + lengths]).T
        )
    return behind


def _log_sum(logs: Floats) -> Floats:
    """Logarithm of the sum of exponentials over the first axis."""
    top = logs.max(axis=0)
    sums: Floats = top + np.log(np.exp(logs - top).sum(axis=0))
    return sums
