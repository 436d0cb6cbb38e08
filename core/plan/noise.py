"""Calibration of a plan's private stages: the anchor's noise by its fixed share, then the least noise for the steps.

The noise multiplier of the steps follows a public schedule (DPBA), rounded to blocks of constant noise. An order may set it
instead, as IDPGAN does; then the number of steps is cut to the budget before any of them is taken.
"""

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from core.dp import gaussian
from core.dp.accountant import epsilons
from core.dp.calibration import (
    SMALLEST_SCALE,
    gaussian_noise_multiplier,
    round_up,
    sampled_gaussian_guess,
    smallest_scale,
)
from core.dp.errors import TargetOutOfReach
from core.dp.guarantee import PrivacyGuarantee
from core.dp.mechanism import Composed, PoissonSampled, leaves
from core.plan import defaults
from core.plan.critic_groups import group_count, groups_of_shapes, image_critic_shapes
from core.plan.images.anchor import image_anchor_plan
from core.plan.learning import NOTHING_LEARNT, LearningQuestion
from core.plan.options import IdpganOptions
from core.plan.stages import (
    ActsPlan,
    Anchor,
    LabelPlan,
    NoiseBlock,
    PrivateStages,
    anchor_plan,
    training_mechanism,
)

_LARGEST_EXPONENT = 700.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanQuestion:
    """The inputs of calibration; hashable, to calibrate a quote and its order only once."""

    guarantee: PrivacyGuarantee
    options: IdpganOptions
    automatic_histogram_noise: bool
    facts: defaults.PublicFacts
    needs_labels: bool
    learning: LearningQuestion = NOTHING_LEARNT

    @property
    def sampling_rate(self) -> float:
        """The public Poisson rate: expected batch over declared size."""
        return self.options.expected_batch_size / self.facts.declared_size

    def anchor(self) -> Anchor | None:
        """Return the anchor with the noise of its share."""
        if not self.options.anchor:
            return None
        if (image := self.facts.image) is not None:
            return image_anchor_plan(
                self.guarantee,
                share=self.options.anchor_share,
                declared_size=self.facts.declared_size,
                shape=(image.height, image.width, image.channels),
                classes=len(image.labels),
            )
        return anchor_plan(
            self.facts.columns,
            diagonal_weight=self.options.anchor_diagonal_weight,
            most_records=self.facts.most_records,
            screening_share=self.options.anchor_screening_share,
            combinations=self.facts.counts_combinations(self.options.anchor_screening_share),
            noise_multiplier=gaussian_noise_multiplier(
                self.learning.left_of(self.guarantee), share=self.options.anchor_share * self.learning.rest
            ),
        )

    def label_histogram(self) -> LabelPlan | None:
        """Return the label histogram with the noise of its share."""
        if not self.needs_labels:
            return None
        share = defaults.LABEL_SHARE * self.learning.rest
        return LabelPlan(
            noise_multiplier=gaussian_noise_multiplier(self.learning.left_of(self.guarantee), share=share)
        )

    def blocks(self, scale: float) -> tuple[NoiseBlock, ...]:
        """Return the schedule scaled to a first multiplier of `scale`, every multiplier rounded up."""
        blocks: list[NoiseBlock] = []
        first = 0
        for steps, relative in schedule_blocks(self.options):
            blocks.append(
                NoiseBlock(first_step=first, steps=steps, noise_multiplier=round_up(scale * relative))
            )
            first += steps
        return tuple(blocks)

    def acts(self, scale: float) -> ActsPlan | None:
        """Return the releases of thresholds; without a requested noise, it has a fixed ratio to `scale`."""
        if not self.options.acts:
            return None
        groups = self._groups()
        noise = self.options.acts_noise_multiplier
        if self.automatic_histogram_noise:
            noise = round_up(scale * math.sqrt(groups / defaults.ACTS_SHARE))
        return ActsPlan(
            interval=self.options.acts_interval,
            groups=groups,
            noise_multiplier=noise,
            lowest_edge=self.options.acts_lowest_edge,
            edge_ratio=self.options.acts_edge_ratio,
            bins=self.options.acts_bins,
        )

    def _groups(self) -> int:
        image = self.facts.image
        if image is None:
            return group_count(self.options, self.facts.cells)
        return groups_of_shapes(self.options, image_critic_shapes(self.options, image))


def relative_multiplier(options: IdpganOptions, step: float) -> float:
    """Return the noise multiplier at `step` divided by that at step 0, in [schedule_end, 1].

    The schedules are those of DPBA (equations 8 to 10). With t = step / period, and never below `end`: exponential
    exp(-decay t); step decay^floor(t); polynomial (1 - end) (1 - min(t, 1))^decay + end. A later start delays all of
    them: t = (step - start) / period, and 0 before the start.
    """
    time = max(0, step - options.schedule_start) / options.schedule_period
    end = options.schedule_end
    if options.schedule == "constant":
        return 1.0
    if options.schedule == "exponential":
        value = math.exp(-options.schedule_decay * time)
    elif options.schedule == "step":
        value = options.schedule_decay ** math.floor(time)
    else:
        value = (1 - end) * (1 - min(time, 1.0)) ** options.schedule_decay + end
    return max(value, end)


