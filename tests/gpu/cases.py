"""Small critics of every kind that can be trained on devices, with batches for them."""

from typing import Any

import pytest
import torch
from torch import Tensor

from models.critic.conv_network import ConvCritic
from models.critic.label_network import LabelCritic
from models.critic.network import Critic
from models.devices import data_parallel
from models.devices.data_parallel import DataParallelForm
from models.devices.placement import Precision
from models.devices.replicas import Replica
from models.dp.clipping import Layout, Partition, each_block_alone
from models.randomness import KeyedStreams, Purpose
from tests.gpu.places import data_parallel_over

STREAMS = KeyedStreams(bytes(range(32)))
IMAGE, CELLS, CLASSES = (1, 8, 8), 12, 2
MAX_BATCH = 70  # microbatches of 16 records
KINDS = ("images", "labels", "cells", "vectors")
kinds = pytest.mark.parametrize("kind", KINDS)


def critic_of(kind: str) -> Critic | ConvCritic:
    if kind == "images":
        return ConvCritic(image=IMAGE, widths=(16, 16), classes=CLASSES).initialise(STREAMS)
    if kind == "labels":
        return LabelCritic(image=IMAGE, widths=(16, 16), classes=CLASSES).initialise(STREAMS)
    return Critic(inputs=CELLS, widths=(8, 8)).initialise(STREAMS)


def layout_of(critic: Critic | ConvCritic, grouping: str = "layers") -> Layout:
    shapes = tuple((layer.out_features, layer.in_features) for layer in critic.linear_layers())
    return Layout(shapes=shapes, grouping=grouping, row_blocks=3)


def partition_of(layout: Layout, share: float = 1.0) -> Partition:
    return each_block_alone(layout.sizes, [share * (0.05 + 0.02 * block) for block in range(layout.blocks)])


def form_of(
    kind: str, device: torch.device, devices: int = 1, precision: Precision = "tf32"
) -> tuple[DataParallelForm, Partition]:
    critic = critic_of(kind).to(device)
    layout = layout_of(critic)
    placement = data_parallel_over(device, devices, precision)
    form = DataParallelForm(critic, layout, gp_weight=10.0, max_batch=MAX_BATCH, placement=placement)
    return form, partition_of(layout)


def replicas_made(monkeypatch: pytest.MonkeyPatch) -> list[Replica]:
    """Every replica that a form makes from now on, in the order of its devices."""
    made: list[Replica] = []
    whole = data_parallel.replica_of

    def noted(*given: Any, **named: Any) -> Replica:
        made.append(whole(*given, **named))
        return made[-1]

    monkeypatch.setattr(data_parallel, "replica_of", noted)
    return made


def batch_of(kind: str, count: int) -> dict[str, Any]:
    mix = STREAMS.torch_uniforms(Purpose.TEST, 1, MAX_BATCH)[:count]
    if kind in {"images", "labels"}:
        real, fake = STREAMS.torch_uniforms(Purpose.TEST, 2, (2, MAX_BATCH, *IMAGE))[:, :count]
        labels = torch.from_numpy(STREAMS.integers(Purpose.TEST, 3, CLASSES, MAX_BATCH))[:count]
        return {"real": real, "fake": 0.3 * fake, "mix": mix, "labels": labels}
    cells = torch.from_numpy(STREAMS.integers(Purpose.TEST, 4, 4, (MAX_BATCH, 3))) + 4 * torch.arange(3)
    fake = STREAMS.torch_uniforms(Purpose.TEST, 5, (MAX_BATCH, CELLS))
    real: Tensor = cells if kind == "cells" else torch.zeros(MAX_BATCH, CELLS).scatter_(1, cells, 1.0)
    return {"real": real[:count], "fake": fake[:count], "mix": mix}


def worked(form: DataParallelForm, partition: Partition, batch: dict[str, Any]) -> tuple[Tensor, Tensor]:
    total, squares = form.sum_and_squares(partition=partition, **batch)
    return total.cpu().clone(), squares.cpu()
