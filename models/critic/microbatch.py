"""Microbatches: records are processed a public number at a time, in buffers whose rows are all aligned alike.

A matrix product rounds by its shape. The same row times the same matrix may come out with other last bits when the
product has more rows, or when the row begins at another offset from a cache line. Then adding or removing one record
would change the other records' gradients before they are clipped, outside every sensitivity bound.

So every product whose result is a record's factor, norm or clipping factor has exactly one microbatch of records,
whatever the size of the batch, and every row begins at a multiple of `ROW_BYTES`. The last microbatch is padded.
`models.critic.placement_invariance` checks on the machine at hand that a record's position makes no difference either.
"""

import math
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from core.plan.defaults import CAP_EXTRA, CAP_FACTOR

MICROBATCH_SIZE: Final = 128
"""Records of a microbatch where nothing is known of the batch."""
MOST_NUMBERS: Final = 1 << 20
"""Largest number of cells in a microbatch of more than `MICROBATCH_SIZE` records: 8 MiB of float64."""
_STEP: Final = 16
ROW_BYTES: Final = 64
"""Alignment of every row: the width of the widest vector registers and of a cache line."""


def cpu_microbatch_size(max_batch: int, inputs: int) -> int:
    """Records of a microbatch on the CPU, from public numbers alone.

    Few large products cost less than many small ones, and padding costs as much as records. So microbatches are as few
    as their size allows, equal, and together hold the expected batch plus two standard deviations of its Poisson size.

    Args:
        max_batch: public cap on the records of one batch, from which the expected size follows.
        inputs: cells of a record.
    """
    expected = max(1, (max_batch - CAP_EXTRA) // CAP_FACTOR)
    places = expected + math.ceil(2.0 * math.sqrt(expected))
    count = -(-places // max(MICROBATCH_SIZE, MOST_NUMBERS // inputs))
    return -(-places // (count * _STEP)) * _STEP


class Workspace:
    """Buffers by name that live as long as the critic: the same memory, shape and alignment at every call."""

    def __init__(self, device: torch.device | None = None) -> None:
        self._device = device
        self._buffers: dict[tuple[str, int], Tensor] = {}

    def take(self, name: str, index: int, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        """A tensor of this shape: zeros at first, later whatever was left in it.

        Rows along the last dimension are contiguous and aligned to `ROW_BYTES`; the other dimensions have the strides
        of one contiguous buffer of such rows.
        """
        buffer = self._buffers.get((name, index))
        if buffer is None or buffer.shape != shape:
            step = ROW_BYTES // dtype.itemsize
            width = -(-shape[-1] // step) * step
            whole = torch.zeros(*shape[:-1], width, dtype=dtype, device=self._device)
            assert whole.data_ptr() % ROW_BYTES == 0, "torch aligns what it allocates"
            buffer = self._buffers[name, index] = whole[..., : shape[-1]]
        return buffer


@dataclass(frozen=True, slots=True, kw_only=True)
class Microbatch:
    """One padded microbatch of `n` places, valid until the next is loaded.

    Args:
        real: (n, inputs) vectors, or (n, columns) int64 cells.
        fake: (n, inputs).
        mix: (n,) in the critic's precision.
        present: (n,) bool: the place holds a record. The padding after the records is zero.
        count: records.
    """

    real: Tensor
    fake: Tensor
    mix: Tensor
    present: Tensor
    count: int


class MicrobatchBuffer:
    """Copies records into static, padded buffers.

    Args:
        size: places of a microbatch; public.
    """

    def __init__(self, dtype: torch.dtype, *, size: int, device: torch.device | None = None) -> None:
        self._dtype = dtype
        self._size = size
        self._take = Workspace(device).take

    def load(self, real: Tensor, fake: Tensor, mix: Tensor) -> Microbatch:
        """Load at most `size` records; the same kind of records always lies in the same memory.

        Args:
            real: (records, inputs) vectors, or (records, columns) int64 cells of one-hot records.
            fake: (records, inputs).
            mix: (records,).
        """
        return Microbatch(
            real=self._padded("real", real, self._dtype if real.is_floating_point() else torch.int64),
            fake=self._padded("fake", fake, self._dtype),
            mix=self._padded("mix", mix, self._dtype),
            present=mark_present(self._take("present", 0, (self._size,), torch.bool), len(real)),
            count=len(real),
        )

    def _padded(self, name: str, records: Tensor, dtype: torch.dtype) -> Tensor:
        count = records.shape[0]
        buffer = self._take(name, int(dtype == torch.int64), (self._size, *records.shape[1:]), dtype)
        buffer[:count] = records
        buffer[count:] = 0
        return buffer


def mark_present(present: Tensor, count: int) -> Tensor:
    """Set the first `count` of (places,) bool to true and the rest to false, in place."""
    present[:count] = True
    present[count:] = False
    return present