def schedule_blocks(options: IdpganOptions) -> tuple[tuple[int, float], ...]:
    """Return (steps, relative multiplier) per block, in order; the last block may be shorter.

    A block takes the value of its first step, so its noise is never below the schedule's. The steps before a later start
    are one block, and the others share the rest. Adjacent blocks of equal value are merged.
    """
    blocks: list[tuple[int, float]] = []
    for first, following in pairwise((*_first_steps(options), options.steps)):
        steps = following - first
        value = relative_multiplier(options, first)
        if blocks and blocks[-1][1] == value:
            blocks[-1] = (blocks[-1][0] + steps, value)
        else:
            blocks.append((steps, value))
    return tuple(blocks)


def _first_steps(options: IdpganOptions) -> Iterator[int]:
    """The first step of each block, before merging."""
    start, blocks = options.schedule_start, options.schedule_blocks
    if start:
        yield 0
        blocks -= 1
    if blocks and options.steps:
        yield from range(start, options.steps, math.ceil((options.steps - start) / blocks))


@lru_cache(maxsize=512)
def calibrated_stages(question: PlanQuestion) -> PrivateStages:
    """Return the stages with the least noise on the steps that satisfies the guarantee.

    If the order sets the noise, return as many of the ordered steps as satisfy it.

    Raises:
        TargetOutOfReach: no noise on the steps does, or not one step of the ordered noise.
    """
    anchor, label_histogram = question.anchor(), question.label_histogram()
    learning = question.learning.plan(question.guarantee)

    def answer(scale: float) -> PrivateStages:
        return PrivateStages(
            blocks=question.blocks(scale),
            acts=question.acts(scale),
            anchor=anchor,
            label_histogram=label_histogram,
            learning=learning,
        )

    if not question.options.critic:
        return answer(1.0)
    if question.options.first_noise_multiplier is not None:
        return _affordable(answer(question.options.first_noise_multiplier), question)
    taken = question.options.anchor_share + (defaults.LABEL_SHARE if label_histogram is not None else 0.0)
    taken = question.learning.share + question.learning.rest * taken
    guess = sampled_gaussian_guess(
        sampling_rate=question.sampling_rate,
        squares=lambda scale: _squares(answer(scale)),
        mu=gaussian.largest_mu(question.learning.left_of(question.guarantee)) * math.sqrt(1 - taken),
    )
    scale = smallest_scale(
        lambda scale: answer(scale).mechanism(
            sampling_rate=question.sampling_rate, step_count=question.options.steps
        ),
        guarantee=question.guarantee,
        guess=guess,
        slope=1 - taken,
    )
    # If delta exceeds the probability that a unit is sampled at all, no noise would be needed; keep the minimum.
    last = min(relative for _steps, relative in schedule_blocks(question.options))
    return answer(max(scale, round_up(SMALLEST_SCALE / last)))


def _affordable(stages: PrivateStages, question: PlanQuestion) -> PrivateStages:
    """Return the stages with the largest number of first steps that satisfies the guarantee, by the reported epsilon.

    Raises:
        TargetOutOfReach: not one step does.
    """

    def exceeds(step_count: int) -> bool:
        mechanism = stages.mechanism(sampling_rate=question.sampling_rate, step_count=step_count)
        return epsilons(mechanism, delta=question.guarantee.delta).reported > question.guarantee.epsilon

    # The number at which the search ends has been evaluated, so no property of the accountant is assumed.
    steps = bisect_left(range(1, stages.steps + 1), x=True, key=exceeds)
    if not steps:
        raise TargetOutOfReach(
            "not one step of the ordered noise stays within the target",
            remedy="raise epsilon or first_noise_multiplier, or leave out first_noise_multiplier",
        )
    return replace(stages, blocks=_first_blocks(stages.blocks, steps))


def _first_blocks(blocks: tuple[NoiseBlock, ...], steps: int) -> tuple[NoiseBlock, ...]:
    """Return the blocks of the first `steps` steps."""
    return tuple(
        replace(block, steps=min(block.steps, steps - block.first_step))
        for block in blocks
        if block.first_step < steps
    )


def _squares(stages: PrivateStages) -> float:
    """Return the sum over steps of exp(1 / sigma_eff^2) - 1, capped where it overflows."""
    parts = training_mechanism(stages.blocks, stages.acts, sampling_rate=1.0, step_count=stages.steps)
    counts = leaves(Composed(parts=parts))
    return math.fsum(
        count * math.expm1(min(leaf.mechanism.noise_multiplier**-2, _LARGEST_EXPONENT))
        for leaf, count in counts.items()
        if isinstance(leaf, PoissonSampled)
    )
