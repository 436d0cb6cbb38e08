"""Norms and clipped sums of one convolution layer: by materialised per-example gradients or by Gram matrices, as is cheaper.

A record has `J = 3 positions` factor pairs, rows of `S` (J, outputs) and `A` (J, inputs); its gradient is `S^T A`.

*Materialised*: `S^T A` of a microbatch is made once, in the critic's precision or float32 where that is finer. The same
numbers are measured, scaled and summed, so it does not matter how they were rounded, only that their norm is not
underestimated. Only the records of one microbatch have a gradient in memory. *Products*: the squared norm is the sum of `(S S^T) * (A A^T)`,
the sum over records one product over all rows, all in float64; cheaper where positions are few.
"""

import itertools
from typing import Final, Protocol

import torch
from torch import Tensor

from models.critic.convolution import Geometry
from models.critic.factors import PLANES, at_least_float32
from models.critic.microbatch import Workspace
from models.dp.clipping import CANCELLATION_SHARE

PIECE: Final = 1 << 13
"""Numbers of a record that are widened to float64 at a time, so that a microbatch of them stays in the cache."""
PIECE_THERE: Final = 1 << 17
"""The same on a GPU, where fewer and larger kernels are faster and nothing stays in a cache."""
RUN: Final = 64
"""The most squares that are added in the precision of the gradients."""
_PASSES: Final = 24
"""Cost of measuring, widening and summing a number, in multiplications of the critic's precision."""
_WIDE: Final = 3
"""Cost of a multiplication in float64 with the widening of its factors, in multiplications of the critic's precision."""


class LayerSum(Protocol):
    """One layer's part of a microbatch."""

    @property
    def terms(self) -> int:
        """Terms of one record in a coordinate of the sum."""
        ...

    def made(self) -> tuple[Tensor, ...]:
        """Everything that `measure` made for each record alone, as tensors (n, ...), valid until the next call."""
        ...

    def measure(self, S: Tensor, A: Tensor, squares: Tensor) -> None:
        """Add upper bounds of the squared norms of the layer's blocks.

        Args:
            S: (n, 3 positions, outputs) left factors in the critic's precision.
            A: (n, 3 positions, inputs) right factors.
            squares: (n, blocks of the layer) float64, added to; not finite where a gradient is not.
        """
        ...

    def add(self, clips: Tensor, spoiled: Tensor | None, total: Tensor) -> None:
        """Add the clipped gradients of the records measured last.

        Args:
            clips: (n, blocks of the layer) float64.
            spoiled: (n,) bool, records whose numbers may not be finite and that count nothing; None if there are none.
            total: (outputs, inputs) float64, added to.
        """
        ...


def layer_sum(
    geometry: Geometry,
    rows_of_blocks: tuple[int, ...],
    microbatch_size: int,
    dtype: torch.dtype,
    *,
    planes: int = PLANES,
    device: torch.device | None = None,
) -> LayerSum:
    """The cheaper form for a layer; decided by public sizes alone.

    Args:
        rows_of_blocks: rows of the layer's matrix in each of its blocks.
    """
    rank = planes * geometry.positions
    size, edge = geometry.outputs * geometry.inputs, geometry.outputs + geometry.inputs
    if (rank + _PASSES) * size <= _WIDE * rank * (rank * edge + size):
        return Materialised(geometry, rows_of_blocks, microbatch_size, dtype, device)
    return Products(geometry, rows_of_blocks, microbatch_size, planes=planes, device=device)


