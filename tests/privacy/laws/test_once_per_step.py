"""Through the real training: each mechanism draws exactly its planned numbers, once, each from its own address.

Deterministic: the released value is compared with the exact one plus the numbers of the address times the formula's
standard deviation, coordinate by coordinate. So nothing can be drawn twice, left out, scaled or shared.
"""

from collections.abc import Callable

import pytest
import torch

from core.plan.options import ABLATIONS
from models import acts, private_step
from models.dp import noise
from models.dp.noise import NoisyMean
from models.randomness import Purpose
from tests.models.coded_tables import small_table
from tests.privacy.laws.listening import CountedStreams
from tests.privacy.laws.planned import faults_of, gradient_faults, run_job

OPTIONS = {
    "anchor and critic": {},
    "anchor only": {"critic": False},
    "critic and labels": {"anchor": False},
    "layers": {"grouping": "layers", "critic_layers": 2},
    "rows, falling noise": {"grouping": "rows", "schedule": "exponential", "schedule_decay": 1.0, "schedule_period": 4},
    "acts": {"acts": True, "acts_interval": 3},
    "acts and clusters": ABLATIONS["acts+wc"] | {"acts_interval": 2},
    "adaptive pace": {"critic_steps": "adaptive", "anchor": False},
}  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS)
def test_every_mechanism_draws_its_planned_noise_once(options: str, monkeypatch: pytest.MonkeyPatch) -> None:
    job = run_job(monkeypatch, **OPTIONS[options])
    assert faults_of(job) == []
    assert len(job.partitions) == job.plan.steps


def test_units_of_many_records_have_one_coin_and_one_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    job = run_job(monkeypatch, table=small_table(units=90), grouping="layers")
    assert faults_of(job) == []


def readdressed(rename: Callable[[Purpose, int], tuple[Purpose, int]]) -> Callable[..., object]:
    straight = CountedStreams.reader
    return lambda self, purpose, step: straight(self, *rename(purpose, step))


def noise_of(change: Callable[[NoisyMean, torch.Tensor], torch.Tensor]) -> Callable[..., object]:
    straight = NoisyMean.draw
    return lambda self, noise, reader: change(self, straight(self, noise, reader))


WRONG = {
    "two steps share an address": (
        CountedStreams, "reader",
        readdressed(lambda p, s: (p, s // 2) if p is Purpose.GRADIENT_NOISE else (p, s)),
    ),
    "two mechanisms share an address": (
        CountedStreams, "reader",
        readdressed(lambda p, s: (Purpose.GRADIENT_NOISE, s) if p is Purpose.ACTS_NOISE else (p, s)),
    ),
    "another step's noise": (
        CountedStreams, "reader",
        readdressed(lambda p, s: (p, s + 1) if p is Purpose.GRADIENT_NOISE else (p, s)),
    ),
    "noise one percent too small": (NoisyMean, "draw", noise_of(lambda _, drawn: drawn.mul_(0.99).round_())),
    "one coordinate without noise": (NoisyMean, "draw", noise_of(lambda _, drawn: drawn.index_fill_(0, torch.tensor([5]), 0.0))),
    "one number for two coordinates": (NoisyMean, "draw", noise_of(lambda _, drawn: drawn.index_copy_(0, torch.tensor([7]), drawn[6:7].clone()))),
    "the noise of a group on another": (NoisyMean, "draw", noise_of(lambda _, drawn: drawn.flip(0))),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_draws_are_detected(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, replacement = WRONG[wrong]
    monkeypatch.setattr(owner, name, replacement)
    job = run_job(monkeypatch, acts=True, acts_interval=3)
    assert faults_of(job)


def larger(values, stds, reader, *, bits: int):
    return noise.rounded_sum_with_noise(values, [std * 1.01 for std in stds], reader, bits=bits)


def test_other_noise_on_histograms_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acts, "rounded_sum_with_noise", larger)
    assert faults_of(run_job(monkeypatch, acts=True, acts_interval=3))


def test_other_noise_on_the_anchor_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    straight = CountedStreams.normals
    monkeypatch.setattr(CountedStreams, "normals", lambda *address: straight(*address) * 0.999)
    assert faults_of(run_job(monkeypatch, critic=False))


def test_equal_noise_for_every_group_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """The groups ignored: every group noised as if it were alone, `s_j = sigma c_j`."""
    straight = private_step.noise_plan

    def alone(partition, *, noise_multiplier: float, max_batch: int):
        noise = straight(partition, noise_multiplier=noise_multiplier, max_batch=max_batch)
        stds = tuple(noise_multiplier * partition.thresholds[group] for group in partition.group_of_block)
        return type(noise)(stds=stds, grids=noise.grids)

    monkeypatch.setattr(private_step, "noise_plan", alone)
    assert gradient_faults(run_job(monkeypatch, grouping="layers"))
