"""The work on one unit of records on one device, by recorded kernels where they give the same bits.

A unit always has the same number of places, those after its records marked as empty, so its kernels have fixed shapes
however many records Poisson sampling gave. What follows the partition lies in tensors that stay where they are.

Whether they are recorded can be no matter of results: before records of some shape are worked on, public ones of that
shape go both ways, and where a bit differs, or nothing can be recorded, kernels are launched one by one as ever.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Final

import torch
from torch import Tensor

from models.critic.unit import UnitForm
from models.devices.errors import DeviceDiffers
from models.devices.exact_sum import rounded
from models.devices.recording import can_record, recorded
from models.dp.clipping import Layout, Partition, each_block_alone

Kind = tuple[torch.dtype, torch.Size]

_THRESHOLD: Final = 0.01
"""Of the public trial: so low that records are clipped."""
_FINER: Final = 2.0**30
"""Steps of the public trial's grid in one."""


class UnitWork:
    """Works through units of one form, and adds them up as whole numbers.

    Args:
        form: a fixed one, on the device.
        layout: public blocks.
        device: where.
        classes: of the labels; 0 where records have none.
    """

    def __init__(self, form: UnitForm, layout: Layout, device: torch.device, *, classes: int = 0) -> None:
        self._form, self._device, self._classes = form, device, classes
        self._trial = each_block_alone(layout.sizes, [_THRESHOLD] * layout.blocks)
        self._finer = torch.ones(layout.coordinates, dtype=torch.float64, device=device)
        self._ruled: tuple[Partition, Tensor] | None = None
        self._play: Callable[[], None] | None = None
        self._kind: Kind | None = None
        self.steps = torch.zeros(layout.coordinates, dtype=torch.int64, device=device)
        """(coordinates,) sum of the units since `begin`, in steps of the grid; valid until the next `begin`."""

    @property
    def recorded(self) -> bool:
        """Whether the records worked on last went through recorded kernels."""
        return self._play is not None

    def begin(self, partition: Partition, finer: Tensor) -> None:
        """Begin an empty sum.

        Args:
            partition: groups and thresholds to clip by.
            finer: (coordinates,) float64 on the device: steps of the grid in one, of every coordinate.
        """
        if self._ruled is None or self._ruled[0] is not partition or self._ruled[1] is not finer:
            self._rule(partition, finer)
        self.steps.zero_()

    def add(self, real: Tensor, fake: Tensor, mix: Tensor, *, labels: Tensor | None = None) -> Tensor:
        """Add the clipped sum of one unit; see `models.critic.closed_form.ClosedForm.sum_and_squares`.

        Args:
            real: records of one unit at most, on the device.
            fake: alike.
            mix: alike.
            labels: alike, where records have labels.

        Returns:
            (records, blocks) float64 squared norms, valid until the next call.

        Raises:
            DeviceDiffers: the device does not give the same numbers of public records twice.
        """
        kind = (real.dtype, real.shape[1:])
        if kind != self._kind:
            assert self._ruled is not None, "begun"
            self._try(real, fake, *self._ruled)
            self._kind = kind
        self._form.fill(real, fake, mix, labels=labels)
        (self._play or self._plain)()
        return self._form.filled[1][: len(real)]

    def _plain(self) -> None:
        """The work on the records in place."""
        self._form.measure()
        self._form.add()
        self.steps += rounded(self._form.filled[0], self._finer)

    def _rule(self, partition: Partition, finer: Tensor) -> None:
        self._ruled = None
        self._form.rule(partition)
        self._finer.copy_(finer)
        self._ruled = partition, finer

    def _try(self, real: Tensor, fake: Tensor, partition: Partition, finer: Tensor) -> None:
        """Choose how records of this shape are worked on; their values are not read.

        Raises:
            DeviceDiffers: the device does not give the same numbers twice.
        """
        self._play = None
        if not can_record(self._device):
            return
        before = self.steps.clone()
        self._rule(self._trial, torch.full_like(self._finer, _FINER))
        public, fakes, mix, labels = self._public(real, fake)
        self._form.fill(public, fakes, mix, labels=labels)
        expected = self._made(len(public))
        with suppress(RuntimeError):  # memory that is short for a recording is one
            self._play = recorded(self._plain, self._device)
        if self.recorded and not _alike(self._made(len(public)), expected):
            self._play = None
        # Plain ones are tried again, for a recording that failed may leave its traces.
        if not self.recorded and not _alike(self._made(len(public)), expected):
            raise DeviceDiffers
        self._rule(partition, finer)
        self.steps.copy_(before)

    def _made(self, count: int) -> list[Tensor]:
        """All that the work makes of so many records in place."""
        self.steps.zero_()
        (self._play or self._plain)()
        total, squares = self._form.filled
        return [made.clone() for made in (self.steps, total, squares[:count])]

    def _public(self, real: Tensor, fake: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Public records of the shapes of these, one place of the unit empty."""
        count = max(1, self._form.at_once - 1)
        waves = [
            torch.sin(torch.arange(1.0, 1.0 + count * shape.numel(), device=self._device)).view(count, *shape)
            for shape in (real.shape[1:], fake.shape[1:])
        ]
        labels = torch.arange(count, device=self._device) % self._classes if self._classes else None
        # As cells the first few, which every critic has.
        cells = torch.arange(real.shape[1], device=self._device).expand(count, -1)
        records = waves[0].to(real.dtype) if real.is_floating_point() else cells
        return records, waves[1].to(fake.dtype), torch.linspace(0.0, 0.9, count, device=self._device), labels


def _alike(ours: list[Tensor], theirs: list[Tensor]) -> bool:
    return all(torch.equal(one, other) for one, other in zip(ours, theirs, strict=True))
