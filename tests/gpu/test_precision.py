"""Products in TF32 and bfloat16: what is clipped is what is summed, however coarse the factors were made."""

from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch import Tensor

from models.critic import closed_form
from models.critic.clipped_form import ClippedForm
from models.devices import replicas
from models.devices.data_parallel import DataParallelForm
from models.devices.placement import CPU, Precision
from models.dp.clipping import Layout, each_block_alone
from tests.gpu.cases import (
    MAX_BATCH,
    batch_of,
    critic_of,
    form_of,
    kinds,
    layout_of,
    partition_of,
    replicas_made,
    worked,
)
from tests.gpu.coarse import CoarseProducts
from tests.gpu.places import data_parallel_over, on_every_device

COUNT = 6
precisions = pytest.mark.parametrize("precision", ["tf32", "bf16"])
groupings = pytest.mark.parametrize("grouping", ["layers", "rows"])


def form_in(precision: str, kind: str, grouping: str) -> tuple[ClippedForm, Layout]:
    """A microbatch's form; TF32 products are emulated around it."""
    critic = critic_of(kind)
    layout = layout_of(critic, grouping)
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    copy = replicas.copied(critic, CPU, dtype)
    return replicas.replica_of(
        copy, layout, gp_weight=10.0, max_batch=MAX_BATCH, microbatch_size=16
    ).form, layout


def contributions(form: ClippedForm, layout: Layout, kind: str, threshold: float) -> tuple[Tensor, Tensor]:
    """(COUNT, coordinates) what each record adds to a sum, and (COUNT, blocks) the squared norms it was clipped by."""
    partition = each_block_alone(layout.sizes, [threshold] * layout.blocks)
    batch = batch_of(kind, COUNT)
    added, measured = [], []
    for place in range(COUNT):
        one: dict[str, Any] = {name: given[place : place + 1] for name, given in batch.items()}
        total, squares = form.sum_and_squares(partition=partition, **one)
        added.append(total.clone())
        measured.append(squares[0].clone())
    return torch.stack(added), torch.stack(measured)


def require_measured(form: ClippedForm, layout: Layout, kind: str) -> Tensor:
    """The bounds are norms of the very gradients that are added. Gives the latter, (COUNT, coordinates)."""
    added, measured = contributions(form, layout, kind, 1e9)
    for block, piece in enumerate(layout.slices()):
        exact = added[:, piece].square().sum(dim=1)
        assert bool((measured[:, block] >= exact * (1.0 - 1e-12)).all()), "never below"
        assert bool((measured[:, block] <= exact * (1.0 + 1e-4) + 1e-12).all()), "and hardly above"
    return added


@precisions
@groupings
@kinds
def test_every_record_adds_at_most_the_thresholds(kind: str, grouping: str, precision: str) -> None:
    with CoarseProducts() if precision == "tf32" else nullcontext():
        form, layout = form_in(precision, kind, grouping)
        whole = require_measured(form, layout, kind)
        threshold = 0.02
        added, _ = contributions(form, layout, kind, threshold)
    for piece in layout.slices():
        norms = added[:, piece].norm(dim=1)
        assert bool((norms <= threshold).all())
        long = whole[:, piece].norm(dim=1) > 1.1 * threshold
        assert bool((norms[long] > 0.999 * threshold).all())
    assert bool((whole.norm(dim=1) > 2.0 * threshold).any()), "some were clipped"


@precisions
@kinds
def test_gradients_are_the_exact_ones_but_for_the_rounding_of_factors(kind: str, precision: str) -> None:
    exact_form, layout = form_in("float32", kind, "layers")
    exact, _ = contributions(exact_form, layout, kind, 1e9)
    with CoarseProducts() if precision == "tf32" else nullcontext():
        form, _ = form_in(precision, kind, "layers")
        made, _ = contributions(form, layout, kind, 1e9)
    off = (made - exact).norm(dim=1) / exact.norm(dim=1)
    widest = 2.0**-7 if precision == "tf32" else 2.0**-4
    assert 2.0**-15 < float(off.median()) < widest, "coarser, and not by much"


def test_power_norms_of_coarse_products_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def narrow(planes: Tensor) -> Tensor:
        by_record = planes.movedim(0, 1).float()
        return (by_record @ by_record.mT).double()

    with CoarseProducts():
        form, layout = form_in("tf32", "vectors", "layers")
        require_measured(form, layout, "vectors")
        # private: plants the fault of a narrow accumulator
        monkeypatch.setattr(closed_form, "_gram", narrow)
        with pytest.raises(AssertionError, match="never below"):
            require_measured(form, layout, "vectors")


@on_every_device
@kinds
@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_one_record_more_moves_the_sum_by_at_most_the_thresholds(
    kind: str, precision: Precision, device: torch.device
) -> None:
    form, partition = form_of(kind, device, 2, precision)
    whole, norms = worked(form, partition, batch_of(kind, MAX_BATCH))
    less, fewer = worked(form, partition, batch_of(kind, MAX_BATCH - 1))
    assert torch.equal(norms[:-1], fewer), "company changes no bit of the others"
    for block, (piece, threshold) in enumerate(
        zip(layout_of(critic_of(kind)).slices(), partition.thresholds, strict=True)
    ):
        moved = float((whole[piece] - less[piece]).norm())
        assert moved <= threshold
        assert moved > 0.9 * min(threshold, float(norms[-1, block].sqrt()))


def test_copies_follow_the_critic_in_their_own_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    critic = critic_of("images").requires_grad_(requires_grad=False)
    layout = layout_of(critic)
    made = replicas_made(monkeypatch)
    form = DataParallelForm(
        critic,
        layout,
        gp_weight=10.0,
        max_batch=MAX_BATCH,
        placement=data_parallel_over(CPU, 2, "bf16"),
    )
    before = worked(form, partition_of(layout), batch_of("images", 20))
    for layer in critic.linear_layers():
        layer.weight.data.mul_(2.0)
    after = worked(form, partition_of(layout), batch_of("images", 20))
    assert not torch.equal(before[1], after[1])
    assert len(made) == 2
    for replica in made:
        for layer, own in zip(critic.linear_layers(), replica.layers, strict=True):
            assert (layer.weight.dtype, own.weight.dtype) == (torch.float32, torch.bfloat16)
            assert torch.equal(own.weight, layer.weight.bfloat16())
