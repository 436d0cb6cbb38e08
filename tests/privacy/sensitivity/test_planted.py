"""The power of these tests: every bug of this kind, planted, is found by the very check that the code passes."""

from typing import Any

import pytest
import torch
from torch import Tensor

from models.acts import AdaptiveThresholds
from models.critic.closed_form import ClosedForm
from models.critic.factors import BETWEEN, Factoring, Factors
from models.dp import noise
from models.dp.clipping import ClipRule, Partition
from tests.models.critic.reference import Reference
from tests.privacy.sensitivity.adversaries import base
from tests.privacy.sensitivity.steps import OPTIONS, Stage
from tests.privacy.sensitivity.test_neighbours import require_bounded

# private: faults are planted in single parts of the form
FACTORS, MEASURE, COUNTS = ClipRule.factors, ClosedForm._measure, AdaptiveThresholds.counts
# private: likewise
ALL_STDS, PUSH = noise.group_noise_stds, Factoring._push


def clip_off_in_one_group(self: ClipRule, bounds: Tensor) -> Tensor:
    factors = FACTORS(self, bounds)
    factors[:, -2] = 1.0
    return factors


def batch_clip(self: ClipRule, bounds: Tensor) -> Tensor:
    good = torch.where(torch.isfinite(bounds), bounds, 0.0)
    mean = good.sum(dim=0, keepdim=True) / good.gt(0).any(dim=1).sum().clamp(min=1)
    return FACTORS(self, mean).expand_as(bounds) * torch.isfinite(bounds).all(dim=1, keepdim=True)


def penalty_outside_the_clip(self: ClosedForm, factors: Factors) -> Tensor:
    pushed = [A[BETWEEN].clone() for A in factors.right]
    for A in factors.right:
        A[BETWEEN] = 0.0
    bounds = MEASURE(self, factors)
    for A, push in zip(factors.right, pushed, strict=True):
        A[BETWEEN] = push
    return bounds


def groups_ignored(noise_multiplier: float, partition: Partition) -> tuple[float, ...]:
    return tuple(noise_multiplier * c for c in partition.thresholds)


def scale_rounded_up(self: ClipRule, bounds: Tensor) -> Tensor:
    """In single precision, and away from zero."""
    factors = FACTORS(self, bounds)
    up = torch.nextafter(factors.float(), torch.tensor(torch.inf)).double()
    return torch.where(factors > 0.0, up, 0.0)


def no_room_for_cancellation(self: ClipRule, bounds: Tensor) -> Tensor:
    return torch.where(torch.isfinite(bounds).all(dim=1, keepdim=True), FACTORS(self, bounds * 0.99), 0.0)


def counted_twice(self: AdaptiveThresholds, squares: Tensor) -> Tensor:
    return COUNTS(self, squares) + COUNTS(self, squares * 16.0)


def records_that_mix(self: Factoring, values: list[Tensor], cotangents: list[Tensor]) -> list[Tensor]:
    """What normalisation over the batch does."""
    pushed = PUSH(self, values, cotangents)
    pushed[0].sub_(torch.nan_to_num(pushed[0], 0.0, 0.0, 0.0).mean(dim=0))
    return pushed


def bias_left_out(self: ClosedForm, factors: Factors) -> Tensor:
    bounds = MEASURE(self, factors)
    finite = torch.isfinite(bounds)
    without = bounds.clone()
    for bias in factors.biases:
        without[:, -1] -= bias.square().sum(dim=1)
    return torch.where(finite, without.clamp(min=0.0), bounds)


PLANTED: dict[str, tuple[object, str, object, str]] = {
    "clip off in one group": (ClipRule, "factors", clip_off_in_one_group, "layers"),
    "batch clip": (ClipRule, "factors", batch_clip, "layers"),
    "penalty outside the clip": (ClosedForm, "_measure", penalty_outside_the_clip, "flat"),
    "number of groups ignored": (noise, "group_noise_stds", groups_ignored, "rows"),
    "scale rounded up": (ClipRule, "factors", scale_rounded_up, "flat"),
    "norms one part in two hundred low": (ClipRule, "factors", no_room_for_cancellation, "rows"),
    "histograms counted twice": (AdaptiveThresholds, "counts", counted_twice, "layers, ACTS"),
    "records that mix": (Factoring, "_push", records_that_mix, "flat"),
    "biases left out of the norm": (ClosedForm, "_measure", bias_left_out, "layers"),
}
WEIGHTS = ("initial", "ones in line", "two huge rows")


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_bug_is_found(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    owner, attribute, bug, chosen = PLANTED[name]
    stage = Stage(OPTIONS[chosen])
    require_bounded(stage, base(torch.float32, count=3), WEIGHTS)
    monkeypatch.setattr(owner, attribute, bug)
    with pytest.raises(AssertionError):
        require_bounded(stage, base(torch.float32, count=3), WEIGHTS)


def test_a_bug_in_the_reference_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Reference.of_records

    def low(self: Reference, *batch: Tensor) -> Any:
        for gradients, squares in whole(self, *batch):
            yield gradients, squares * 0.98

    monkeypatch.setattr(Reference, "of_records", low)
    with pytest.raises(AssertionError):
        require_bounded(Stage(OPTIONS["flat"], reference=True), base(torch.float32, count=2), WEIGHTS)
