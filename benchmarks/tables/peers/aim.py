"""AIM: adaptive and iterative measurements (McKenna, Mullins, Sheldon, Miklau 2022, arXiv 2201.12677).

Every round scores all candidate marginals by how badly the model has them, picks one with the exponential mechanism,
measures it with Gaussian noise and fits the model anew. A round that taught less than its noise doubles the budget of
the next rounds (annealing). The workload is all 2- and 3-way marginals of at most `marginals.MOST_CELLS` cells.
"""

import math
from collections.abc import Sequence
from typing import Any

import mbi
import numpy as np

from benchmarks.tables.peers.graphical import Fitted, draw, fit
from benchmarks.tables.peers.marginals import (
    Candidate,
    Clique,
    Codes,
    Counts,
    candidates_of,
    counts_of,
    megabytes,
)

ALPHA = 0.9
"""Share of a round's budget that measures; the rest selects (the paper's)."""
ROUNDS_PER_COLUMN = 16
"""Rounds at the first level of noise, for each column (the paper's)."""
_ABSOLUTE = math.sqrt(2 / math.pi)
"""Mean absolute value of a standard normal number."""
_ROUND_STEPS, _ROUND_TOLERANCE = 1000, 1e-4
_LAST_STEPS, _LAST_TOLERANCE = 5000, 1e-6


class Measured:
    """Measurements so far: one entry for a marginal, repeated measurements weighted by their precision."""

    def __init__(self) -> None:
        self._sums: dict[Clique, Counts] = {}
        self._precisions: dict[Clique, float] = {}

    def add(self, clique: Clique, noisy: Counts, deviation: float) -> None:
        """Take in one measurement with noise of this standard deviation."""
        self._sums[clique] = self._sums.get(clique, 0.0) + noisy / deviation**2
        self._precisions[clique] = self._precisions.get(clique, 0.0) + deviation**-2

    @property
    def cliques(self) -> list[Clique]:
        """The marginals that were measured."""
        return list(self._sums)

    def as_list(self) -> list[Any]:
        """Measurements in mbi's form."""
        return [
            mbi.LinearMeasurement((self._sums[clique] / precision).ravel(), clique, stddev=precision**-0.5)
            for clique, precision in self._precisions.items()
        ]


def synthesize(
    codes: Codes, cardinalities: Sequence[int], *, rho: float, seed: int, most_megabytes: float
) -> tuple[Codes, dict[str, Any]]:
    """Make as many synthetic rows as there are rows.

    Args:
        codes: (rows, columns).
        cardinalities: codes of every column.
        rho: budget in zCDP, for adding or removing one row.
        seed: of the noise.
        most_megabytes: the model may grow to this size; proportionally less while budget is left.

    Returns:
        (rows, columns) codes, and facts about the run.
    """
    rng = np.random.default_rng(seed)
    candidates = candidates_of(codes, cardinalities)
    rounds = ROUNDS_PER_COLUMN * len(cardinalities)
    deviation = math.sqrt(rounds / (2 * ALPHA * rho))
    choosing = math.sqrt(8 * (1 - ALPHA) * rho / rounds)
    measured, spent, done = Measured(), 0.0, 0
    for column in range(len(cardinalities)):
        exact = counts_of(codes, cardinalities, (column,))
        measured.add((column,), exact + rng.normal(0, deviation, exact.shape), deviation)
        spent += 0.5 / deviation**2
    total = mbi.estimation.minimum_variance_unbiased_total(measured.as_list())
    fitted = _fit(measured, cardinalities, total, None)
    last = False
    while not last:
        left = rho - spent
        if left < 2 * (0.5 / deviation**2 + choosing**2 / 8):
            deviation, choosing = math.sqrt(1 / (2 * ALPHA * left)), math.sqrt(8 * (1 - ALPHA) * left)
            last = True
        spent = rho if last else spent + 0.5 / deviation**2 + choosing**2 / 8
        allowed = _affordable(candidates, measured.cliques, cardinalities, most_megabytes * spent / rho)
        chosen = _choose(allowed, fitted, deviation, choosing, rng)
        measured.add(chosen.clique, chosen.exact + rng.normal(0, deviation, chosen.exact.shape), deviation)
        before = fitted.counts(chosen.clique)
        fitted = _fit(measured, cardinalities, total, fitted)
        done += 1
        if np.abs(fitted.counts(chosen.clique) - before).sum() <= _ABSOLUTE * deviation * chosen.exact.size:
            deviation, choosing = deviation / 2, choosing * 2
    fitted = fit(
        measured.as_list(),
        cardinalities,
        total=total,
        forbidden={},
        before=fitted,
        steps=_LAST_STEPS,
        tolerance=_LAST_TOLERANCE,
    )
    facts = {
        "rounds": done,
        "measured": len(measured.cliques),
        "candidates": len(candidates),
        "most_megabytes": most_megabytes,
        "megabytes": fitted.megabytes,
    }
    return draw(fitted, len(codes), seed), facts


def _fit(measured: Measured, cardinalities: Sequence[int], total: float, before: Fitted | None) -> Fitted:
    return fit(
        measured.as_list(),
        cardinalities,
        total=total,
        forbidden={},
        before=before,
        steps=_ROUND_STEPS,
        tolerance=_ROUND_TOLERANCE,
    )


def _affordable(
    candidates: Sequence[Candidate], cliques: Sequence[Clique], cardinalities: Sequence[int], most: float
) -> list[Candidate]:
    """Candidates with which the model stays below `most` MiB; those that it holds already are always among them."""
    held = [frozenset(clique) for clique in cliques]
    maximal = [tuple(clique) for clique in held if not any(clique < other for other in held)]
    return [
        candidate
        for candidate in candidates
        if any(clique.issuperset(candidate.clique) for clique in held)
        or (
            candidate.exact.size * 8 / 2**20 <= most
            and megabytes([*maximal, candidate.clique], cardinalities) <= most
        )
    ]


def _choose(
    candidates: Sequence[Candidate],
    fitted: Fitted,
    deviation: float,
    epsilon: float,
    rng: np.random.Generator,
) -> Candidate:
    """The exponential mechanism over weighted error less what noise of a measurement would cost."""
    scores = np.array(
        [
            one.weight
            * (np.abs(one.exact - fitted.counts(one.clique)).sum() - _ABSOLUTE * deviation * one.exact.size)
            for one in candidates
        ]
    )
    sensitivity = max(one.weight for one in candidates)
    return candidates[int(np.argmax(epsilon / (2 * sensitivity) * scores + rng.gumbel(size=len(scores))))]
