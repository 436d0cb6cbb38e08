"""The clipped sums of a batch's microbatches, added exactly as 64-bit integers.

The sum of each microbatch is rounded to a public power of two, so fine that it only affects the last digits of the
thresholds. Adding the integers is exact: the same in any order, on any number of devices, however they are grouped. The
thresholds are lowered beforehand by what the rounding may add to the distance of two neighbouring sums.
"""

import math
from dataclasses import replace
from typing import Final

import torch
from torch import Tensor

from models.dp.clipping import Layout, Partition

SHARE: Final = 2.0**-24
"""Share of every threshold that is set aside for the rounding here."""
_MOST_RECORDS: Final = 1 << 26
_RANGE: Final = 2.0**62


def lowered(partition: Partition) -> Partition:
    """The partition to clip by, so that the exact sum stays within the given partition."""
    return replace(partition, thresholds=tuple(c * (1.0 - SHARE) for c in partition.thresholds))


class ExactSum:
    """The sum of a batch that comes in pieces, one a microbatch.

    With `m` pieces at most, the grid of a group of `d` coordinates and threshold `c` is at most `SHARE c / (4 m sqrt d)`, so
    rounding moves a sum by at most `SHARE c / 8`. Making floats of the sum of `n` records moves it by at most
    `2**-53 n c`, which is below `SHARE c / 8` too. So the sums of two neighbours differ by at most `SHARE c / 2` more.

    Args:
        partition: groups and thresholds, not lowered.
        piece: records of a piece; only the last of a batch has fewer.

    Raises:
        ValueError: 64 bits do not hold the sum of so large a batch.
    """

    def __init__(
        self, layout: Layout, partition: Partition, *, max_batch: int, piece: int, device: torch.device
    ) -> None:
        grids = grids_of(partition, max_batch=max_batch, piece=piece)
        by_block = [grids[group] for group in partition.group_of_block]
        sizes = torch.tensor(layout.sizes)
        self._grid = torch.repeat_interleave(torch.tensor(by_block, dtype=torch.float64), sizes).to(device)
        self._finer = {device: 1.0 / self._grid}
        self._sum = torch.zeros(layout.coordinates, dtype=torch.int64, device=device)
        self._total = torch.empty_like(self._grid)

    def clear(self) -> None:
        """Begin a new batch."""
        self._sum.zero_()

    def finer(self, device: torch.device) -> Tensor:
        """(coordinates,) float64 steps of the grid in one, on a device; the same tensor at every call."""
        if device not in self._finer:
            self._finer[device] = (1.0 / self._grid).to(device)
        return self._finer[device]

    def add(self, steps: Tensor) -> None:
        """Add results of `rounded`, or sums of them, in one operation that cannot fail half way."""
        self._sum += steps

    def total(self) -> Tensor:
        """(coordinates,) float64 sum of what was added, valid until the next call."""
        return torch.mul(self._sum, self._grid, out=self._total)


def rounded(piece: Tensor, finer: Tensor) -> Tensor:
    """(coordinates,) int64 steps of the grid of the (coordinates,) float64 sum of one piece; see `ExactSum.finer`."""
    return (piece * finer).round_().to(torch.int64)


def grids_of(partition: Partition, *, max_batch: int, piece: int) -> tuple[float, ...]:
    """The public grid of every group, a power of two.

    Raises:
        ValueError: see `ExactSum`.
    """
    pieces = -(-max_batch // piece)
    grids = tuple(
        math.ldexp(1.0, math.floor(math.log2(SHARE / 4.0 * c / (pieces * math.sqrt(d)))))
        for c, d in zip(partition.thresholds, partition.dimensions, strict=True)
    )
    widest = max(max_batch * c / grid for c, grid in zip(partition.thresholds, grids, strict=True))
    if max_batch > _MOST_RECORDS or widest >= _RANGE:
        raise ValueError("the batch is too large for sums in 64-bit integers")
    return grids
