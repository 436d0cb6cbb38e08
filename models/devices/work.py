"""The work on one unit of records on one device, by recorded kernels where they give the same bits.

A unit always has the same number of places, those after its records marked as empty, so its kernels have fixed shapes
however many records Poisson sampling gave. They are recorded in two pieces: up to the norms, and from the clipping
factors on. Between them lies what follows the partition, whose groups change during a training.

Whether they are recorded can be no matter of results: before records of some shape are worked on, public ones of that
shape go both ways, and where a bit differs, or nothing can be recorded, kernels are launched one by one as ever.
"""

from collections.abc import Callable
from typing import Final

import torch
from torch import Tensor

from models.critic.unit import UnitForm
from models.devices.errors import DeviceDiffers
from models.devices.recording import recorded
from models.dp.clipping import Layout, Partition, each_block_alone

Steps = tuple[Callable[[], None], Callable[[], None]]
Kind = tuple[torch.dtype, torch.Size]

_THRESHOLD: Final = 0.01
"""Of the public trial: so low that records are clipped."""


class UnitWork:
    """Works through units of one form.

    Args:
        form: a fixed one, on the device.
        layout: public blocks.
        device: where.
        classes: of the labels; 0 where records have none.
    """

    def __init__(self, form: UnitForm, layout: Layout, device: torch.device, *, classes: int = 0) -> None:
        self._form, self._device, self._classes = form, device, classes
        self._trial = each_block_alone(layout.sizes, [_THRESHOLD] * layout.blocks)
        self._plain: Steps = (form.measure, form.add)
        self._steps = self._plain
        self._kind: Kind | None = None

    @property
    def recorded(self) -> bool:
        """Whether the records worked on last went through recorded kernels."""
        return self._steps is not self._plain

    def sum_and_squares(
        self, real: Tensor, fake: Tensor, mix: Tensor, partition: Partition, *, labels: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The clipped sum and the squared norms of one unit; see `models.critic.closed_form.ClosedForm.sum_and_squares`.

        Args:
            real: records of one unit at most, on the device.
            fake: alike.
            mix: alike.
            partition: groups and thresholds.
            labels: alike, where records have labels.

        Returns:
            (coordinates,) float64, valid until the next call; (records, blocks) float64.

        Raises:
            DeviceDiffers: the device does not give the same numbers of public records twice.
        """
        kind = (real.dtype, real.shape[1:])
        if kind != self._kind:
            self._steps = self._prepared(real, fake)
            self._kind = kind
        return self._worked(self._steps, real, fake, mix, partition, labels)

    def _worked(
        self,
        steps: Steps,
        real: Tensor,
        fake: Tensor,
        mix: Tensor,
        partition: Partition,
        labels: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        measure, add = steps
        self._form.fill(real, fake, mix, labels=labels)
        measure()
        self._form.rule(partition)
        add()
        total, squares = self._form.filled
        return total, squares[: len(real)].clone()

    def _prepared(self, real: Tensor, fake: Tensor) -> Steps:
        """The steps for records of this shape; their values are not read.

        Raises:
            DeviceDiffers: the device does not give the same numbers twice.
        """
        if not can_record(self._device):
            return self._plain
        real, fake, mix, labels = self._public(real, fake)
        first = self._worked(self._plain, real, fake, mix, self._trial, labels)
        expected = [made.clone() for made in first]
        # Plain ones are tried again, for a recording that failed may leave its traces.
        for steps in (self._recorded(), self._plain):
            made = self._worked(steps, real, fake, mix, self._trial, labels)
            if all(torch.equal(ours, theirs) for ours, theirs in zip(made, expected, strict=True)):
                return steps
        raise DeviceDiffers

    def _recorded(self) -> Steps:
        """Recordings of the steps, with public records in place; the steps themselves where there can be none."""
        try:
            measure = recorded(self._form.measure, self._device)
            measure()
            self._form.rule(self._trial)
            return measure, recorded(self._form.add, self._device)
        except RuntimeError:  # memory that is short for a recording is one
            return self._plain

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


def can_record(device: torch.device) -> bool:
    """Whether a device has recordings at all."""
    return device.type == "cuda"
