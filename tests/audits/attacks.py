"""Attacks on what is published: who was in the table, and what was their value.

Membership: Carlini et al., "Membership Inference Attacks From First Principles" (2022): for every target, the distributions of
its score over shadow models that had it and that had it not, as Gaussians; the attack's statistic on one model is the
likelihood ratio, fitted without that model. Attribute inference: the likeliest value of a hidden column given all
others; only what it guesses better about members than about non-members is due to their being in the table.

Many targets share one model, so intervals resample models, not targets (2,000 times, percentiles).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from tests.audits.bounds import Floats, Interval

Flags = npt.NDArray[np.bool_]
RESAMPLES = 2000
SMALLEST_SPREAD = 0.02
"""Least standard deviation of a target's log-density: a raw copy would have none."""


def likelihood_ratios(scores: Floats, members: Flags) -> Floats:
    """(models, targets) log ratios of "in" to "out", each fitted on all other models.

    Args:
        scores: (models, targets).
        members: (models, targets) who was in which table.
    """
    ratios = np.zeros_like(scores)
    for sign, side in ((1.0, members), (-1.0, ~members)):
        count = side.sum(0) - side
        total = np.where(side, scores, 0.0).sum(0) - np.where(side, scores, 0.0)
        squares = np.where(side, scores**2, 0.0).sum(0) - np.where(side, scores**2, 0.0)
        mean = total / count
        spread = np.sqrt(np.maximum(squares / count - mean**2, SMALLEST_SPREAD**2))
        ratios += sign * stats.norm.logpdf(scores, mean, spread)
    return ratios


def area(ratios: Floats, members: Flags) -> float:
    """Area under the ROC curve: how often a member scores above a non-member, ties half."""
    ranks = stats.rankdata(ratios.reshape(-1)).reshape(ratios.shape)
    inside = int(members.sum())
    return float((ranks[members].sum() - inside * (inside + 1) / 2) / (inside * (members.size - inside)))


def found_at(ratios: Floats, members: Flags, *, alarm: float) -> float:
    """Share of the members found where at most a share `alarm` of the non-members is accused."""
    outside = np.sort(ratios[~members])
    threshold = outside[min(len(outside) - 1, int(np.ceil((1.0 - alarm) * len(outside))))]
    return float((ratios[members] > threshold).mean())


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """What the membership attack achieves, with 95 % intervals."""

    area: Interval
    found: Interval


def membership(scores: Floats, members: Flags, *, alarm: float, seed: int = 0) -> Membership:
    """Attack all targets in all models."""
    ratios = likelihood_ratios(scores, members)
    rng = np.random.default_rng(seed)
    areas, found = [], []
    for _ in range(RESAMPLES):
        drawn = rng.integers(0, len(ratios), len(ratios))
        areas.append(area(ratios[drawn], members[drawn]))
        found.append(found_at(ratios[drawn], members[drawn], alarm=alarm))
    return Membership(
        area=_interval(area(ratios, members), areas),
        found=_interval(found_at(ratios, members, alarm=alarm), found),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference:
    """How often the hidden value is guessed, of members and of non-members, and the difference with 95 % interval."""

    members: float
    others: float
    advantage: Interval


def inference(right: Flags, members: Flags, *, seed: int = 0) -> Inference:
    """Compare members with the control.

    Args:
        right: (models, records) whether the hidden value was guessed.
        members: (models, records).
    """
    inside = np.array([hits[who].mean() for hits, who in zip(right, members, strict=True)])
    outside = np.array([hits[~who].mean() for hits, who in zip(right, members, strict=True)])
    rng = np.random.default_rng(seed)
    gaps = inside - outside
    resampled = gaps[rng.integers(0, len(gaps), (RESAMPLES, len(gaps)))].mean(1)
    return Inference(
        members=float(inside.mean()),
        others=float(outside.mean()),
        advantage=_interval(float(gaps.mean()), resampled.tolist()),
    )


def _interval(estimate: float, resampled: list[float]) -> Interval:
    lower, upper = np.quantile(resampled, [0.025, 0.975])
    return Interval(estimate=estimate, lower=float(lower), upper=float(upper))


def exposure(codes: npt.NDArray[np.integer], *, neighbours: int = 5) -> Floats:
    """(records,) mean number of columns in which a record differs from its nearest others: how much it stands out."""
    apart = (codes[:, None, :] != codes[None, :, :]).sum(2).astype(np.float64)
    np.fill_diagonal(apart, np.inf)
    return np.sort(apart, axis=1)[:, :neighbours].mean(1)
