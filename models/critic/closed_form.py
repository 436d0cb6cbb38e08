"""The closed-form private step of a critic of tables: norms and clipped sums without per-example gradients.

With the factors of `factors.py` (shared design, section 4)

    squared norm of a block of rows = sum of (S_b S_b^T) * (A A^T)      3 x 3 Gram matrices of one record
    clipped sum over records        = (factor * S)^T A                  one matrix product a plane

The output's weights are one row, so a record's gradient of them is made in full, as that of the biases is.

Every product of factors that decides a norm or enters the sum is made in float64, where products of float32 numbers
are exact; `models.dp.clipping` says what follows for the sensitivity. Only the sum, whose rounding is allowed for,
mixes records.
"""

import itertools
from collections.abc import Iterator

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from models.critic.clipped_form import ClippedForm
from models.critic.factors import BETWEEN, GENERATED, PLANES, REAL, Factoring, Factors
from models.critic.microbatch import MICROBATCH_SIZE, Microbatch, Workspace
from models.critic.network import Critic
from models.dp.clipping import CANCELLATION_SHARE, Layout

_INT16_CELLS = 1 << 15


class ClosedForm(ClippedForm[Microbatch, Factors]):
    """The closed form of one critic of tables.

    Squared norms in hidden layers are raised by `3 CANCELLATION_SHARE` of the squares of their three terms, so that
    rounding never lowers them.

    Args:
        critic: read at every call; never changed here.
    """

    def __init__(
        self,
        critic: Critic,
        layout: Layout,
        *,
        gp_weight: float,
        max_batch: int,
        microbatch_size: int = MICROBATCH_SIZE,
        fixed: bool = False,
    ) -> None:
        super().__init__(
            layout,
            max_batch=max_batch,
            microbatch_size=microbatch_size,
            terms=PLANES,
            fixed=fixed,
            device=critic.linear_layers()[0].weight.device,
        )
        self._factoring = Factoring(critic, gp_weight=gp_weight, microbatch_size=microbatch_size)
        self._first_block = tuple(int(layout.block_of_row(layer)[0]) for layer in range(len(layout.shapes)))
        self._first_row = tuple(
            itertools.accumulate((outputs * inputs for outputs, inputs in layout.shapes), initial=0)
        )
        self._take = Workspace(self._device).take
        self._cell_sum = CellSum(layout.shapes[0][1], device=self._device, fixed=fixed)

    def _read_weights(self) -> None:
        self._factoring.read_weights()

    def _load(self, real: Tensor, fake: Tensor, mix: Tensor, labels: Tensor | None) -> Microbatch:
        assert labels is None, "a critic of tables has no classes"
        return self._factoring.load(real, fake, mix)

    def _factor(self, loaded: Microbatch) -> Factors:
        return self._factoring.of(loaded)

    def _of_each_record(self, factors: Factors) -> Iterator[Tensor]:
        yield from (
            *factors.left,
            *factors.right,
            factors.output,
            *factors.biases,
            self._measure(factors),
        )

    def _measure(self, factors: Factors) -> Tensor:
        """(n, blocks) float64 squared norms; NaN where a place must not count."""
        squares = self._take("squares", 0, (self.microbatch_size, self._layout.blocks), torch.float64).zero_()
        for layer, S in enumerate(factors.left):
            gram = _gram(factors.right[layer])
            if layer == 0 and factors.cells is not None:
                gram = _with_cells(gram, factors.right[0], factors.cells)
            torch.diagonal(gram, dim1=1, dim2=2).mul_(1.0 + PLANES * CANCELLATION_SHARE)
            first = self._first_block[layer]
            blocks = len(self._layout.rows_of_blocks[layer])
            by_block = _gram(self._by_block(layer, S)).view(self.microbatch_size, blocks, PLANES, PLANES)
            squares[:, first : first + blocks] += by_block.mul_(gram[:, None]).sum(dim=(2, 3))
        squares[:, self._first_block[-1]] += _squared(factors.output)
        for bias in factors.biases:
            squares[:, self._layout.bias_block] += _squared(bias)
        return squares.masked_fill_(~factors.counts[:, None], torch.nan)

    def _by_block(self, layer: int, S: Tensor) -> Tensor:
        """Left factors as (3, n blocks, rows of the largest block), shorter blocks padded with zeros."""
        rows_of_blocks = self._layout.rows_of_blocks[layer]
        blocks = len(rows_of_blocks)
        if blocks == 1:
            return S
        # Blocks are rows of this buffer, so they begin alike in every record.
        shape = (PLANES, self.microbatch_size, blocks, rows_of_blocks[0])
        buffer = self._take("blocks", layer, shape, torch.float64)
        first = 0
        for count, piece in _runs(rows_of_blocks, S):
            buffer[:, :, first : first + count, : piece.shape[3]] = piece
            first += count
        return buffer.view(PLANES, self.microbatch_size * blocks, shape[3])

    def _add(self, factors: Factors, clips: Tensor, total: Tensor) -> None:
        """Add a microbatch's clipped gradients to the sum. Scales factors in place; those of a bad record become zero."""
        # Padding stays out of the sum; with fixed operations it is zeroed, as bad records are.
        count = self.microbatch_size if self._fixed else factors.records
        spoiled = clips[:count, :1].eq(0.0)
        if self._fixed or bool(spoiled.any()):
            for planes in (*factors.left, *factors.right, factors.output, *factors.biases):
                planes[..., :count, :].masked_fill_(spoiled, 0.0)
        for layer, (S, A) in enumerate(zip(factors.left, factors.right, strict=True)):
            block = self._first_block[layer]
            for blocks, piece in _runs(self._layout.rows_of_blocks[layer], S):
                piece.mul_(clips[:, block : block + blocks, None])
                block += blocks
            weights = self._weights(total, layer)
            for own, inputs in zip(S, A, strict=False):
                weights.addmm_(own[:count].T, inputs[:count])
        if factors.cells is not None:
            self._cell_sum.add(factors.cells[:count], factors.left[0][REAL, :count], self._weights(total, 0))
        output = self._weights(total, len(factors.left)).view(-1)
        output.addmv_(factors.output[:count].T, clips[:count, self._first_block[-1]])
        first = self._first_row[-1]
        for bias in factors.biases:
            sums = total[first : first + bias.shape[1]]
            sums.addmv_(bias[:count].T, clips[:count, self._layout.bias_block])
            first += bias.shape[1]  # the output has a bias too, its gradient is zero

    def _weights(self, total: Tensor, layer: int) -> Tensor:
        """The (outputs, inputs) piece of a flat sum that belongs to a layer's weights."""
        return total[self._first_row[layer] : self._first_row[layer + 1]].view(self._layout.shapes[layer])


