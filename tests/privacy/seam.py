"""Listening at the seam: record one job's releases, and replay them over a neighbour's exact values.

Both listeners meet a release a second time where a job was killed after it and before its checkpoint: the second one
must be the first one, bit for bit, or a crash would average noise away.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from core.dp.gaussian import joint_noise_multiplier
from core.plan.graphical import MarginalsPlan
from core.plan.images.anchor import ImageAnchorPlan
from core.plan.plan import Plan
from core.plan.stages import AnchorPlan
from models.randomness import Purpose
from models.tables.anchor import FIRST_ROUND, SCREENING, SECOND_ROUND

Name = tuple[int, int]
"""Purpose and step."""
Parts = tuple[tuple[Tensor, float], ...]
"""Exact values, each with the standard deviation of its noise."""
Call = tuple[str, int, int, tuple[torch.Size, ...]]
"""One call at the seam: which half, purpose, step, shapes."""

ROUNDING = 1e-13
"""Slack of the comparisons themselves."""


@dataclass(frozen=True)
class Heard:
    """One release: the exact values, what moves them at most by their own statement, and what came out."""

    exact: Parts
    sensitivity: float
    noisy: tuple[Tensor, ...]


def copied(parts: Iterable[tuple[Tensor, float]]) -> Parts:
    """The exact values in float64, which the job overwrites later."""
    return tuple((values.double().clone(), std) for values, std in parts)


def distance(now: Parts, then: Parts) -> float:
    """How far the exact values moved, in units of their noise."""
    assert [std for _, std in now] == [std for _, std in then], "the noise is public"
    moved = [((a - b) / std).square().sum().item() for (a, std), (b, _) in zip(now, then, strict=True)]
    return math.sqrt(math.fsum(moved))


class Recorder:
    """Keeps every release, in order."""

    def __init__(self) -> None:
        self.heard: dict[Name, Heard] = {}
        self.calls: list[Call] = []
        self._pending: dict[Name, tuple[Parts, float]] = {}

    def exact(
        self, purpose: int, step: int, parts: Iterable[tuple[Tensor, float]], *, sensitivity: float
    ) -> None:
        name, values = (int(purpose), step), copied(parts)
        self.calls.append(("exact", *name, tuple(each.shape for each, _ in values)))
        if name in self.heard:
            assert distance(values, self.heard[name].exact) == 0.0, "a resumed job meets the same values"
        self._pending[name] = (values, sensitivity)

    def noisy(self, purpose: int, step: int, *released: Tensor) -> None:
        name = (int(purpose), step)
        self.calls.append(("noisy", *name, tuple(each.shape for each in released)))
        values, sensitivity = self._pending.pop(name)
        if name in self.heard:
            pairs = zip(self.heard[name].noisy, released, strict=True)
            assert all(torch.equal(kept, each) for kept, each in pairs), f"{name} was noised twice"
        self.heard[name] = Heard(
            exact=values, sensitivity=sensitivity, noisy=tuple(each.clone() for each in released)
        )


class Replayer:
    """Measures how far every exact value moved, and puts the recorded release in place of the new one."""

    def __init__(self, recorded: Recorder) -> None:
        self._recorded = recorded.heard
        self.distances: dict[Name, float] = {}
        self.calls: list[Call] = []

    def exact(
        self, purpose: int, step: int, parts: Iterable[tuple[Tensor, float]], *, sensitivity: float
    ) -> None:
        name, values = (int(purpose), step), copied(parts)
        self.calls.append(("exact", *name, tuple(each.shape for each, _ in values)))
        before = self._recorded[name]
        assert sensitivity == before.sensitivity, "a sensitivity is public"
        self.distances[name] = distance(values, before.exact)

    def noisy(self, purpose: int, step: int, *released: Tensor) -> None:
        name = (int(purpose), step)
        self.calls.append(("noisy", *name, tuple(each.shape for each in released)))
        for each, kept in zip(released, self._recorded[name].noisy, strict=True):
            each.copy_(kept)


def _paid_rounds(anchor: AnchorPlan) -> dict[Name, float]:
    rounds = (
        (FIRST_ROUND, anchor.column_sensitivity),
        (SECOND_ROUND, anchor.table_sensitivity),
        (SCREENING, anchor.screening_sensitivity),
    )
    # A single column has no second round, and few columns no screening.
    return {(Purpose.ANCHOR_NOISE, step): size / anchor.noise_std for step, size in rounds if size}


def paid_distances(plan: Plan) -> dict[Name, float]:
    """How far, in units of its noise, the plan lets one unit move every release."""
    paid = _paid_to_learn(plan)
    if isinstance(plan.anchor, AnchorPlan):
        paid |= _paid_rounds(plan.anchor)
    if isinstance(plan.anchor, ImageAnchorPlan):
        rounds = [(Purpose.IMAGE_CELLS_NOISE, number) for number in range(plan.anchor.rounds)]
        bright = plan.anchor.brightness_noise_multiplier is not None
        names = [
            *([(Purpose.IMAGE_BRIGHTNESS_NOISE, 0)] if bright else []),
            (Purpose.IMAGE_MEANS_NOISE, 0),
            (Purpose.IMAGE_BASIS_NOISE, 0),
            *rounds,
            (Purpose.IMAGE_MOMENTS_NOISE, 0),
        ]
        for name, part in zip(names, plan.anchor.parts, strict=True):
            paid[name] = 1.0 / part.noise_multiplier
    if isinstance(plan.anchor, MarginalsPlan):
        names = [(Purpose.ONE_WAY_NOISE, 0)]
        for number in range(plan.anchor.rounds):
            names += [(Purpose.SCORE_NOISE, number), (Purpose.MARGINAL_NOISE, number)]
        for name, part in zip(names, plan.anchor.parts, strict=True):
            paid[name] = 1.0 / part.noise_multiplier
    if plan.label_histogram is not None:
        paid[Purpose.LABEL_NOISE, 0] = 1.0 / plan.label_histogram.noise_multiplier
    for step in range(plan.steps):
        paid[Purpose.GRADIENT_NOISE, step] = 1.0 / plan.noise_multiplier_at(step)
        if plan.is_refresh(step):
            assert plan.acts is not None
            paid[Purpose.ACTS_NOISE, step] = math.sqrt(plan.acts.groups) / plan.acts.noise_multiplier
    return paid


def _paid_to_learn(plan: Plan) -> dict[Name, float]:
    if plan.learning is None:
        return {}
    each = 1.0 / plan.learning.noise_multiplier
    return {(Purpose.LEARNING_NOISE, step): each for step in range(len(plan.learning.releases))}


def require_stated(recorder: Recorder, plan: Plan) -> None:
    """What every release states of itself is what the plan has paid for: neither more nor much less."""
    paid = paid_distances(plan)
    assert set(recorder.heard) == set(paid), "exactly the plan's releases"
    for name, heard in recorder.heard.items():
        # A round may choose fewer marginals than it has noise for.
        least = 0.0 if name[0] == Purpose.MARGINAL_NOISE else 0.5 * paid[name]
        assert least <= heard.sensitivity <= paid[name] * (1 + ROUNDING), (name, heard.sensitivity)


def require_within(replayer: Replayer, recorder: Recorder, plan: Plan) -> None:
    """Every release moved by no more than it states, and those of a refresh step together by no more than paid."""
    assert set(replayer.distances) == set(recorder.heard)
    for name, moved in replayer.distances.items():
        stated = recorder.heard[name].sensitivity
        assert moved <= stated * (1 + ROUNDING), (name, moved, stated)
    for step in filter(plan.is_refresh, range(plan.steps)):
        assert plan.acts is not None
        sigma = joint_noise_multiplier(
            plan.noise_multiplier_at(step),
            histograms=plan.acts.groups,
            histogram_noise_multiplier=plan.acts.noise_multiplier,
        )
        names = (int(Purpose.GRADIENT_NOISE), step), (int(Purpose.ACTS_NOISE), step)
        together = math.hypot(*(replayer.distances[name] for name in names))
        assert together <= (1 + ROUNDING) / sigma, (step, together, 1.0 / sigma)
