"""One microbatch on one device, in static buffers, replayed as a CUDA graph where that gives the same bits.

A microbatch always has the same number of places, and those after its records are marked as padding. So its kernels
have fixed shapes however many records Poisson sampling drew. What depends on the partition lies in static tensors.

Results cannot depend on whether a graph is replayed. Before records of some shape are processed, public records of that
shape go both ways. If a bit differs, or the operations cannot be captured, kernels are launched one by one.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import torch
from torch import Tensor

from models.critic.clipped_form import ClippedForm
from models.devices.cuda_graph import captured, supports_cuda_graphs
from models.devices.errors import DeviceDiffers
from models.devices.exact_sum import rounded
from models.dp.clipping import Layout, Partition, each_block_alone

Kind = tuple[torch.dtype, torch.Size]

_TRIAL_THRESHOLD: Final = 0.01
"""Clipping threshold of the public trial: so low that records are clipped."""
_TRIAL_STEPS: Final = 2.0**30
"""Steps of the public trial's grid in one."""


class MicrobatchRunner:
    """Processes microbatches of one form and adds up their clipped sums as integers.

    Args:
        form: with fixed operations, on the device.
        classes: of the labels; 0 where records have none.
    """

    def __init__(
        self, form: ClippedForm[Any, Any], layout: Layout, device: torch.device, *, classes: int = 0
    ) -> None:
        self._form, self._device, self._classes = form, device, classes
        self._trial = each_block_alone(layout.sizes, [_TRIAL_THRESHOLD] * layout.blocks)
        self._finer = torch.ones(layout.coordinates, dtype=torch.float64, device=device)
        self._ruled: tuple[Partition, Tensor] | None = None
        self._replay: Callable[[], None] | None = None
        self._kind: Kind | None = None
        self.steps = torch.zeros(layout.coordinates, dtype=torch.int64, device=device)
        """(coordinates,) sum of the microbatches since `begin`, in steps of the grid; valid until the next `begin`."""

    @property
    def replays_graph(self) -> bool:
        """Whether the last microbatch was processed by replaying a CUDA graph."""
        return self._replay is not None

    def begin(self, partition: Partition, finer: Tensor) -> None:
        """Begin an empty sum.

        Args:
            finer: (coordinates,) float64 on the device: steps of the grid in one, for every coordinate.
        """
        if self._ruled is None or self._ruled[0] is not partition or self._ruled[1] is not finer:
            self._rule(partition, finer)
        self.steps.zero_()

    def add(self, real: Tensor, fake: Tensor, mix: Tensor, *, labels: Tensor | None = None) -> Tensor:
        """Add the clipped sum of one microbatch; see `models.critic.clipped_form.ClippedForm.sum_and_squares`.

        Args:
            real: records of at most one microbatch, on the device.

        Returns:
            (records, blocks) float64 squared norms, valid until the next call.

        Raises:
            DeviceDiffers: the device gives other numbers when it processes public records a second time.
        """
        kind = (real.dtype, real.shape[1:])
        if kind != self._kind:
            assert self._ruled is not None, "`begin` comes first"
            self._try(real, fake, *self._ruled)
            self._kind = kind
        self._form.fill(real, fake, mix, labels=labels)
        (self._replay or self._launch)()
        return self._form.filled[1][: len(real)]

    def _launch(self) -> None:
        """Process the loaded microbatch by plain launches."""
        self._form.measure()
        self._form.add()
        self.steps += rounded(self._form.filled[0], self._finer)

    def _rule(self, partition: Partition, finer: Tensor) -> None:
        self._ruled = None
        self._form.rule(partition)
        self._finer.copy_(finer)
        self._ruled = partition, finer

    def _try(self, real: Tensor, fake: Tensor, partition: Partition, finer: Tensor) -> None:
        """Choose how records of this shape are processed; their values are not read.

        Raises:
            DeviceDiffers: the device does not give the same numbers twice.
        """
        self._replay = None
        if not supports_cuda_graphs(self._device):
            return
        before = self.steps.clone()
        self._rule(self._trial, torch.full_like(self._finer, _TRIAL_STEPS))
        public, fakes, mix, labels = self._public(real, fake)
        self._form.fill(public, fakes, mix, labels=labels)
        expected = self._made(len(public))
        with suppress(RuntimeError):  # running out of memory during the capture is one
            self._replay = captured(self._launch, self._device)
        if self.replays_graph and not _alike(self._made(len(public)), expected):
            self._replay = None
        # A failed capture may leave the device in another state, so plain launches are tried again.
        if not self.replays_graph and not _alike(self._made(len(public)), expected):
            raise DeviceDiffers
        self._rule(partition, finer)
        self.steps.copy_(before)

    def _made(self, count: int) -> list[Tensor]:
        """All results for the first `count` loaded records."""
        self.steps.zero_()
        (self._replay or self._launch)()
        total, squares = self._form.filled
        return [made.clone() for made in (self.steps, total, squares[:count])]

    def _public(self, real: Tensor, fake: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Public records of the shapes of these, one less than the microbatch has places."""
        count = max(1, self._form.microbatch_size - 1)
        waves = [
            torch.sin(torch.arange(1.0, 1.0 + count * shape.numel(), device=self._device)).view(count, *shape)
            for shape in (real.shape[1:], fake.shape[1:])
        ]
        labels = torch.arange(count, device=self._device) % self._classes if self._classes else None
        # For cells: the first few, which every critic has.
        cells = torch.arange(real.shape[1], device=self._device).expand(count, -1)
        records = waves[0].to(real.dtype) if real.is_floating_point() else cells
        return records, waves[1].to(fake.dtype), torch.linspace(0.0, 0.9, count, device=self._device), labels


def _alike(ours: list[Tensor], theirs: list[Tensor]) -> bool:
    return all(torch.equal(one, other) for one, other in zip(ours, theirs, strict=True))