class Materialised:
    """See `LayerSum`.

    Squares are added in the precision of the gradients, `k <= RUN` of them in some order: at most `gamma(k + 3)` below the exact
    sum (Higham 2002, section 3.1), squares under the smallest normal number perhaps lost. The bound is raised by more
    than that, and by what adding these sums in float64 may lose.
    """

    terms = 1

    def __init__(
        self,
        geometry: Geometry,
        rows_of_blocks: tuple[int, ...],
        microbatch_size: int,
        dtype: torch.dtype,
        device: torch.device | None = None,
    ) -> None:
        self._blocks = slices_of(rows_of_blocks)
        dtype = at_least_float32(dtype)
        self._gradients = torch.empty(
            microbatch_size, geometry.outputs, geometry.inputs, dtype=dtype, device=device
        )
        self._take = Workspace(device).take
        self._run = max(run for run in range(1, RUN + 1) if geometry.inputs % run == 0)
        self._raise, self._lost = rounding_of_squares(self._run, dtype)
        on_cpu = device is None or device.type == "cpu"
        self._lines = max(1, (PIECE if on_cpu else PIECE_THERE) // geometry.inputs)

    def made(self) -> tuple[Tensor, ...]:
        """The gradients."""
        return (self._gradients,)

    def measure(self, S: Tensor, A: Tensor, squares: Tensor) -> None:
        """See `LayerSum.measure`."""
        S, A = S.to(self._gradients.dtype), A.to(self._gradients.dtype)
        torch.bmm(S.mT, A, out=self._gradients)
        runs = self._gradients.view(*self._gradients.shape[:2], -1, self._run)
        rows = torch.linalg.vector_norm(runs, dim=3).double().square_().add_(self._lost).sum(dim=2)
        for block, piece in enumerate(self._blocks):
            squares[:, block] += rows[:, piece].sum(dim=1).mul_(self._raise)

    def add(self, clips: Tensor, spoiled: Tensor | None, total: Tensor) -> None:
        """See `LayerSum.add`."""
        if spoiled is not None:
            self._gradients.masked_fill_(spoiled[:, None, None], 0.0)
        for block, rows in enumerate(self._blocks):
            for first in range(rows.start, rows.stop, self._lines):
                lines = slice(first, min(first + self._lines, rows.stop))
                some = self._gradients[:, lines].flatten(1)
                wide = self._take("wide", some.shape[1], tuple(some.shape), torch.float64).copy_(some)
                total[lines].view(-1).addmv_(wide.T, clips[:, block])


class Products:
    """See `LayerSum`.

    The products of factors are exact in float64 where these are float32. A block's squared norm is raised by
    `J CANCELLATION_SHARE` of the squares of its J terms, so by `CANCELLATION_SHARE` of the square of the sum of their
    norms: far above the `(J J + inputs + outputs) 2**-53` of it that rounding may take away.
    """

    def __init__(
        self,
        geometry: Geometry,
        rows_of_blocks: tuple[int, ...],
        microbatch_size: int,
        *,
        planes: int = PLANES,
        device: torch.device | None = None,
    ) -> None:
        self.terms = planes * geometry.positions
        assert self.terms**2 + geometry.inputs + geometry.outputs < 2**23, "few enough terms for the share"
        self._blocks = slices_of(rows_of_blocks)
        take = Workspace(device).take
        self._S = take("left", 0, (microbatch_size, self.terms, geometry.outputs), torch.float64)
        self._A = take("right", 0, (microbatch_size, self.terms, geometry.inputs), torch.float64)

    def made(self) -> tuple[Tensor, ...]:
        """The factors."""
        return self._S, self._A

    def measure(self, S: Tensor, A: Tensor, squares: Tensor) -> None:
        """See `LayerSum.measure`."""
        self._S.copy_(S)
        gram = self._A.copy_(A) @ self._A.mT
        torch.diagonal(gram, dim1=1, dim2=2).mul_(1.0 + self.terms * CANCELLATION_SHARE)
        for block, rows in enumerate(self._blocks):
            own = self._S[:, :, rows]
            squares[:, block] += (own @ own.mT).mul_(gram).sum(dim=(1, 2))

    def add(self, clips: Tensor, spoiled: Tensor | None, total: Tensor) -> None:
        """See `LayerSum.add`."""
        if spoiled is not None:
            for factor in (self._S, self._A):
                factor.masked_fill_(spoiled[:, None, None], 0.0)
        for block, rows in enumerate(self._blocks):
            self._S[:, :, rows] *= clips[:, block, None, None]
        total.addmm_(self._S.flatten(0, 1).T, self._A.flatten(0, 1))


def rounding_of_squares(count: int, dtype: torch.dtype) -> tuple[float, float]:
    """The factor and the amount by which the square of a computed norm of `count` numbers may be too small, with room."""
    numbers = torch.finfo(dtype)
    return 1.0 + 0.5 * (count + 8) * numbers.eps + 2.0**-30, 2.0 * count * numbers.tiny


def slices_of(rows_of_blocks: tuple[int, ...]) -> tuple[slice, ...]:
    """The rows of every block of a layer."""
    ends = tuple(itertools.accumulate(rows_of_blocks))
    return tuple(slice(end - rows, end) for end, rows in zip(ends, rows_of_blocks, strict=True))
