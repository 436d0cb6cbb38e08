"""Auditing in one run: a thousand canaries, each in the table by its own coin, and guesses of the coins.

Steinke, Nasr and Jagielski, "Privacy Auditing with One (1) Training Run" (2023), theorem 5.2 and its appendix: of an
(epsilon, delta)-private mechanism, `r` guesses among `m` canaries are right about as often at most as `r` coins that
show heads with probability `e^epsilon / (1 + e^epsilon)`; delta adds the last term.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import optimize, stats

from tests.audits.bounds import Floats

LARGEST_EPSILON = 50.0


def p_value(*, epsilon: float, delta: float, canaries: int, guesses: int, right: int) -> float:
    """The largest probability of so many right guesses under an (epsilon, delta)-private mechanism."""
    chance = 1.0 / (1.0 + np.exp(-epsilon))
    tail = float(stats.binom.sf(right - 1, guesses, chance))
    below = stats.binom.pmf(right - np.arange(1, right + 1), guesses, chance)
    worst = float(np.max(np.cumsum(below) / np.arange(1, right + 1), initial=0.0))
    return min(1.0, tail + 2.0 * canaries * delta * worst)


def epsilon_lower(*, delta: float, canaries: int, guesses: int, right: int, confidence: float) -> float:
    """The least epsilon under which so many right guesses are not too unlikely; 0 if none is needed."""
    risk = 1.0 - confidence

    def excess(epsilon: float) -> float:
        found = p_value(epsilon=epsilon, delta=delta, canaries=canaries, guesses=guesses, right=right)
        return found - risk

    if excess(0.0) >= 0.0:
        return 0.0
    if excess(LARGEST_EPSILON) < 0.0:
        return LARGEST_EPSILON
    return float(optimize.brentq(excess, 0.0, LARGEST_EPSILON))


def ceiling(*, delta: float, canaries: int, confidence: float) -> float:
    """The largest bound that the instrument can return: every canary guessed, every guess right."""
    return epsilon_lower(
        delta=delta, canaries=canaries, guesses=canaries, right=canaries, confidence=confidence
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The best of several numbers of guesses, fixed beforehand and paid for together.

    Args:
        guesses: how many of the surest canaries were guessed.
        right: how many of these guesses were right.
        epsilon: the lower bound.
    """

    guesses: int
    right: int
    epsilon: float


def audit(
    sureness: Floats,
    included: npt.NDArray[np.bool_],
    *,
    delta: float,
    confidence: float,
    shares: Sequence[float],
) -> tuple[Finding, ...]:
    """Guess the surest canaries by the sign of their score, for every share; all bounds hold together.

    Args:
        sureness: (canaries,) positive for "in", the larger the surer.
        included: (canaries,) the coins.
        delta: of the claim.
        confidence: of all bounds together (Bonferroni).
        shares: of the canaries that are guessed.
    """
    canaries = len(sureness)
    order = np.argsort(-np.abs(sureness), kind="stable")
    each = 1.0 - (1.0 - confidence) / len(shares)
    found = []
    for share in shares:
        guessed = order[: max(1, round(share * canaries))]
        right = int(((sureness[guessed] > 0.0) == included[guessed]).sum())
        bound = epsilon_lower(
            delta=delta, canaries=canaries, guesses=len(guessed), right=right, confidence=each
        )
        found.append(Finding(guesses=len(guessed), right=right, epsilon=bound))
    return tuple(found)
