"""The closed-form private critic step: per-record norms and clipped sums without per-record gradients.

With the factors of `factors.py` (shared design, section 4)

    squared norm of a block of rows = sum of (S_b S_b^T) * (A A^T)      3 x 3 Gram matrices of one record
    clipped sum over records        = (factor * S)^T A                  one matrix product over all planes

Every product of factors that decides a norm or enters the sum is made in float64, where products of float32 numbers
are exact; `models.dp.clipping` says what follows for the sensitivity.
"""

import itertools
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from models.critic.factors import BETWEEN, GENERATED, PLANES, REAL, Factoring, Factors, rows
from models.critic.network import Critic
from models.dp.clipping import CANCELLATION_SHARE, ClipRule, Layout, Partition

_INT16_CELLS = 1 << 15


class ClosedForm:
    """The closed form for one critic.

    Args:
        critic: read at every call; never changed here.
        layout: public blocks.
        gp_weight: weight of the gradient penalty.
        max_batch: public cap on the records of one batch, for the rounding allowance.
        chunk: records worked on at a time, a public constant that bounds memory.
    """

    def __init__(
        self, critic: Critic, layout: Layout, *, gp_weight: float, max_batch: int, chunk: int = 4096
    ) -> None:
        self._layout = layout
        self._max_batch = max_batch
        self._chunk = chunk
        self._factors_of = Factoring(critic, gp_weight=gp_weight)
        self._first_block = tuple(int(layout.block_of_row(layer)[0]) for layer in range(len(layout.shapes)))
        self._ruled: tuple[Partition, ClipRule] | None = None
        self._total = torch.empty(layout.coordinates, dtype=torch.float64)

    def block_norms(self, real: Tensor, fake: Tensor, mix: Tensor) -> Tensor:
        """(batch, blocks) float64 norms, see `sum_and_squares`; not finite for a record that must not count."""
        return self._pass(real, fake, mix, None)[1].sqrt_()

    def clipped_sum(self, real: Tensor, fake: Tensor, mix: Tensor, partition: Partition) -> Tensor:
        """(coordinates,) float64 sum of the clipped gradients, in flat layout; valid until the next call."""
        return self._pass(real, fake, mix, partition)[0]

    def sum_and_squares(
        self, real: Tensor, fake: Tensor, mix: Tensor, partition: Partition
    ) -> tuple[Tensor, Tensor]:
        """The clipped sum and the squared norms of one batch, in one pass.

        Args:
            real: (batch, inputs) vectors, or (batch, columns) int64 cells of one-hot records.
            fake: (batch, inputs).
            mix: (batch,) in [0, 1): the weight of the real record in the interpolation.
            partition: groups and thresholds.

        Returns:
            (coordinates,) float64, valid until the next call; (batch, blocks) float64 squared norms, raised by
            `3 CANCELLATION_SHARE` of the squares of their three terms, so that rounding never lowers them; not finite
            for a record that must not count.
        """
        return self._pass(real, fake, mix, partition)

    @torch.no_grad()
    def _pass(
        self, real: Tensor, fake: Tensor, mix: Tensor, partition: Partition | None
    ) -> tuple[Tensor, Tensor]:
        total = self._total if real.shape[0] else self._total.zero_()
        squares = torch.zeros(real.shape[0], self._layout.blocks, dtype=torch.float64)
        rule = None if partition is None else self._rule_of(partition)
        for first in range(0, real.shape[0], self._chunk):
            part = slice(first, first + self._chunk)
            factors = self._factors_of(real[part], fake[part], mix[part])
            self._measure(factors, squares[part])
            if rule is not None:
                self._add_clipped(factors, rule.factors(squares[part]), total, keep=min(first, 1))
        return total, squares

    def _rule_of(self, partition: Partition) -> ClipRule:
        if self._ruled is None or self._ruled[0] is not partition:
            self._ruled = (partition, ClipRule(partition, max_batch=self._max_batch))
        return self._ruled[1]

    def _measure(self, factors: Factors, squares: Tensor) -> None:
        for layer, S in enumerate(factors.left):
            gram = _gram(factors.right[layer])
            if layer == 0 and factors.cells is not None:
                gram = _with_cells(gram, factors.right[0], factors.cells)
            torch.diagonal(gram, dim1=1, dim2=2).mul_(1.0 + PLANES * CANCELLATION_SHARE)
            first = self._first_block[layer]
            for blocks, piece in _runs(self._layout.rows_of_blocks[layer], S):
                squares[:, first : first + blocks] += _gram(piece).mul_(gram[:, None]).sum(dim=(2, 3))
                first += blocks
        for bias in factors.biases:
            squares[:, self._layout.bias_block] += torch.linalg.vector_norm(bias, dim=1).square_()
        squares.masked_fill_(~factors.finite[:, None], torch.nan)

    def _add_clipped(self, factors: Factors, clips: Tensor, total: Tensor, *, keep: int) -> None:
        """Write the clipped gradients of a chunk over `total`, or with keep = 1 add them; scales left factors in place."""
        layout = self._layout
        spoiled = clips[:, :1].eq(0.0)
        if bool(spoiled.any()):
            for planes in (*factors.left, *factors.right, *factors.biases):
                planes.masked_fill_(spoiled, 0.0)
        total[-1] = 0.0  # the output has a bias, its gradient is zero
        first, first_bias = 0, layout.coordinates - sum(outputs for outputs, _ in layout.shapes)
        for layer, (S, A) in enumerate(zip(factors.left, factors.right, strict=True)):
            outputs, inputs = layout.shapes[layer]
            block = self._first_block[layer]
            for blocks, piece in _runs(layout.rows_of_blocks[layer], S):
                piece.mul_(clips[:, block : block + blocks, None])
                block += blocks
            weights = total[first : first + outputs * inputs].view(outputs, inputs)
            if layer == 0 and factors.cells is not None:
                scattered = _scatter(factors.cells, S[REAL], inputs).T
                torch.add(weights, scattered, out=weights) if keep else weights.copy_(scattered)
                weights.addmm_(rows(S[:REAL]).T, rows(A))
            else:
                weights.addmm_(rows(S).T, rows(A), beta=keep)
            first += outputs * inputs
        for bias in factors.biases:
            total[first_bias : first_bias + bias.shape[1]].addmv_(
                bias.T, clips[:, layout.bias_block], beta=keep
            )
            first_bias += bias.shape[1]


