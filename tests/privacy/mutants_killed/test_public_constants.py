"""What a training divides by, samples with and counts up to are constants of the plan, whatever the table holds."""

import dataclasses

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor

from models.critic.network import Critic
from models.dp.poisson import UnitSampler
from models.encoding import cells_of
from models.idpgan.synthesizer import IdpganSynthesizer
from models.private_step import PrivateCritic
from models.randomness import KeyedStreams, Purpose
from models.synthesizer import NullHost
from models.tables.anchor import SECOND_ROUND
from models.tables.measurement.measure import measure
from tests.models.coded_tables import KEY, small_table, streams
from tests.models.dp.plans import small_plan as step_plan
from tests.models.idpgan.jobs import small_plan
from tests.privacy.seam import Recorder, paid_distances


def noise_of_a_step(batch: int) -> tuple[Tensor, Tensor]:
    """What a step adds to the exact sum, as its release tells it, and the deviation it states."""
    recorder = Recorder()
    plan = step_plan()
    keyed = KeyedStreams(KEY, releases=recorder)
    private = PrivateCritic(Critic(inputs=12, widths=(8, 8)).initialise(keyed), plan, keyed)
    codes = keyed.integers(Purpose.TEST, 1, 4, (batch, 3))
    real = torch.from_numpy(codes) + 4 * torch.arange(3)
    private.step(0, real, keyed.torch_uniforms(Purpose.TEST, 2, (batch, 12)))
    heard = recorder.heard[Purpose.GRADIENT_NOISE, 0]
    total = torch.cat([values for values, _ in heard.exact])
    stds = torch.cat([torch.full_like(values, std) for values, std in heard.exact])
    return heard.noisy[0].double() * plan.expected_batch_size - total, stds


def test_the_divisor_does_not_follow_the_batch():
    few, stds = noise_of_a_step(5)
    many, _ = noise_of_a_step(40)
    assert float(((few - many) / stds).abs().max()) < 1e-4, "the same step of the same key has the same noise"
    assert float((few / stds).std()) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("grouping", ["flat", "layers", "rows"])
def test_every_coordinate_of_every_block_has_its_noise(grouping):
    # False alarm: one fixed key; bounds of 1e-9 on each block's sum of squares.
    recorder, plan = Recorder(), step_plan(grouping=grouping)
    keyed = KeyedStreams(KEY, releases=recorder)
    private = PrivateCritic(Critic(inputs=12, widths=(8, 8)).initialise(keyed), plan, keyed)
    private.step(0, torch.zeros((0, 3), dtype=torch.int64), torch.zeros(0, 12))
    heard = recorder.heard[Purpose.GRADIENT_NOISE, 0]
    noise = heard.noisy[0].double() * plan.expected_batch_size
    blocks = torch.split(noise, [values.numel() for values, _ in heard.exact])
    assert len(blocks) == len(private.layout.sizes)
    for block, (_, std) in zip(blocks, heard.exact, strict=True):
        assert bool((block != 0).all())
        squares = float((block / std).square().sum())
        assert stats.chi2(block.numel()).ppf(1e-9) < squares < stats.chi2(block.numel()).isf(1e-9)


class Frozen(Recorder):
    """Puts one and the same release in place of every noisy histogram."""

    def noisy(self, purpose: int, step: int, *released: Tensor) -> None:
        if purpose == Purpose.ACTS_NOISE:
            for histograms in released:
                histograms.zero_()
                histograms[:, 3] = 1.0
        super().noisy(purpose, step, *released)


@pytest.mark.parametrize(
    "chosen", [{}, {"weight_clusters": True, "grouping": "rows"}], ids=["thresholds", "clusters"]
)
def test_thresholds_follow_what_was_released_and_nothing_else(chosen):
    plan, met = step_plan(acts=True, acts_smoothing=0.0, **chosen), []
    for batch, scale in ((0, 1.0), (30, 1.0), (30, 1e6)):
        keyed = KeyedStreams(KEY, releases=Frozen())
        private = PrivateCritic(Critic(inputs=12, widths=(8, 8)).initialise(keyed), plan, keyed)
        before = private.partition.thresholds
        fakes = scale * keyed.torch_uniforms(Purpose.TEST, 2, (batch, 12))
        private.step(0, torch.zeros((batch, 3), dtype=torch.int64) + 4 * torch.arange(3), fakes)
        assert private.partition.thresholds != before
        met.append(private.partition)  # its groups and its thresholds
    assert met[0] == met[1] == met[2]


def test_the_batches_are_those_of_the_plans_rate(monkeypatch):
    table = small_table(records=900, units=250)
    plan = small_plan(table, anchor=False)
    met: list[Tensor] = []
    step = PrivateCritic.step

    def noting(self: PrivateCritic, number: int, real: Tensor, fake: Tensor) -> None:
        met.append(real.clone())
        step(self, number, real, fake)

    monkeypatch.setattr(PrivateCritic, "step", noting)
    IdpganSynthesizer().fit(table, plan, streams(), NullHost())
    assert table.units != plan.declared_size
    sampler = UnitSampler(
        table.unit_of_record,
        sampling_rate=plan.expected_batch_size / plan.declared_size,
        max_sampled_batch=plan.max_sampled_batch,
    )
    drawn = [sampler.draw(streams(), number) for number in range(plan.steps)]
    expected = [cells_of(table.codes[chosen], table.cardinalities) for chosen in drawn]
    assert len(met) == len(expected)
    assert all(torch.equal(one, other) for one, other in zip(met, expected, strict=True))


@pytest.mark.parametrize("records", [0, 1, 400])
def test_every_table_takes_every_step_of_the_plan(records):
    table = small_table()
    plan = small_plan(table)
    rows = dataclasses.replace(
        table, codes=table.codes[:records], unit_of_record=np.arange(records, dtype=np.int64)
    )
    recorder = Recorder()
    IdpganSynthesizer().fit(rows, plan, KeyedStreams(KEY, releases=recorder), NullHost())
    assert set(recorder.heard) == set(paid_distances(plan))


@pytest.mark.parametrize(("declared_size", "slices"), [(20, 1), (20_000, 2)])
def test_counts_are_taken_per_class_where_the_declared_size_says_so(declared_size, slices):
    table, recorder = small_table(records=200), Recorder()
    plan = dataclasses.replace(small_plan(table, critic=False), declared_size=declared_size)
    measure(table, plan, KeyedStreams(KEY, releases=recorder))
    assert recorder.heard[Purpose.ANCHOR_NOISE, SECOND_ROUND].noisy[0].shape[0] == slices
