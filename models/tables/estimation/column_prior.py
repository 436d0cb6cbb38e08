"""Counts of a column without an order, given noisy ones, under Dirichlet priors whose concentrations all columns share.

The counts are `y_i = n p_i + N(0, s^2)` with known `s`, and the total `n` is known far better than a count. The shares `p` are
`Dirichlet(a, ..., a)`: nearly even for a large concentration `a`, a few codes with nearly all records for a small one. How likely
each concentration of a short list is, is learnt from all columns of the table: empirical Bayes (Efron and Morris 1973). Where noise
is large, one column of few codes does not show whether it is even or skewed; a table of such columns can.

Given `a`, counts depend on each other only by their total. They are taken as independent, with densities in proportion to

    x^(a - 1) e^(t x) N(y_i; x, s^2),     x from 0 to n,

where `t` makes their means sum to `n`, and the evidence is that of a saddlepoint (Daniels 1954, "Saddlepoint approximations in
statistics"). Large concentrations are normal distributions with the same mean and variance. The estimate has the least expected total
variation from the counts: it consists of quantiles of one level, at which they sum to the total.

Post-processing of a release, free of charge.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, ndtri

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

FEWEST_CODES, MOST_CODES = 2, 32
"""Codes of a column that is estimated so. No one concentration describes many codes, of which a few are frequent."""
SKEWED: Final = np.array([0.004, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0])
"""Concentrations whose densities are summed over a grid."""
EVEN: Final = np.array([10.0, 30.0, 100.0, 300.0, 1000.0, 1e12])
"""Concentrations that are taken as normal distributions; with the last all codes have the same share."""

_ROUNDS: Final = 50
"""Rounds of the expectation maximisation that finds the weights of the concentrations."""
_PRIOR_COLUMNS: Final = 0.03
"""Columns that each concentration has in advance."""
_LEAST_COUNT: Final = 1e-4
"""Least count of the grid, as a share of the total. What a prior has below it is put at zero."""
_OF_TOTAL, _OF_NOISE, _DEVIATIONS = 48, 41, 5.0
"""Points of the grid up to the total, points around a noisy count, and their distance from it in standard deviations."""
_STEPS, _CLOSE = 40, 1e-6
"""Steps of the search for the tilt, and the share of the total that the means may miss it by."""
_HALVINGS: Final = 14
"""Halvings of the search for the level of the quantiles."""
_LEAST_CHANCE: Final = 1e-3
"""A concentration that is less likely takes no part in an estimate."""
_LEAST_VARIANCE: Final = 1e-9


def estimated(codes: int) -> bool:
    """Whether a column of so many codes without an order is estimated by a `ColumnPrior`."""
    return FEWEST_CODES <= codes <= MOST_CODES


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColumnPrior:
    """How likely each concentration is.

    Args:
        weights: (concentrations,) of `SKEWED`, then `EVEN`; with sum one.
    """

    weights: Floats

    @classmethod
    def learnt(cls, columns: Sequence[Floats], stds: Sequence[float], *, total: float) -> "ColumnPrior":
        """Learn the weights from all columns without an order.

        Args:
            columns: (codes,) noisy counts of each; those of fewer or more codes than are estimated take no part.
            stds: standard deviations of their noise.
            total: records.
        """
        evidence = [
            posterior(counts, std, total).evidence
            for counts, std in zip(columns, stds, strict=True)
            if estimated(len(counts))
        ]
        concentrations = len(SKEWED) + len(EVEN)
        weights = np.full(concentrations, 1.0 / concentrations)
        if evidence:
            likely = np.exp([of_column - of_column.max() for of_column in evidence])
            for _ in range(_ROUNDS):
                chances = likely * weights
                weights = (chances / chances.sum(axis=1, keepdims=True)).sum(axis=0) + _PRIOR_COLUMNS
                weights /= weights.sum()
        return cls(weights=weights)

    def estimate(self, counts: Floats, std: float, *, total: float) -> Floats:
        """Return the counts with the least expected total variation; (codes,), not negative, with the total as their sum.

        Args:
            counts: (codes,) noisy counts, `FEWEST_CODES` to `MOST_CODES`.
            std: standard deviation of the noise on each.
            total: records.
        """
        under = posterior(counts, std, total)
        chances = self.weights * np.exp(under.evidence - under.evidence.max())
        chances[chances < _LEAST_CHANCE * chances.sum()] = 0.0
        under, chances = under.part(chances > 0.0), chances[chances > 0.0] / chances.sum()
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            level = (low + high) / 2
            if under.quantiles(chances, level).sum() > total:
                high = level
            else:
                low = level
        found, more = under.quantiles(chances, low), under.quantiles(chances, high)
        # Quantiles leave zero by a jump, so no level may give the total.
        part = (total - found.sum()) / max(more.sum() - found.sum(), _LEAST_VARIANCE)
        estimate: Floats = found + min(max(part, 0.0), 1.0) * (more - found)
        return estimate


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Posterior:
    """Distributions of the counts of one column under each concentration.

    Args:
        evidence: (concentrations,) logarithms of the density of the noisy counts.
        points: (codes, points) counts of the grid, rising.
        below: (skewed, codes, points) the probability of a smaller count.
        means: (even, codes).
        stds: (even,).
    """

    evidence: Floats
    points: Floats
    below: Floats
    means: Floats
    stds: Floats

    def part(self, which: Flags) -> "Posterior":
        """Distributions under some of the concentrations."""
        skewed, even = np.split(which, [len(SKEWED)])
        return Posterior(
            evidence=self.evidence[which], points=self.points, below=self.below[skewed],
            means=self.means[even], stds=self.stds[even],
        )  # fmt: skip

    def quantiles(self, chances: Floats, level: float) -> Floats:
        """The mean, over the concentrations, of every count's quantile; (codes,)."""
        if level in (0.0, 1.0):
            return np.zeros(len(self.points)) if level == 0.0 else self.points[:, -1]
        after = np.minimum((self.below < level).sum(axis=2), self.points.shape[1] - 1)
        before = np.maximum(after - 1, 0)
        distributions, codes = np.arange(len(self.below))[:, None], np.arange(len(self.points))
        low, high = self.below[distributions, codes, before], self.below[distributions, codes, after]
        part = np.clip((level - low) / np.where(high > low, high - low, 1.0), 0.0, 1.0)
        counts = self.points[codes, before] * (1.0 - part) + self.points[codes, after] * part
        skewed = np.where(self.below[:, :, 0] >= level, 0.0, counts)
        even = np.maximum(self.means + self.stds[:, None] * ndtri(level), 0.0)
        found: Floats = chances @ np.concatenate([skewed, even])
        return found


