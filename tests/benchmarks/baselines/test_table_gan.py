"""The private networks of the paper's comparison on tables: what is released, what moves it, what sets the threshold."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from benchmarks.baselines.auxiliary_critic import record_losses
from benchmarks.baselines.public_threshold import HIGHEST, PublicRows
from benchmarks.baselines.table_auxiliary import TableAuxiliaryCritic
from benchmarks.baselines.table_gan import TableGan
from models.critic.forms import record_form
from models.dp.clipping import Layout, each_block_alone
from models.encoding import PrivateTable, cells_of
from models.randomness import KeyedStreams, Purpose
from models.synthesizer import NullHost
from tests.benchmarks.baselines.whole_trainings import (
    METHODS,
    OURS,
    require_noise_of_the_threshold,
    require_releases_alone,
)
from tests.models.coded_tables import small_table, streams
from tests.models.idpgan.jobs import generator_bytes, small_plan
from tests.privacy.seam import Recorder, Replayer

KEY = b"k" * 32
TARGET = slice(7, 9)
"""Cells of the small table's target."""


def public_rows(seed=1, count=9):
    return PublicRows(codes=small_table(records=count, seed=seed).codes, interval=2)


def plan_of(**options):
    return small_plan(small_table(), anchor=False, **({"steps": 6, "critic_steps": 1} | options))


def trained(name, table, plan, *, listener=None, key=KEY, public=None):
    auxiliary, wants_public = METHODS[name]
    given = (public or public_rows()) if wants_public else None
    keyed = KeyedStreams(key, releases=listener)
    training = TableGan(table, plan, keyed, NullHost(), auxiliary=auxiliary, public=given)
    return training, training.run()


def with_one_more(table):
    """The neighbour with one more unit, of codes that are rare."""
    return replace(
        table,
        codes=np.concatenate([table.codes, np.array([[2, 0, 1, 4]], np.int16)]),
        unit_of_record=np.append(table.unit_of_record, table.unit_of_record.max() + 1),
    )


@pytest.mark.parametrize("name", METHODS)
def test_a_unit_more_moves_every_release_by_no_more_than_the_plan_pays_and_nothing_else(name):
    table = small_table()
    require_releases_alone(
        partial(trained, name), plan_of(expected_batch_size=200), table, with_one_more(table)
    )


@pytest.mark.parametrize("name", OURS)
def test_the_noise_is_the_plans_multiplier_of_the_threshold_in_force(name):
    plan = plan_of(clipping_norm=0.3)
    require_noise_of_the_threshold(partial(trained, name), plan, small_table(), fixed=0.3)


@pytest.mark.parametrize("name", ["GANobfuscator", "DPACGAN, public threshold"])
def test_the_threshold_is_made_of_public_rows_alone(name):
    plan, recorder = plan_of(), Recorder()
    training, _ = trained(name, small_table(), plan, listener=recorder)
    assert len(set(training.thresholds)) == 3, "it follows the critic"
    replaced = small_table(seed=5)
    assert trained(name, replaced, plan, listener=Replayer(recorder))[0].thresholds == training.thresholds
    others = trained(name, small_table(), plan, public=public_rows(2))[0].thresholds
    assert not set(others) & set(training.thresholds)


def test_power_a_threshold_from_private_rows_would_be_noticed():
    plan = plan_of()
    firsts = set()
    for seed in (0, 5):
        private = small_table(seed=seed)
        leaked = PublicRows(codes=private.codes, interval=2)
        firsts.add(trained("GANobfuscator", private, plan, public=leaked)[0].thresholds[0])
    assert len(firsts) == 2


def test_a_threshold_is_finite_whatever_became_of_the_critic():
    thresholds = trained("GANobfuscator", small_table(), plan_of(critic_learning_rate=1e8))[0].thresholds
    assert len(thresholds) == 3
    assert all(0.0 < threshold[0] <= HIGHEST for threshold in thresholds)
    with pytest.raises(AssertionError, match="needs rows"):
        PublicRows(codes=np.zeros((0, 4), np.int16))


@pytest.mark.parametrize("name", OURS)
def test_a_key_decides_everything(name):
    first, again, other = (
        generator_bytes(trained(name, small_table(), plan_of(), key=key)[1]) for key in (KEY, KEY, bytes(32))
    )
    assert first == again
    assert first != other


def test_what_a_baseline_does_not_run_is_refused():
    table = small_table()
    for plan in (small_plan(table), plan_of(generator="mixture"), plan_of(acts=True)):
        with pytest.raises(AssertionError):
            TableGan(table, plan, streams(), NullHost())
    aimless = small_table(target=False)
    with pytest.raises(AssertionError, match="needs a target"):
        TableGan(aimless, small_plan(aimless, anchor=False), streams(), NullHost(), auxiliary=True)


