"""Data parallelism: the clipped sum of a batch over one or several devices, the same to the bit on any number of them.

A batch is cut into microbatches of a public number of records. Everything that belongs to a record, and the sum of a
microbatch, is computed in products of exactly that many records. The sums of the microbatches are added as integers
(`models.devices.exact_sum`). So it makes no difference which device processes which microbatch, nor how many of them are
on a device at once. When memory runs out, the current wave of microbatches is discarded and begun again with half as
many. The size of a microbatch never changes once a row was read.
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
from models.devices.replicas import Replica, copied, copy_parameters, replica_of, require_alike
from models.dp.clipping import Layout, Partition

FEWEST, MOST = 16, 2048
"""Records of a microbatch at least and at most."""
MICROBATCHES_OF_LARGEST_BATCH: Final = 16
"""The largest batch, four times the expected one, is cut into at least so many: then one place in ten is padding."""
MICROBATCH_NUMBERS: Final = 1 << 28
"""Largest number of tensor entries of one microbatch: a GiB of float32."""
WAVE: Final = 8
"""Microbatches on a device at once, until memory runs out."""


class DataParallelForm:
    """Norms and clipped sums of a batch over the devices of a placement; a `models.critic.forms.RecordForm`.

    Args:
        critic: on the placement's first device; a copy follows it on every device.

    Raises:
        UnevenRounding: a device rounds a record differently by its place in a microbatch.
        DeviceDiffers: two devices give different sums of the same public records.
        DeviceMemoryShort: the smallest microbatch does not fit.
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
        self.microbatch_size = data_parallel_microbatch_size(critic, max_batch)
        while True:
            try:
                self._replicas = tuple(
                    replica_of(
                        each,
                        layout,
                        gp_weight=gp_weight,
                        max_batch=max_batch,
                        microbatch_size=self.microbatch_size,
                    )
                    for each in copies
                )
                require_alike(self._replicas, critic, layout)
            except torch.OutOfMemoryError:
                self._replicas = ()
                if self.microbatch_size <= FEWEST:
                    raise DeviceMemoryShort from None
                self.microbatch_size //= 2
                release_cached_memory(placement.devices)
            else:
                break
        self._wave = WAVE * len(self._replicas)
        self._threads = ThreadPoolExecutor(len(self._replicas), thread_name_prefix="device")
        self._ruled: tuple[Partition, Partition, ExactSum] | None = None

    @property
    def replays_graphs(self) -> bool:
        """Whether every device replays CUDA graphs; no number depends on it."""
        return all(replica.runner.replays_graph for replica in self._replicas)

    def sum_and_squares(
        self, real: Tensor, fake: Tensor, mix: Tensor, partition: Partition, *, labels: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The clipped sum and the squared norms of one batch.

        Args:
            real: (batch, inputs) vectors, (batch, columns) cells or (batch, channels, height, width) images, anywhere.
            fake: (batch, inputs) or images, anywhere.
            mix: (batch,) in [0, 1), anywhere.
            labels: (batch,) int64 where the critic has classes.

        Returns:
            (coordinates,) float64 and (batch, blocks) float64 on the first device; see `ClippedForm.sum_and_squares`.

        Raises:
            DeviceMemoryShort: not even one microbatch fits into the memory that is left.
        """
        clipped, exact = self._rule_of(partition)
        self._follow()
        exact.clear()
        records = tuple(given for given in (real, fake, mix, labels) if given is not None)
        main = self._replicas[0].device
        squares = torch.empty(len(real), self._layout.blocks, dtype=torch.float64, device=main)
        first = 0
        while first < len(real):
            wave = slice(first, first + self._wave * self.microbatch_size)
            try:
                steps, norms = self._process(tuple(given[wave] for given in records), clipped, exact)
            except torch.OutOfMemoryError as error:
                # The traceback refers to the tensors of this wave, and through the futures to itself; free them before the next wave.
                clear_frames(error.__traceback__)
                self._smaller()
                continue
            for share in steps:
                exact.add(share)
            squares[wave] = norms
            first = wave.stop
        return exact.total(), squares

    def _process(
        self, records: Sequence[Tensor], clipped: Partition, exact: ExactSum
    ) -> tuple[list[Tensor], Tensor]:
        """The devices' sums and the norms of one wave, on the first device. Each device gets consecutive microbatches."""
        microbatches = -(-len(records[0]) // self.microbatch_size)
        each = -(-microbatches // len(self._replicas)) * self.microbatch_size
        shares = [
            (replica, tuple(given[first : first + each] for given in records), clipped, exact)
            for replica, first in zip(self._replicas, range(0, len(records[0]), each), strict=False)
        ]
        if len(shares) == 1:
            made = [self._share(*shares[0])]
        else:
            begun = [self._threads.submit(self._share, *given) for given in shares]
            wait(begun)  # so that no device is still busy when one has failed
            made = [share.result() for share in begun]
        main = self._replicas[0].device
        return [steps.to(main) for steps, _ in made], torch.cat([norms.to(main) for _, norms in made])

    def _share(
        self, replica: Replica, records: Sequence[Tensor], clipped: Partition, exact: ExactSum
    ) -> tuple[Tensor, Tensor]:
        here = tuple(given.to(replica.device) for given in records)
        norms = torch.empty(len(here[0]), self._layout.blocks, dtype=torch.float64, device=replica.device)
        runner = replica.runner
        runner.begin(clipped, exact.finer(replica.device))
        for first in range(0, len(here[0]), self.microbatch_size):
            piece = slice(first, first + self.microbatch_size)
            real, fake, mix, *labels = (given[piece] for given in here)
            norms[piece] = runner.add(real, fake, mix, labels=labels[0] if labels else None)
        return runner.steps, norms

    def _smaller(self) -> None:
        if self._wave == 1:
            raise DeviceMemoryShort from None
        self._wave = max(1, self._wave // 2)
        release_cached_memory([replica.device for replica in self._replicas])

    def _follow(self) -> None:
        """Copy the critic's present parameters to the replicas."""
        for replica in self._replicas:
            copy_parameters(replica.layers, self._layers)

    def _rule_of(self, partition: Partition) -> tuple[Partition, ExactSum]:
        if self._ruled is None or self._ruled[0] is not partition:
            exact = ExactSum(
                self._layout,
                partition,
                max_batch=self._max_batch,
                piece=self.microbatch_size,
                device=self._replicas[0].device,
            )
            self._ruled = (partition, lowered(partition), exact)
        return self._ruled[1], self._ruled[2]


def supports_data_parallel(critic: object) -> TypeGuard[Critic | ConvCritic]:
    """Whether a critic can be trained on devices. A subclass may have another loss, so it does not count as its base."""
    return type(critic) in {Critic, ConvCritic, LabelCritic}


def data_parallel_microbatch_size(critic: Critic | ConvCritic, max_batch: int) -> int:
    """Records of a microbatch on devices: a power of two, from public sizes alone."""
    if isinstance(critic, ConvCritic):
        planes = 1 if isinstance(critic, LabelCritic) else PLANES
        numbers = sum(
            planes * geometry.positions * geometry.inputs + geometry.inputs * geometry.outputs
            for geometry in critic.geometries
        )
    else:
        numbers = 4 * PLANES * sum(layer.in_features for layer in critic.linear_layers())
    size = MOST
    while size > FEWEST and (
        size * MICROBATCHES_OF_LARGEST_BATCH > max_batch or size * numbers > MICROBATCH_NUMBERS
    ):
        size //= 2
    return size


def release_cached_memory(devices: Sequence[torch.device]) -> None:
    """Return the memory that torch caches, so that smaller pieces find room."""
    if any(device.type == "cuda" for device in devices):
        torch.cuda.empty_cache()
