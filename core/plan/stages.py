"""The private stages of a plan as values: noise blocks, thresholds, anchor, label histogram."""

import math
from dataclasses import dataclass, replace

from core.dp.gaussian import joint_noise_multiplier
from core.dp.mechanism import Composed, DiscreteGaussian, Gaussian, Mechanism, PoissonSampled, Repeated
from core.plan.graphical import MarginalsPlan
from core.plan.images.anchor import ImageAnchorPlan
from core.plan.learning import LearningPlan
from core.values import Count, CountOrNone, NotNegative, OrFalse, Positive


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseBlock:
    """Consecutive steps with one noise multiplier."""

    first_step: CountOrNone
    steps: Count
    noise_multiplier: Positive


@dataclass(frozen=True, slots=True, kw_only=True)
class ActsPlan:
    """Noisy histograms of gradient norms, released at every step whose index `interval` divides."""

    interval: Count
    groups: Count
    """H: histograms per refresh, each of sensitivity one."""
    noise_multiplier: Positive
    """s_h: noise standard deviation per bin."""
    lowest_edge: Positive
    edge_ratio: Positive
    bins: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorPlan:
    """Noisy counts of a table in rounds (`models.tables.anchor`). The noise of a weighted cell is multiplier times sensitivity.

    Plans older than the second round have one release and zero sensitivities of rounds. The sensitivity of
    the screening (`models.tables.screening`) is 0 if every pair is counted.
    """

    noise_multiplier: Positive
    sensitivity: Positive
    """Sensitivity of all releases together."""
    diagonal_weight: Positive
    column_sensitivity: NotNegative = 0.0
    table_sensitivity: NotNegative = 0.0
    screening_sensitivity: NotNegative = 0.0
    combinations: OrFalse = False
    """Whether the second round counts all combinations of the codes of all columns instead of pairs."""

    @property
    def noise_std(self) -> float:
        """Standard deviation of the noise on every released, weighted cell."""
        return self.noise_multiplier * self.sensitivity

    @property
    def releases(self) -> tuple[tuple[str, int, float, float], ...]:
        """The releases: name, times, sensitivity, noise multiplier."""
        rounds = (
            ("anchor-columns", self.column_sensitivity),
            ("anchor-screening", self.screening_sensitivity),
            ("anchor-tables", self.table_sensitivity),
        )
        made = tuple((name, 1, size, self.noise_std / size) for name, size in rounds if size)
        return made or (("anchor", 1, self.sensitivity, self.noise_multiplier),)

    def counting(self, records: int) -> "AnchorPlan":
        """Return the anchor for units of which `records` records count fully, instead of counting as one together.

        Sensitivities and noise scale alike; the noise multipliers, and therefore the cost, are unchanged.
        """
        return replace(
            self,
            sensitivity=records * self.sensitivity,
            column_sensitivity=records * self.column_sensitivity,
            table_sensitivity=records * self.table_sensitivity,
            screening_sensitivity=records * self.screening_sensitivity,
        )

    @property
    def parts(self) -> tuple[Gaussian, ...]:
        """The mechanism of every release, in order."""
        return tuple(Gaussian(noise_multiplier=noise) for _name, _times, _size, noise in self.releases)