def posterior(counts: Floats, std: float, total: float) -> Posterior:
    """Return the distributions of a column's counts.

    Args:
        counts: (codes,) noisy counts.
        std: standard deviation of the noise on each.
        total: records.
    """
    points, widths = _grid(counts, std, total)
    evidence, below = _under_skewed(counts, std, total, points, widths)
    codes, mean = len(counts), total / len(counts)
    ratios = (mean / std) ** 2 / EVEN
    kept = ratios / (1.0 + ratios)
    away = counts - counts.mean()
    misfit = (away @ away) / (1.0 + ratios) + codes * (counts.mean() - mean) ** 2
    of_even = -0.5 * (misfit / std**2 + (codes - 1) * np.log1p(ratios))
    return Posterior(
        evidence=np.concatenate([evidence, of_even]),
        points=points,
        below=below,
        means=mean + kept[:, None] * away,
        stds=std * np.sqrt(kept),
    )


def _grid(counts: Floats, std: float, total: float) -> tuple[Floats, Floats]:
    """(codes, points) counts above zero, rising, and their widths by the trapezoid rule."""
    least = _LEAST_COUNT * total
    near = np.clip(counts[:, None] + std * np.linspace(-_DEVIATIONS, _DEVIATIONS, _OF_NOISE), least, total)
    everywhere = np.broadcast_to(np.geomspace(least, total, _OF_TOTAL), (len(counts), _OF_TOTAL))
    points = np.sort(np.hstack([everywhere, near]), axis=1)
    widths, halves = np.zeros_like(points), np.diff(points, axis=1) / 2
    widths[:, :-1] += halves
    widths[:, 1:] += halves
    return points, widths


def _under_skewed(
    counts: Floats, std: float, total: float, points: Floats, widths: Floats
) -> tuple[Floats, Floats]:
    """The logarithm of the evidence of every skewed concentration, and its posterior.

    Returns:
        (skewed,), and (skewed, codes, points) the probability of a smaller count.
    """
    codes, each = len(counts), SKEWED[:, None, None]
    least = _LEAST_COUNT * total
    with np.errstate(divide="ignore"):
        noise = -0.5 * ((counts[:, None] - points) / std) ** 2 + np.log(widths)
    zero = -0.5 * (counts[:, None] / std) ** 2 + each * math.log(least) - np.log(each)
    weights = np.concatenate([zero, noise + (each - 1.0) * np.log(points)], axis=2)
    places = np.hstack([np.zeros((codes, 1)), points])
    tilt, low, high = np.zeros(len(SKEWED)), np.full(len(SKEWED), -np.inf), np.full(len(SKEWED), np.inf)
    tilted = _tilted(weights, places, tilt)
    for _ in range(_STEPS):
        gap = tilted.means - total
        if (np.abs(gap) < _CLOSE * total).all():
            break
        low, high = np.where(gap > 0, low, tilt), np.where(gap > 0, tilt, high)
        step = tilt - np.clip(gap / tilted.variances, -_DEVIATIONS / std, _DEVIATIONS / std)
        bounded = np.isfinite(low) & np.isfinite(high) & ((step <= low) | (step >= high))
        tilt = np.where(bounded, (low + high) / 2, step)
        tilted = _tilted(weights, places, tilt)
    of_total = -tilt * total - 0.5 * np.log(2.0 * math.pi * tilted.variances)
    normalised = gammaln(codes * SKEWED) - codes * gammaln(SKEWED) - (codes * SKEWED - 1.0) * math.log(total)
    evidence = tilted.logs + of_total + normalised
    below = np.cumsum(tilted.shares, axis=2)[:, :, 1:] - 0.5 * tilted.shares[:, :, 1:]
    return evidence, below


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Tilted:
    """Independent distributions of the counts of a column, tilted.

    Args:
        shares: (skewed, codes, points) probabilities.
        logs: (skewed,) logarithms of what all distributions together were divided by.
        means, variances: (skewed,) of the sum of the counts.
    """

    shares: Floats
    logs: Floats
    means: Floats
    variances: Floats


def _tilted(weights: Floats, places: Floats, tilt: Floats) -> _Tilted:
    logs = weights + tilt[:, None, None] * places
    top = logs.max(axis=2, keepdims=True)
    shares = np.exp(logs - top)
    sums = shares.sum(axis=2, keepdims=True)
    shares /= sums
    means = (shares * places).sum(axis=2)
    variances = ((shares * places**2).sum(axis=2) - means**2).sum(axis=1)
    return _Tilted(
        shares=shares,
        logs=(np.log(sums) + top).sum(axis=(1, 2)),
        means=means.sum(axis=1),
        variances=np.maximum(variances, _LEAST_VARIANCE),
    )
