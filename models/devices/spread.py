"""A clipped sum over one or several devices, the same to the bit on any number of them and in any amount of memory.

A batch is cut into units of a public number of records. All that belongs to a record, and the sum of a unit, is computed
in products of exactly that many, as the closed forms do with their chunks; the units' sums are added as whole numbers
(`models.devices.exact_sum`). So it does not matter which device works on which unit, nor how many units are on a
device at once. When memory runs out, the wave of units at hand is thrown away and begun anew with half as many;
units never change once a row was read.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from traceback import clear_frames
from typing import Final, TypeGuard

import torch
from torch import Tensor

from models.critic.conv_network import ConvCritic
from models.critic.factors import PLANES
from models.critic.label_network import LabelCritic
from models.critic.network import Critic
from models.devices.errors import DeviceMemoryShort
from models.devices.exact_sum import ExactSum, lowered
from models.devices.placement import Placement
from models.devices.replicas import Replica, copied, give, replica_of, require_alike
from models.dp.clipping import Layout, Partition

FEWEST, MOST = 16, 2048
"""Records of a unit at least and at most."""
UNITS_OF_A_BATCH: Final = 16
"""So many units at least make the largest batch, which is four times the expected one: one in ten places idles."""
UNIT_NUMBERS: Final = 1 << 28
"""Numbers of one unit at most: a GiB of float32."""
WAVE: Final = 8
"""Units on a device at once, until memory runs out."""


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
        copies = [copied(critic, device, dtype) for device in placement.devices]
        self.unit = unit_of(critic, max_batch)
        while True:
            try:
                self._replicas = tuple(
                    replica_of(each, layout, gp_weight=gp_weight, max_batch=max_batch, unit=self.unit)
                    for each in copies
                )
                require_alike(self._replicas, critic, layout)
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
            except torch.OutOfMemoryError as error:
                # Its traceback holds what the wave had made, and itself through the futures: that must be gone before the next.
                clear_frames(error.__traceback__)
                self._smaller()
                continue
            for share in steps:
                exact.add(share)
            squares[wave] = norms
            first = wave.stop
        return exact.total(), squares

    def _work(
        self, records: Sequence[Tensor], clipped: Partition, exact: ExactSum
    ) -> tuple[list[Tensor], Tensor]:
        """Sums of the devices and norms of one wave, on the first device: its units dealt to the devices in runs."""
        units = -(-len(records[0]) // self.unit)
        each = -(-units // len(self._replicas)) * self.unit
        work = [
            (replica, tuple(given[first : first + each] for given in records), clipped, exact)
            for replica, first in zip(self._replicas, range(0, len(records[0]), each), strict=False)
        ]
        if len(work) == 1:
            made = [self._share(*work[0])]
        else:
            begun = [self._threads.submit(self._share, *given) for given in work]
            wait(begun)  # nobody works on when one has failed
            made = [share.result() for share in begun]
        main = self._replicas[0].device
        return [steps.to(main) for steps, _ in made], torch.cat([norms.to(main) for _, norms in made])

    def _share(
        self, replica: Replica, records: Sequence[Tensor], clipped: Partition, exact: ExactSum
    ) -> tuple[Tensor, Tensor]:
        here = tuple(given.to(replica.device) for given in records)
        norms = torch.empty(len(here[0]), self._layout.blocks, dtype=torch.float64, device=replica.device)
        work = replica.work
        work.begin(clipped, exact.finer(replica.device))
        for first in range(0, len(here[0]), self.unit):
            piece = slice(first, first + self.unit)
            real, fake, mix, *labels = (given[piece] for given in here)
            norms[piece] = work.add(real, fake, mix, labels=labels[0] if labels else None)
        return work.steps, norms

    def _smaller(self) -> None:
        if self._wave == 1:
            raise DeviceMemoryShort from None
        self._wave = max(1, self._wave // 2)
        give_back([replica.device for replica in self._replicas])

    def _follow(self) -> None:
        """Give the copies the critic's present parameters."""
        for replica in self._replicas:
            give(replica.layers, self._layers)

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
        planes = 1 if isinstance(critic, LabelCritic) else PLANES
        numbers = sum(
            planes * geometry.positions * geometry.inputs + geometry.inputs * geometry.outputs
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