Anchor = AnchorPlan | ImageAnchorPlan | MarginalsPlan
"""Measurements on all records: one-hot moments of a table, moments of images, or a graphical model's
marginals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelPlan:
    """One discrete Gaussian histogram of the target column; one unit counts once."""

    noise_multiplier: Positive


def anchor_plan(
    columns: int,
    *,
    diagonal_weight: float,
    noise_multiplier: float,
    most_records: int = 1,
    screening_share: float = 0.0,
    combinations: bool = False,
) -> AnchorPlan:
    """Return the plan of an anchor with its L2 sensitivities under add-or-remove-one.

    A record touches one cell of each of the k columns, whose weights have a mean square of w^2, and one cell of each of
    k (k - 1) / 2 tables, whose weights have a mean square of one: sqrt(w^2 k + k (k - 1) / 2). A unit with
    several records contributes their average, whose norm is no larger, or as many as the declared bound
    fully. One table of all combinations has the squared weights of all pairs. The screening takes its share of
    the square from the tables, so the total is unchanged. Rounded up by one part in 10^12.

    Args:
        columns: k.
        diagonal_weight: w.
        most_records: how many records of a unit count fully; 1 if they count as one together.
        noise_multiplier: of all releases together.
        screening_share: of the squared sensitivity.
        combinations: whether all combinations of codes are counted instead of pairs; without a screening.
    """
    of_columns = most_records**2 * diagonal_weight**2 * columns
    of_pairs = most_records**2 * columns * (columns - 1) / 2
    of_screening = min(screening_share * (of_columns + of_pairs), of_pairs / 2)
    return AnchorPlan(
        noise_multiplier=noise_multiplier,
        sensitivity=math.sqrt(of_columns + of_pairs) * (1 + 1e-12),
        diagonal_weight=diagonal_weight,
        column_sensitivity=math.sqrt(of_columns) * (1 + 1e-12),
        table_sensitivity=math.sqrt(of_pairs - of_screening) * (1 + 1e-12),
        screening_sensitivity=math.sqrt(of_screening) * (1 + 1e-12),
        combinations=combinations,
    )


def refreshes(first_step: int, steps: int, interval: int) -> int:
    """Return how many of `steps` steps from `first_step` on have an index divisible by `interval`."""
    return -(-(first_step + steps) // interval) - -(-first_step // interval)


def training_mechanism(
    blocks: tuple[NoiseBlock, ...], acts: ActsPlan | None, *, sampling_rate: float, step_count: int
) -> tuple[Mechanism, ...]:
    """Return the mechanisms of the first `step_count` steps: per block the ordinary steps, then the refreshes."""
    parts: list[Mechanism] = []
    for block in blocks:
        steps = min(block.steps, step_count - block.first_step)
        if steps <= 0:
            break
        refreshed = refreshes(block.first_step, steps, acts.interval) if acts else 0
        parts += _repeated(sampling_rate, block.noise_multiplier, steps - refreshed)
        if acts and refreshed:
            joint = joint_noise_multiplier(
                block.noise_multiplier,
                histograms=acts.groups,
                histogram_noise_multiplier=acts.noise_multiplier,
            )
            parts += _repeated(sampling_rate, joint, refreshed)
    return tuple(parts)


def _repeated(sampling_rate: float, noise_multiplier: float, count: int) -> list[Mechanism]:
    if count == 0:
        return []
    step = PoissonSampled(sampling_rate=sampling_rate, mechanism=Gaussian(noise_multiplier=noise_multiplier))
    return [Repeated(mechanism=step, count=count)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateStages:
    """Every private release of a plan: of the domain, then "measure" (label histogram or anchor), then the training steps."""

    blocks: tuple[NoiseBlock, ...]
    acts: ActsPlan | None
    anchor: Anchor | None
    label_histogram: LabelPlan | None
    learning: LearningPlan | None = None

    @property
    def steps(self) -> int:
        """Noisy critic updates in all."""
        return sum(block.steps for block in self.blocks)

    def mechanism(self, *, sampling_rate: float, step_count: int) -> Mechanism:
        """Return the mechanism up to and including the first `step_count` training steps."""
        parts: list[Mechanism] = [] if self.learning is None else [*self.learning.parts]
        if self.label_histogram is not None:
            parts.append(DiscreteGaussian(noise_multiplier=self.label_histogram.noise_multiplier))
        if self.anchor is not None:
            parts += self.anchor.parts
        parts += training_mechanism(
            self.blocks, self.acts, sampling_rate=sampling_rate, step_count=step_count
        )
        return Composed(parts=tuple(parts))
