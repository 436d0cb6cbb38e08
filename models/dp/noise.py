"""Gaussian noise on groups of coordinates: its allocation, and its grid.

The stacked release of all groups is one Gaussian mechanism with the step's noise multiplier, however many groups there
are (shared design, section 3). Sum and noise are rounded to the same public power-of-two grid and added as integers, so
low bits carry no signal (Mironov, "On significance of the least significant bits for differential privacy", 2012).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from models.dp.clipping import Layout, Partition
from models.randomness import PIECE, KeystreamReader, NormalSource, normals_into

GRID_BITS = 36
"""The grid of a group lies between 2**-37 and 2**-36 of its noise standard deviation (coarser for huge batches)."""

_EXACT_BITS = 52
COARSE_BITS = 20
"""Bits of the noise that a coarse release keeps: a float64 has 32 more, so even its coarsest numbers fall evenly into such steps."""


def group_noise_stds(noise_multiplier: float, partition: Partition) -> tuple[float, ...]:
    """The allocation that does not depend on the number K of groups: the least noise energy `sum d_j s_j^2` with `sum c_j^2 / s_j^2 = 1 / sigma^2`.

        s_j^2 = sigma^2 (c_j / sqrt(d_j)) sum_k c_k sqrt(d_k)

    Args:
        noise_multiplier: sigma of the step.
        partition: thresholds c_j and dimensions d_j of the groups.

    Returns:
        The standard deviation of every coordinate of every group, in gradient units.
    """
    roots = [math.sqrt(d) for d in partition.dimensions]
    total = math.fsum(c * root for c, root in zip(partition.thresholds, roots, strict=True))
    return tuple(
        noise_multiplier * math.sqrt(c / root * total)
        for c, root in zip(partition.thresholds, roots, strict=True)
    )


def grid_bits(noise_multiplier: float, max_batch: int) -> int:
    """Bits of the grid below the noise, so many that a sum of `max_batch` clipped records stays below 2**52 steps.

    A group's sum is at most `max_batch c_j <= max_batch s_j / sigma`, and its grid is above `s_j 2**-(bits + 1)`.

    Raises:
        ValueError: not even 2**-20 of the noise would do.
    """
    bits = min(GRID_BITS, _EXACT_BITS - 2 - math.ceil(math.log2(max(1.0, max_batch / noise_multiplier))))
    if bits < 20:  # noqa: PLR2004 - on a coarser grid rounding would be visible relative to the noise
        raise ValueError("the batch is too large for the noise multiplier: the grid would be too coarse")
    return bits


def grid_of(noise_std: float, bits: int) -> float:
    """The power of two at most `2**-bits` of the noise."""
    return math.ldexp(1.0, math.floor(math.log2(noise_std)) - bits)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisePlan:
    """Noise and grid of every block of one step; public.

    Args:
        stds: per block, standard deviation.
        grids: per block, spacing.
    """

    stds: tuple[float, ...]
    grids: tuple[float, ...]


def noise_plan(partition: Partition, *, noise_multiplier: float, max_batch: int) -> NoisePlan:
    """Noise and grid of every block of a partition.

    Rounding may move the sums of two neighbours apart by one step of the grid in each of the `d` coordinates, which is
    at most `share = sigma sqrt(d) 2**-bits` of what `1 / sigma` allows. The noise is larger by `1 / (1 - share)`, so
    that the rounded sums of neighbours still differ by at most `1 / sigma` in units of their noise.

    Raises:
        ValueError: so much noise on so many coordinates that the grid is too coarse for it, or as `grid_bits`.
    """
    bits = grid_bits(noise_multiplier, max_batch)
    share = noise_multiplier * math.sqrt(sum(partition.sizes)) * 2.0**-bits
    if share > 0.5:  # noqa: PLR2004 - rounding would be half of what the noise hides
        raise ValueError("the noise multiplier is too large for the number of coordinates and the grid")
    by_group = group_noise_stds(noise_multiplier / (1.0 - share), partition)
    stds = tuple(by_group[group] for group in partition.group_of_block)
    return NoisePlan(stds=stds, grids=tuple(grid_of(std, bits) for std in stds))


class NoisyMean:
    """Adds the noise to a clipped sum and divides by the public batch size, in two calls.

    `draw` reads public values alone, so it may run on another thread while the sum is still being made.

    Args:
        coarse: whether the noisy sum is rounded down to a multiple of a power of two far below the noise, as post-processing. A float64 of the
            noise has 53 bits, so some steps of the fine grid have one number more than others; who sees every bit of a release could use that.
    """

    def __init__(self, layout: Layout, *, coarse: bool = False) -> None:
        self._coarse = coarse
        self._pieces = tuple(
            (block, slice(first, min(first + PIECE, piece.stop)))
            for block, piece in enumerate(layout.slices())
            for first in range(piece.start, piece.stop, PIECE)
        )
        self._drawn = torch.empty(layout.coordinates, dtype=torch.float64)
        self._source = NormalSource()

    def draw(self, noise: NoisePlan, reader: KeystreamReader) -> Tensor:
        """The noise in steps of its grid: whole numbers.

        Args:
            reader: stream of the noise, at its beginning.

        Returns:
            (coordinates,) float64, valid until the next draw.
        """
        for block, piece in self._pieces:
            std = noise.stds[block] / noise.grids[block]
            self._source.fill(self._drawn[piece], reader, std=std).round_()
        return self._drawn

    def parts(self, total: Tensor, noise: NoisePlan) -> Iterator[tuple[Tensor, float]]:
        """The pieces of a (coordinates,) sum with the standard deviation of their noise."""
        return ((total[piece], noise.stds[block]) for block, piece in self._pieces)

    def write(self, total: Tensor, noise: NoisePlan, drawn: Tensor, *, divisor: float, into: Tensor) -> None:
        """`into = (round(total) + noise) / divisor`, the sum rounded to the noise's grid and added as integers.

        Args:
            total: (coordinates,) float64 clipped sum; overwritten.
            drawn: (coordinates,) noise that `draw` made for the same plan.
            divisor: public expected batch size.
            into: (coordinates,) gradient in the critic's precision.
        """
        for block, piece in self._pieces:
            grid = noise.grids[block]
            released = total[piece].mul_(1.0 / grid).round_()
            released += drawn[piece]
            if self._coarse:
                step = max(grid_of(noise.stds[block], COARSE_BITS) / grid, 1.0)
                released.div_(step).floor_().mul_(step)
            into[piece] = released.mul_(grid / divisor)


def rounded_sum_with_noise(
    values: Tensor, stds: Sequence[float], reader: KeystreamReader, *, bits: int
) -> Tensor:
    """Rows of `values` (rows, d) float64 with Gaussian noise of the row's standard deviation, on the row's grid."""
    noise = torch.empty(values.numel(), dtype=torch.float64)
    normals_into(noise, reader)
    scale = torch.tensor(stds, dtype=torch.float64)[:, None]
    grid = torch.tensor([grid_of(std, bits) for std in stds], dtype=torch.float64)[:, None]
    return ((values / grid).round() + (noise.view_as(values) * (scale / grid)).round()) * grid