def _gram(planes: Tensor) -> Tensor:
    """(batch, ..., p, p) products of the rows of every record of (p, batch, ..., d)."""
    by_record = planes.movedim(0, -2)
    return by_record @ by_record.mT


def _with_cells(gram: Tensor, A: Tensor, cells: Tensor) -> Tensor:
    """The (batch, 3, 3) Gram matrix of two vectors and the one-hot record of `cells`."""
    full = gram.new_empty(gram.shape[0], PLANES, PLANES)
    full[:, :REAL, :REAL] = gram
    full[:, REAL, REAL] = cells.shape[1]
    for plane in (GENERATED, BETWEEN):
        full[:, REAL, plane] = full[:, plane, REAL] = A[plane].gather(1, cells).sum(dim=1)
    return full


def _scatter(cells: Tensor, values: Tensor, inputs: int) -> Tensor:
    """(inputs, d): for every cell the sum of the rows of `values` (batch, d) whose record has it."""
    flat = cells.reshape(-1)
    narrow = flat.to(torch.int16 if inputs <= _INT16_CELLS else torch.int64).numpy()
    order = torch.from_numpy(np.argsort(narrow, kind="stable"))  # radix sort on 16 bits
    first = torch.bincount(flat, minlength=inputs).cumsum(0).roll(1)
    first[0] = 0
    return torch.nn.functional.embedding_bag(order // cells.shape[1], values, first, mode="sum")


def _runs(rows_of_blocks: tuple[int, ...], S: Tensor) -> Iterator[tuple[int, Tensor]]:
    """Views (3, batch, blocks, rows) of left factors, one for every run of equally large blocks."""
    first = 0
    for size, run in itertools.groupby(rows_of_blocks):
        blocks = len(tuple(run))
        yield blocks, S[:, :, first : first + blocks * size].view(S.shape[0], S.shape[1], blocks, size)
        first += blocks * size