class CellSum:
    """The real plane of the first layer's clipped sum, for records that come as cells: rows are added instead of multiplied.

    It adds `S^T X` to a weight matrix, X the one-hot form of records known by their cells.

    It mixes records, so the last bits of the sum may depend on all of them; the rounding allowance covers this.

    Args:
        inputs: of the first layer.
    """

    def __init__(self, inputs: int, *, device: torch.device | None = None, fixed: bool = False) -> None:
        self._inputs = inputs
        self._fixed = fixed
        self._numbers = torch.arange(inputs, device=device)

    def add(self, cells: Tensor, S: Tensor, weights: Tensor) -> None:
        """Add a microbatch's records to the (outputs, inputs) weights.

        Args:
            cells: (n, columns) int64.
            S: (n, outputs) float64 left factors.
            weights: (outputs, inputs) float64.
        """
        count, columns = cells.shape
        if self._fixed:
            narrow = cells.reshape(-1).to(torch.int16 if self._inputs <= _INT16_CELLS else torch.int64)
            ordered, order = torch.sort(narrow, stable=True)
            first = torch.searchsorted(ordered.to(torch.int64), self._numbers)
            weights += torch.nn.functional.embedding_bag(order // columns, S, first, mode="sum").T
            return
        firsts = np.arange(0, count * columns + 1, columns)
        ones = np.ones(count * columns)
        one_hot = sparse.csr_array((ones, cells.numpy().reshape(-1), firsts), shape=(count, self._inputs))
        weights += torch.from_numpy(one_hot.T @ S.numpy()).T


def _squared(gradients: Tensor) -> Tensor:
    """(n,) squared norms of (n, d)."""
    norms: Tensor = torch.linalg.vector_norm(gradients, dim=1)
    return norms.square_()


def _gram(planes: Tensor) -> Tensor:
    """(n, p, p) products of the rows of every record of (p, n, d)."""
    by_record = planes.movedim(0, 1)
    return by_record @ by_record.mT


def _with_cells(gram: Tensor, A: Tensor, cells: Tensor) -> Tensor:
    """The (n, 3, 3) Gram matrix of two vectors and the one-hot record of `cells`."""
    full = gram.new_empty(gram.shape[0], PLANES, PLANES)
    full[:, :REAL, :REAL] = gram
    full[:, REAL, REAL].fill_(cells.shape[1])
    for plane in (GENERATED, BETWEEN):
        full[:, REAL, plane] = full[:, plane, REAL] = A[plane].gather(1, cells).sum(dim=1)
    return full


def _runs(rows_of_blocks: tuple[int, ...], S: Tensor) -> Iterator[tuple[int, Tensor]]:
    """Views (3, n, blocks, rows) of left factors, one for every run of equally large blocks."""
    first = 0
    for size, run in itertools.groupby(rows_of_blocks):
        blocks = len(tuple(run))
        yield blocks, S[:, :, first : first + blocks * size].view(PLANES, S.shape[1], blocks, size)
        first += blocks * size
