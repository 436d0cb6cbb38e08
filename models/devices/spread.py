"""A clipped sum over one or several devices, the same to the bit on any number of them and in any amount of memory.

A batch is cut into units of a public number of records. All that belongs to a record, and the sum of a unit, is computed
in products of exactly that many, as the closed forms do with their chunks; the units' sums are added as whole numbers
(`models.devices.exact_sum`). So it does not matter which device works on which unit, nor how many units are on a
device at once. When memory runs out, the wave of units at hand is thrown away and begun anew with half as many;
units never change once a row was read.
"""

import copy
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Final, TypeGuard

import torch
from torch import Tensor, nn

from models.critic.closed_form import ClosedForm
from models.critic.conv_form import ConvForm
from models.critic.conv_network import ConvCritic
from models.critic.evenness import require_even_images, require_even_rounding
from models.critic.factors import PLANES
from models.critic.label_form import LabelForm
from models.critic.label_network import LabelCritic
from models.critic.network import Critic
from models.critic.unit import UnitForm
from models.devices.errors import DeviceDiffers, DeviceMemoryShort
from models.devices.exact_sum import ExactSum, lowered
from models.devices.placement import Placement
from models.devices.work import UnitWork
from models.dp.clipping import Layout, Partition, each_block_alone

FEWEST, MOST = 16, 2048
"""Records of a unit at least and at most."""
UNITS_OF_A_BATCH: Final = 16
"""So many units at least make the largest batch, which is four times the expected one: one in ten places idles."""
UNIT_NUMBERS: Final = 1 << 28
"""Numbers of one unit at most: a GiB of float32."""
WAVE: Final = 8
"""Units on a device at once, until memory runs out."""


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


