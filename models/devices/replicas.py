"""A critic's copies on devices, their forms, and what is tried of them before a row is read."""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from models.critic.closed_form import ClosedForm
from models.critic.conv_form import ConvForm
from models.critic.conv_network import ConvCritic
from models.critic.evenness import require_even_images, require_even_rounding
from models.critic.label_form import LabelForm
from models.critic.label_network import LabelCritic
from models.critic.network import Critic
from models.critic.unit import UnitForm
from models.devices.errors import DeviceDiffers
from models.devices.work import UnitWork
from models.dp.clipping import Layout, each_block_alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """A copy of the critic and its form on one device.

    Args:
        device: where.
        layers: of the copy, in the precision of its factors.
        form: of the copy.
        work: on units of the form.
    """

    device: torch.device
    layers: tuple[nn.Linear, ...]
    form: UnitForm
    work: UnitWork


def replica_of(
    critic: Critic | ConvCritic, layout: Layout, *, gp_weight: float, max_batch: int, unit: int
) -> Replica:
    """A copy with its form, tried where it is.

    Args:
        critic: the copy.
        layout: public blocks.
        gp_weight: weight of the gradient penalty.
        max_batch: public cap on the records of one batch.
        unit: records of a unit.

    Raises:
        UnevenRounding: the device cannot keep one record from moving the others' gradients.
    """
    layers = critic.linear_layers()
    weight = layers[0].weight
    form: ClosedForm | ConvForm | LabelForm
    if isinstance(critic, ConvCritic):
        if isinstance(critic, LabelCritic):
            form = LabelForm(critic, layout, max_batch=max_batch, at_once=unit, fixed=True)
        else:
            form = ConvForm(
                critic, layout, gp_weight=gp_weight, max_batch=max_batch, at_once=unit, fixed=True
            )
        require_even_images(form, image=critic.image, labelled=critic.classes > 0, dtype=weight.dtype)
    else:
        form = ClosedForm(critic, layout, gp_weight=gp_weight, max_batch=max_batch, at_once=unit, fixed=True)
        require_even_rounding(form, inputs=layers[0].in_features, dtype=weight.dtype)
    classes = critic.classes if isinstance(critic, ConvCritic) else 0
    work = UnitWork(form, layout, weight.device, classes=classes)
    return Replica(device=weight.device, layers=layers, form=form, work=work)


def copied(critic: Critic | ConvCritic, device: torch.device, dtype: torch.dtype) -> Critic | ConvCritic:
    """A copy whose matrices begin where an allocation does, on every device: libraries choose kernels by that."""
    made = copy.deepcopy(critic)
    for layer in made.linear_layers():
        for part in (layer.weight, layer.bias):
            part.data = torch.empty(part.shape, dtype=dtype, device=device)
            part.requires_grad_(False)  # noqa: FBT003 - torch's signature
    give(made.linear_layers(), critic.linear_layers())
    return made


def give(layers: Sequence[nn.Linear], given: Sequence[nn.Linear]) -> None:
    """Write the given layers' parameters over those of the layers, in the latter's precision."""
    with torch.no_grad():
        for layer, source in zip(layers, given, strict=True):
            layer.weight.copy_(source.weight)
            layer.bias.copy_(source.bias)


def require_alike(replicas: Sequence[Replica], critic: Critic | ConvCritic, layout: Layout) -> None:
    """Give one unit of public records to every device: their sums and norms have to be the same to the bit.

    Raises:
        DeviceDiffers: they are not.
    """
    first, *others = replicas
    if not others:
        return
    shape = critic.image if isinstance(critic, ConvCritic) else (first.layers[0].in_features,)
    count = first.form.at_once
    numbers = torch.sin(torch.arange(1.0, 2.0 * count * math.prod(shape) + 1.0))
    real, fake = numbers.to(first.layers[0].weight.dtype).view(2, count, *shape)
    mix = torch.linspace(0.0, 0.9, count)
    classes = critic.classes if isinstance(critic, ConvCritic) else 0
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
