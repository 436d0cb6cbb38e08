"""The private parts of a plan, as values: blocks of noise, thresholds, anchor, label histogram."""

import math
from dataclasses import dataclass

from core.privacy.joint import joint_noise_multiplier
from core.privacy.mechanism import Composed, DiscreteGaussian, Gaussian, Mechanism, PoissonSampled, Repeated
from core.synthesis.image_anchor import ImageAnchorPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseBlock:
    """Consecutive steps with one noise multiplier."""

    first_step: int
    steps: int
    noise_multiplier: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ActsPlan:
    """Noisy histograms of gradient norms, released on every step whose index `interval` divides."""

    interval: int
    groups: int
    """H: histograms per refresh, each of sensitivity one."""
    noise_multiplier: float
    """s_h: noise standard deviation per bin."""
    lowest_edge: float
    edge_ratio: float
    bins: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorPlan:
    """One Gaussian release of the one-hot second moments; the noise std per cell is multiplier * sensitivity."""

    noise_multiplier: float
    sensitivity: float
    diagonal_weight: float

    @property
    def noise_std(self) -> float:
        """Standard deviation of the noise on every released (weighted) cell."""
        return self.noise_multiplier * self.sensitivity

    @property
    def releases(self) -> tuple[tuple[str, int, float, float], ...]:
        """What is released: name, times, sensitivity, noise multiplier."""
        return (("anchor", 1, self.sensitivity, self.noise_multiplier),)

    @property
    def parts(self) -> tuple[Gaussian, ...]:
        """The mechanism of every release, in order."""
        return (Gaussian(noise_multiplier=self.noise_multiplier),)


Anchor = AnchorPlan | ImageAnchorPlan
"""What is released of all records before training: one-hot moments of a table, or moments of images."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelPlan:
    """One discrete Gaussian histogram of the target column; one unit counts once."""

    noise_multiplier: float


def anchor_sensitivity(columns: int, *, diagonal_weight: float) -> float:
    """Return the L2 sensitivity of the upper triangle of X^T X under add-or-remove-one.

    A record in one-hot form touches one cell of each of the k diagonal blocks (scaled by the weight w) and of each
    of the k (k - 1) / 2 blocks above: sqrt(w^2 k + k (k - 1) / 2). A unit with several records contributes their
    average, whose norm is no larger. Rounded up by one part in 10^12.
    """
    return math.sqrt(diagonal_weight**2 * columns + columns * (columns - 1) / 2) * (1 + 1e-12)


def refreshes(first_step: int, steps: int, interval: int) -> int:
    """Return how many of the steps from `first_step` on are divisible by `interval`."""
    return -(-(first_step + steps) // interval) - -(-first_step // interval)


def training_mechanism(
    blocks: tuple[NoiseBlock, ...], acts: ActsPlan | None, *, sampling_rate: float, step_count: int
) -> tuple[Mechanism, ...]:
    """Return what the first `step_count` steps release: per block the ordinary steps, then the refreshes."""
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
    """Every private release of a plan: first "measure" (label histogram or anchor), then the training steps."""

    blocks: tuple[NoiseBlock, ...]
    acts: ActsPlan | None
    anchor: Anchor | None
    label_histogram: LabelPlan | None

    @property
    def steps(self) -> int:
        """Noisy critic updates in all."""
        return sum(block.steps for block in self.blocks)

    def mechanism(self, *, sampling_rate: float, step_count: int) -> Mechanism:
        """Return what is released up to and including the first `step_count` training steps."""
        parts: list[Mechanism] = []
        if self.label_histogram is not None:
            parts.append(DiscreteGaussian(noise_multiplier=self.label_histogram.noise_multiplier))
        if self.anchor is not None:
            parts += self.anchor.parts
        parts += training_mechanism(
            self.blocks, self.acts, sampling_rate=sampling_rate, step_count=step_count
        )
        return Composed(parts=tuple(parts))
