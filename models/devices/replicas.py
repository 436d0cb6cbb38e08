"""The copies of a critic on each device, with their closed forms and the checks made before a row is read."""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from models.critic.clipped_form import ClippedForm
from models.critic.conv_network import ConvCritic
from models.critic.forms import checked_form
from models.critic.network import Critic
from models.devices.errors import DeviceDiffers
from models.devices.static_buffers import MicrobatchRunner
from models.dp.clipping import Layout, each_block_alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """A copy of the critic and its form on one device.

    Args:
        layers: of the copy, in the precision of its factors.
        runner: processes microbatches with the form.
    """

    device: torch.device
    layers: tuple[nn.Linear, ...]
    form: ClippedForm[Any, Any]
    runner: MicrobatchRunner


def replica_of(
    critic: Critic | ConvCritic, layout: Layout, *, gp_weight: float, max_batch: int, microbatch_size: int
) -> Replica:
    """Build the form of a copy and check it on the copy's device.

    Raises:
        UnevenRounding: the device rounds a record differently by its place in a microbatch.
    """
    layers = critic.linear_layers()
    device = layers[0].weight.device
    form = checked_form(
        critic,
        layout,
        gp_weight=gp_weight,
        max_batch=max_batch,
        microbatch_size=microbatch_size,
        fixed=True,
    )
    runner = MicrobatchRunner(form, layout, device, classes=_classes_of(critic))
    return Replica(device=device, layers=layers, form=form, runner=runner)


def copied(critic: Critic | ConvCritic, device: torch.device, dtype: torch.dtype) -> Critic | ConvCritic:
    """A copy whose matrices each begin at an allocation: libraries choose kernels by alignment, so all devices need the same."""
    made = copy.deepcopy(critic)
    for layer in made.linear_layers():
        for part in (layer.weight, layer.bias):
            part.data = torch.empty(part.shape, dtype=dtype, device=device)
            part.requires_grad_(False)  # noqa: FBT003 - torch's signature
    copy_parameters(made.linear_layers(), critic.linear_layers())
    return made


def copy_parameters(layers: Sequence[nn.Linear], given: Sequence[nn.Linear]) -> None:
    """Overwrite the layers' parameters with those of `given`, in the layers' own precision."""
    with torch.no_grad():
        for layer, source in zip(layers, given, strict=True):
            layer.weight.copy_(source.weight)
            layer.bias.copy_(source.bias)


def require_alike(replicas: Sequence[Replica], critic: Critic | ConvCritic, layout: Layout) -> None:
    """Process one microbatch of public records on every device; sums and norms must be the same to the bit.

    Raises:
        DeviceDiffers: they differ.
    """
    first, *others = replicas
    if not others:
        return
    shape = critic.image if isinstance(critic, ConvCritic) else (first.layers[0].in_features,)
    count = first.form.microbatch_size
    numbers = torch.sin(torch.arange(1.0, 2.0 * count * math.prod(shape) + 1.0))
    real, fake = numbers.to(first.layers[0].weight.dtype).view(2, count, *shape)
    mix = torch.linspace(0.0, 0.9, count)
    classes = _classes_of(critic)
    labels = torch.arange(count) % classes if classes else None
    partition = each_block_alone(layout.sizes, [1.0] * layout.blocks)

    def made(replica: Replica) -> list[Tensor]:
        there = replica.device
        total, squares = replica.form.sum_and_squares(
            real.to(there),
            fake.to(there),
            mix.to(there),
            partition,
            labels=None if labels is None else labels.to(there),
        )
        return [total.cpu().clone(), squares.cpu()]

    expected = made(first)
    for replica in others:
        if not all(torch.equal(ours, theirs) for ours, theirs in zip(made(replica), expected, strict=True)):
            raise DeviceDiffers


def _classes_of(critic: Critic | ConvCritic) -> int:
    return critic.classes if isinstance(critic, ConvCritic) else 0
