"""Records in chunks of one public size, in rows that all begin alike, so that company never changes a record's bits.

A matrix product rounds by its shape: the same row times the same matrix may come out with other last bits when the product
has more rows, or when the row begins at another offset from a cache line. Then one record more or less would move the
others' gradients before they are clipped, outside every sensitivity bound. So every product whose result is a record's
factor, norm or clipping scale has exactly `CHUNK` records, whatever the batch, and every row begins at a multiple of
`ROW_BYTES`. Places within a chunk are then alike too; `models.critic.evenness` makes sure of it on the machine at hand.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from core.synthesis.rules import CAP_EXTRA, CAP_FACTOR

CHUNK: Final = 128
"""Records of one matrix product where nothing is told of the batch. The last chunk is filled up with places that count nothing."""
MOST_NUMBERS: Final = 1 << 20
"""Numbers of the records of one chunk at most, except in chunks of `CHUNK`: 8 MiB of float64."""
_STEP: Final = 16
ROW_BYTES: Final = 64
"""Every row begins at a multiple of this: the width of the widest vector registers and of a cache line."""


def chunk_of(max_batch: int, inputs: int) -> int:
    """Records of one matrix product on the CPU, from public numbers alone.

    Few large products cost less than many small ones, and empty places cost as much as records. So chunks are as few as
    their size allows, equal, and hold the expected batch with two standard deviations of its Poisson size.

    Args:
        max_batch: public cap on the records of one batch, from which the expected size follows.
        inputs: cells of a record.
    """
    expected = max(1, (max_batch - CAP_EXTRA) // CAP_FACTOR)
    places = expected + math.ceil(2.0 * math.sqrt(expected))
    chunks = -(-places // max(CHUNK, MOST_NUMBERS // inputs))
    return -(-places // (chunks * _STEP)) * _STEP


class Workspace:
    """Buffers by name that live as long as the critic: the same memory, shape and alignment at every call.

    Args:
        device: where they are.
    """

    def __init__(self, device: torch.device | None = None) -> None:
        self._device = device
        self._buffers: dict[tuple[str, int], Tensor] = {}

    def take(self, name: str, index: int, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        """A tensor of this shape, zero at first, later whatever was left there.

        Its rows along the last dimension are contiguous and `ROW_BYTES` aligned; those before are as in one piece.
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
class Chunk:
    """One chunk of a batch, valid until the next.

    Args:
        real: (CHUNK, inputs) vectors, or (CHUNK, columns) int64 cells.
        fake: (CHUNK, inputs).
        mix: (CHUNK,) in the critic's precision.
        present: (CHUNK,) bool: the place holds a record; the places after the records are filled with zeros.
        count: records.
    """

    real: Tensor
    fake: Tensor
    mix: Tensor
    present: Tensor
    count: int


class Chunks:
    """Cuts batches into chunks.

    Args:
        dtype: the critic's precision.
        at_once: records of a chunk; public.
        device: the critic's.
    """

    def __init__(
        self, dtype: torch.dtype, *, at_once: int = CHUNK, device: torch.device | None = None
    ) -> None:
        self._dtype = dtype
        self._at_once = at_once
        self._take = Workspace(device).take

    def of(self, real: Tensor, fake: Tensor, mix: Tensor) -> Iterator[Chunk]:
        """The chunks of a batch, in order; none of an empty one.

        Args:
            real: (batch, inputs) vectors, or (batch, columns) int64 cells of one-hot records.
            fake: (batch, inputs).
            mix: (batch,).
        """
        for first in range(0, real.shape[0], self._at_once):
            piece = slice(first, first + self._at_once)
            yield self.one(real[piece], fake[piece], mix[piece])

    def one(self, real: Tensor, fake: Tensor, mix: Tensor) -> Chunk:
        """The chunk of at most as many records as it has places; for one kind of records always the same memory."""
        return Chunk(
            real=self._filled("real", real, self._dtype if real.is_floating_point() else torch.int64),
            fake=self._filled("fake", fake, self._dtype),
            mix=self._filled("mix", mix, self._dtype),
            present=marked(self._take("present", 0, (self._at_once,), torch.bool), len(real)),
            count=len(real),
        )

    def _filled(self, name: str, records: Tensor, dtype: torch.dtype) -> Tensor:
        count = records.shape[0]
        buffer = self._take(name, int(dtype == torch.int64), (self._at_once, *records.shape[1:]), dtype)
        buffer[:count] = records
        buffer[count:] = 0
        return buffer


def marked(present: Tensor, count: int) -> Tensor:
    """(places,) bool, true in the first `count` of them; written over."""
    present[:count] = True
    present[count:] = False
    return present