class SpreadForm:
    """Norms and clipped sums of a batch over the devices of a placement; a `models.critic.forms.RecordForm`.

    Args:
        critic: on the placement's first device; a copy follows it on every device.
        layout: public blocks.
        gp_weight: weight of the gradient penalty.
        max_batch: public cap on the records of one batch.
        placement: the devices.

    Raises:
        UnevenRounding: a device cannot keep one record from moving the others' gradients.
        DeviceDiffers: two devices give different sums of the same public records.
        DeviceMemoryShort: the smallest unit does not fit.
    """

    def __init__(
        self,
        critic: Critic | ConvCritic,
        layout: Layout,
        *,
        gp_weight: float,
        max_batch: int,
        placement: Placement,
    ) -> None:
        self._layout, self._max_batch = layout, max_batch
        self._layers = critic.linear_layers()
        dtype = torch.bfloat16 if placement.precision == "bf16" else self._layers[0].weight.dtype
        copies = [_copied(critic, device, dtype) for device in placement.devices]
        self.unit = unit_of(critic, max_batch)
        while True:
            try:
                self._replicas = tuple(
                    _replica(each, layout, gp_weight=gp_weight, max_batch=max_batch, unit=self.unit)
                    for each in copies
                )
                _require_alike(self._replicas, critic, layout)
            except torch.OutOfMemoryError:
                self._replicas = ()
                if self.unit <= FEWEST:
                    raise DeviceMemoryShort from None
                self.unit //= 2
                give_back(placement.devices)
            else:
                break
        self._wave = WAVE * len(self._replicas)
        self._threads = ThreadPoolExecutor(len(self._replicas), thread_name_prefix="device")
        self._ruled: tuple[Partition, Partition, ExactSum] | None = None

    @property
    def recorded(self) -> bool:
        """Whether every device plays recorded kernels; no number depends on it."""
        return all(replica.work.recorded for replica in self._replicas)

    def sum_and_squares(
        self, real: Tensor, fake: Tensor, mix: Tensor, partition: Partition, *, labels: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The clipped sum and the squared norms of one batch.

        Args:
            real: (batch, inputs) vectors, (batch, columns) cells or (batch, channels, height, width) images, anywhere.
            fake: (batch, inputs) or images, anywhere.
            mix: (batch,) in [0, 1), anywhere.
            partition: groups and thresholds.
            labels: (batch,) int64 where the critic has classes.

        Returns:
            (coordinates,) float64 and (batch, blocks) float64 on the first device; see `ClosedForm.sum_and_squares`.

        Raises:
            DeviceMemoryShort: not even one unit fits beside what is there.
        """
        clipped, exact = self._rule_of(partition)
        self._follow()
        exact.clear()
        records = tuple(given for given in (real, fake, mix, labels) if given is not None)
        main = self._replicas[0].device
        squares = torch.empty(len(real), self._layout.blocks, dtype=torch.float64, device=main)
        first = 0
        while first < len(real):
            wave = slice(first, first + self._wave * self.unit)
            try:
                steps, norms = self._work(tuple(given[wave] for given in records), clipped, exact)
            except torch.OutOfMemoryError:
                self._smaller()
                continue
            exact.add(steps)
            squares[wave] = norms
            first = wave.stop
        return exact.total(), squares

    def _work(self, records: Sequence[Tensor], clipped: Partition, exact: ExactSum) -> tuple[Tensor, Tensor]:
        """Sums and norms of one wave, on the first device: its units dealt to the devices in runs."""
        units = -(-len(records[0]) // self.unit)
        each = -(-units // len(self._replicas)) * self.unit
        work = [
            self._threads.submit(
                self._share,
                replica,
                tuple(given[first : first + each] for given in records),
                clipped,
                exact,
            )
            for replica, first in zip(self._replicas, range(0, len(records[0]), each), strict=False)
        ]
        wait(work)  # nobody works on when one has failed
        made = [share.result() for share in work]
        main = self._replicas[0].device
        steps = torch.stack([steps.to(main) for steps, _ in made]).sum(dim=0)
        return steps, torch.cat([norms.to(main) for _, norms in made])

    def _share(
        self, replica: Replica, records: Sequence[Tensor], clipped: Partition, exact: ExactSum
    ) -> tuple[Tensor, Tensor]:
        here = tuple(given.to(replica.device) for given in records)
        steps = torch.zeros(self._layout.coordinates, dtype=torch.int64, device=replica.device)
        norms = []
        for first in range(0, len(here[0]), self.unit):
            real, fake, mix, *labels = (given[first : first + self.unit] for given in here)
            total, squares = replica.work.sum_and_squares(
                real, fake, mix, clipped, labels=labels[0] if labels else None
            )
            steps += exact.rounded(total)
            norms.append(squares)
        return steps, torch.cat(norms)

    def _smaller(self) -> None:
        if self._wave == 1:
            raise DeviceMemoryShort from None
        self._wave = max(1, self._wave // 2)
        give_back([replica.device for replica in self._replicas])

    def _follow(self) -> None:
        """Give the copies the critic's present parameters."""
        for replica in self._replicas:
            _give(replica.layers, self._layers)

    def _rule_of(self, partition: Partition) -> tuple[Partition, ExactSum]:
        if self._ruled is None or self._ruled[0] is not partition:
            exact = ExactSum(
                self._layout,
                partition,
                max_batch=self._max_batch,
                piece=self.unit,
                device=self._replicas[0].device,
            )
            self._ruled = (partition, lowered(partition), exact)
        return self._ruled[1], self._ruled[2]


def can_spread(critic: object) -> TypeGuard[Critic | ConvCritic]:
    """Whether there is a form for devices; a subclass may mean another loss, so it does not count as its base."""
    return type(critic) in {Critic, ConvCritic, LabelCritic}


def unit_of(critic: Critic | ConvCritic, max_batch: int) -> int:
    """Records of a unit: a power of two, decided by public sizes alone."""
    if isinstance(critic, ConvCritic):
        numbers = sum(
            PLANES * geometry.positions * geometry.inputs + geometry.inputs * geometry.outputs
            for geometry in critic.geometries
        )
    else:
        numbers = 4 * PLANES * sum(layer.in_features for layer in critic.linear_layers())
    unit = MOST
    while unit > FEWEST and (unit * UNITS_OF_A_BATCH > max_batch or unit * numbers > UNIT_NUMBERS):
        unit //= 2
    return unit


def give_back(devices: Sequence[torch.device]) -> None:
    """Return memory that torch keeps for later, so that smaller pieces find room."""
    if any(device.type == "cuda" for device in devices):
        torch.cuda.empty_cache()


def _replica(
    critic: Critic | ConvCritic, layout: Layout, *, gp_weight: float, max_batch: int, unit: int
) -> Replica:
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


def _copied(critic: Critic | ConvCritic, device: torch.device, dtype: torch.dtype) -> Critic | ConvCritic:
    """A copy whose matrices begin where an allocation does, on every device: libraries choose kernels by that."""
    made = copy.deepcopy(critic)
    for layer in made.linear_layers():
        for part in (layer.weight, layer.bias):
            part.data = torch.empty(part.shape, dtype=dtype, device=device)
            part.requires_grad_(False)  # noqa: FBT003 - torch's signature
    _give(made.linear_layers(), critic.linear_layers())
    return made


def _give(layers: Sequence[nn.Linear], given: Sequence[nn.Linear]) -> None:
    with torch.no_grad():
        for layer, source in zip(layers, given, strict=True):
            layer.weight.copy_(source.weight)
            layer.bias.copy_(source.bias)


def _require_alike(replicas: Sequence[Replica], critic: Critic | ConvCritic, layout: Layout) -> None:
    """Give one unit of public records to every device: their sums and norms have to be the same to the bit."""
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