def auxiliary(widths=(16,)):
    table = small_table(records=6)
    critic = TableAuxiliaryCritic(cardinalities=table.cardinalities, target_index=2, widths=widths)
    critic.initialise(streams())
    sizes = tuple((layer.out_features, layer.in_features) for layer in critic.linear_layers())
    layout = Layout(shapes=sizes, grouping="flat", row_blocks=2)
    form = record_form(critic, layout, gp_weight=10.0, max_batch=100)
    real = cells_of(table.codes, table.cardinalities)
    fake = one_hot(cells_of(small_table(records=6, seed=3).codes, table.cardinalities))
    return critic, layout, form, real, fake


def one_hot(cells):
    return torch.zeros(len(cells), 14).scatter_(1, cells, 1.0)


def summed(form, layout, real, fake, threshold):
    partition = each_block_alone(layout.sizes, [threshold])
    return form.sum_and_squares(real, fake, torch.zeros(len(real)), partition)[0].clone()


@pytest.mark.parametrize("widths", [(16,), (8, 12)])
def test_gradients_are_those_of_the_loss_of_a_row_and_a_generated_one_with_a_label_of_its_own(widths):
    critic, layout, form, real, fake = auxiliary(widths)
    own, other = one_hot(real)[:, TARGET].argmax(dim=1), fake[:, TARGET].argmax(dim=1)
    assert not torch.equal(own, other)
    for index in range(len(real)):
        one = slice(index, index + 1)
        logits = [critic.layered(critic.parted(rows[one])[0])[1][-1] for rows in (one_hot(real), fake)]
        loss = record_losses(*logits, torch.stack([own[one], other[one]], dim=1)).sum()
        layers = critic.linear_layers()
        parts = [*(layer.weight for layer in layers), *(layer.bias for layer in layers)]
        flat = torch.cat([found.flatten() for found in torch.autograd.grad(loss, parts)])
        found = summed(form, layout, real[one], fake[one], 1e9)
        assert torch.allclose(found, flat.double(), rtol=1e-4, atol=1e-6)


def test_no_row_moves_the_sum_by_more_than_its_threshold():
    critic, layout, form, real, fake = auxiliary()
    with torch.no_grad():
        critic.layers[0].weight.mul_(1e4)
    fake[4] = torch.nan
    whole, reached = summed(form, layout, real, fake, 0.01), []
    for index in range(len(real)):
        others = [other for other in range(len(real)) if other != index]
        moved = whole - summed(form, layout, real[others], fake[others], 0.01)
        reached.append(float(moved.norm()) / 0.01)
    assert reached[4] == 0.0, "what is not finite counts nothing"
    assert 0.99 < max(reached) <= 1.0 + 1e-13


def test_the_critic_does_not_read_the_label_and_rates_it():
    critic, _, _, real, _ = auxiliary()
    rows = one_hot(real)
    flipped = rows.clone()
    flipped[:, TARGET] = rows[:, TARGET].flip(1)
    (rest, target), (other, turned) = critic.parted(rows), critic.parted(flipped)
    assert torch.equal(rest, other)
    assert torch.equal(target, turned.flip(1))
    logits = critic.layered(rest)[1][-1]
    said = torch.log_softmax(logits[:, 1:], dim=1)
    gap = ((target - turned) * said).sum(dim=1)
    assert torch.allclose(critic(rows) - critic(flipped), gap, atol=1e-6)


@pytest.mark.parametrize("name", OURS)
def test_with_little_noise_the_generator_learns_that_a_column_depends_on_the_label(name):
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 400)
    table = PrivateTable(
        codes=np.column_stack([label, rng.integers(0, 3, 400), label]).astype(np.int16),
        unit_of_record=np.arange(400),
        cardinalities=(2, 3, 2),
        target_index=2,
    )
    plan = small_plan(
        table, anchor=False, epsilon=1e4, steps=150, expected_batch_size=100, critic_steps=1,
        clipping_norm=5.0, critic_learning_rate=1e-2, generator_learning_rate=1e-2,
    )  # fmt: skip
    _, made = trained(name, table, plan, public=PublicRows(codes=table.codes[:40]))
    with torch.no_grad():
        latent = streams().torch_normals(Purpose.TEST, 0, (500, made.latent_dimension))
        logits = made.network(latent, torch.eye(2)[torch.arange(500) % 2])
    right = torch.softmax(logits[:, :2], dim=1)[torch.arange(500), torch.arange(500) % 2].mean()
    assert right > 0.6, "half by chance"
