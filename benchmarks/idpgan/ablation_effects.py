"""Effect of each strategy on a score: paired differences of equal seeds, with Student intervals over the seeds."""

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.idpgan.ablation_rows import EFFECTS
from benchmarks.images.intervals import Interval, interval

Run = Mapping[str, Any]
SCORES: dict[str, tuple[str, ...]] = {
    "adult": ("auroc_trees", "auroc_logistic", "two_way", "one_way"),
    "poker": ("accuracy_trees", "balanced_accuracy_trees", "accuracy_logistic", "balanced_accuracy_logistic", "two_way", "one_way"),
    "mnist": ("accuracy_cnn", "inception_score", "frechet", "sliced_wasserstein"),
    "faces": ("accuracy_cnn", "inception_score", "frechet", "sliced_wasserstein"),
}  # fmt: skip
"""Entries of a run that are scores, by data set; the first is the one that the plot shows."""
LESS_IS_BETTER = frozenset({"two_way", "one_way", "frechet", "sliced_wasserstein"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """Effect of adding one strategy on one score.

    Args:
        strategy: as `EFFECTS` names it.
        score: which entry.
        change: score with the strategy less score without, per seed the mean over the pairs of rows, over seeds an interval.
    """

    strategy: str
    score: str
    change: Interval

    @property
    def verdict(self) -> str:
        """Better, worse, or not distinguished from no effect at 95 %; one seed distinguishes nothing."""
        if self.change.half_width is None:
            return "one seed"
        if abs(self.change.mean) <= self.change.half_width:
            return "not distinguished"
        return "better" if (self.change.mean > 0) != (self.score in LESS_IS_BETTER) else "worse"

    def text(self, digits: int) -> str:
        """The effect in words, such as +0.012 ± 0.004, better."""
        sign = "+" if self.change.mean > 0 else ""
        return f"{sign}{self.change.text(digits)}, {self.verdict}"


def effects(runs: Iterable[Run], score: str) -> list[Effect]:
    """Every strategy's effect on one score.

    Args:
        runs: of one part of the table.
        score: present in every run.

    Returns:
        One effect per strategy, in the order of `EFFECTS`, over the seeds that have all rows of all its pairs; none without
        such a seed.
    """
    values: dict[int, dict[str, float]] = {}
    for run in runs:
        values.setdefault(run["seed"], {})[run["row"]] = float(run[score])
    found = []
    for strategy, pairs in EFFECTS.items():
        needed = {row for pair in pairs for row in pair}
        changes = [
            statistics.fmean(rows[one] - rows[other] for one, other in pairs)
            for rows in values.values()
            if needed <= set(rows)
        ]
        if changes:
            found.append(Effect(strategy=strategy, score=score, change=interval(changes)))
    return found


def parts(runs: Iterable[Run]) -> dict[tuple[str, float, bool], list[Run]]:
    """Runs by data set, epsilon and whether there is an anchor, in that order."""
    groups: dict[tuple[str, float, bool], list[Run]] = {}
    order = list(SCORES)
    for run in sorted(runs, key=lambda run: (order.index(run["dataset"]), run["epsilon"], run["anchor"])):
        groups.setdefault((run["dataset"], run["epsilon"], run["anchor"]), []).append(run)
    return groups
