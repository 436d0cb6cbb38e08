"""The closed-form private critic step: per-record norms and clipped sums without per-record gradients.

With the factors of `factors.py` (shared design, section 4)

    squared norm of a block of rows = sum of (S_b S_b^T) * (A A^T)      3 x 3 Gram matrices of one record
    clipped sum over records        = (factor * S)^T A                  one matrix product a plane

The output's weights are one row, so a record's gradient of them is made in full, as that of the biases is.

Every product of factors that decides a norm or enters the sum is made in float64, where products of float32 numbers
are exact; `models.dp.clipping` says what follows for the sensitivity. Whatever belongs to one record is made in chunks
of one public size (`models.critic.chunks`); only the sum, whose rounding is allowed for, mixes records.
"""

import itertools
from collections.abc import Iterator

import torch
from torch import Tensor

from models.critic.chunks import CHUNK, Chunk, Workspace
from models.critic.factors import BETWEEN, GENERATED, PLANES, REAL, Factoring, Factors
from models.critic.network import Critic
from models.critic.scatter import CellSum
from models.critic.unit import Unit
from models.dp.clipping import CANCELLATION_SHARE, ClipRule, Layout, Partition


class ClosedForm:
    """The closed form for one critic.

    Args:
        critic: read at every call; never changed here.
        layout: public blocks.
        gp_weight: weight of the gradient penalty.
        max_batch: public cap on the records of one batch, for the rounding allowance.
        at_once: records of a chunk, written CHUNK in shapes; public.
        fixed: whether a chunk takes the same operations whatever is in it, none of which waits for the host, so that
            they can be recorded (`models.devices.work`).
    """

    def __init__(
        self,
        critic: Critic,
        layout: Layout,
        *,
        gp_weight: float,
        max_batch: int,
        at_once: int = CHUNK,
        fixed: bool = False,
    ) -> None:
        self.at_once = at_once
        self._fixed = fixed
        self._layout = layout
        self._max_batch = max_batch
        self._device = critic.linear_layers()[0].weight.device
        self._factors_of = Factoring(critic, gp_weight=gp_weight, at_once=at_once)
        self._first_block = tuple(int(layout.block_of_row(layer)[0]) for layer in range(len(layout.shapes)))
        self._first_row = tuple(
            itertools.accumulate((outputs * inputs for outputs, inputs in layout.shapes), initial=0)
        )
        self._take = Workspace(self._device).take
        self._cell_sum = CellSum(layout.shapes[0][1], device=self._device, fixed=fixed)
        self._ruled: tuple[Partition, ClipRule] | None = None
        self._total = torch.empty(layout.coordinates, dtype=torch.float64, device=self._device)
        self._unit: Unit[Chunk, Factors] = Unit(
            at_once, layout.blocks, max_batch=max_batch, terms=PLANES, device=self._device
        )

    def block_norms(self, real: Tensor, fake: Tensor, mix: Tensor) -> Tensor:
        """(batch, blocks) float64 norms, see `sum_and_squares`; not finite for a record that must not count."""
        return self._pass(real, fake, mix, None)[1].sqrt_()

    def clipped_sum(self, real: Tensor, fake: Tensor, mix: Tensor, partition: Partition) -> Tensor:
        """(coordinates,) float64 sum of the clipped gradients, in flat layout; valid until the next call."""
        return self._pass(real, fake, mix, partition)[0]

    def sum_and_squares(
        self, real: Tensor, fake: Tensor, mix: Tensor, partition: Partition, *, labels: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The clipped sum and the squared norms of one batch, in one pass.

        Args:
            real: (batch, inputs) vectors, or (batch, columns) int64 cells of one-hot records.
            fake: (batch, inputs).
            mix: (batch,) in [0, 1): the weight of the real record in the interpolation.
            partition: groups and thresholds.
            labels: None; a label of a table's record is among its cells.

        Returns:
            (coordinates,) float64, valid until the next call; (batch, blocks) float64 squared norms, in hidden layers raised by
            `3 CANCELLATION_SHARE` of the squares of their three terms, so that rounding never lowers them; not finite
            for a record that must not count. A record's squared norms are the same to the bit in every batch.
        """
        assert labels is None, "a critic of tables has no classes"
        return self._pass(real, fake, mix, partition)

    def fill(self, real: Tensor, fake: Tensor, mix: Tensor, *, labels: Tensor | None = None) -> None:
        """See `models.critic.unit.UnitForm.fill`."""
        assert labels is None, "a critic of tables has no classes"
        self._unit.given = self._factors_of.filled(real, fake, mix)

    @torch.no_grad()
    def measure(self) -> None:
        """See `models.critic.unit.UnitForm.measure`."""
        self._unit.made = self._factors_of.of(self._unit.given)
        self._unit.bounds.copy_(self._measure(self._unit.made))

    def rule(self, partition: Partition) -> None:
        """See `models.critic.unit.UnitForm.rule`."""
        self._unit.rule.adopt(partition)

    @torch.no_grad()
    def add(self) -> None:
        """See `models.critic.unit.UnitForm.add`."""
        total, factors = self._total.zero_(), self._unit.made
        self._add(factors, self._unit.clips(), total)

    @property
    def filled(self) -> tuple[Tensor, Tensor]:
        """See `models.critic.unit.UnitForm.filled`."""
        return self._total, self._unit.bounds

    @torch.no_grad()
    def of_records(self, real: Tensor, fake: Tensor, mix: Tensor) -> Iterator[Tensor]:
        """Whatever is made for each record alone, as tensors (..., CHUNK, d) chunk by chunk, each valid until the next.

        Their bits depend on the record at a place and on nothing else; see `models.critic.evenness`.
        """
        for factors in self._factors_of(real, fake, mix):
            yield from (
                *factors.left,
                *factors.right,
                factors.output,
                *factors.biases,
                self._measure(factors),
            )

    @torch.no_grad()
    def _pass(
        self, real: Tensor, fake: Tensor, mix: Tensor, partition: Partition | None
    ) -> tuple[Tensor, Tensor]:
        total = self._total.zero_()
        squares = torch.empty(real.shape[0], self._layout.blocks, dtype=torch.float64, device=self._device)
        rule = None if partition is None else self._rule_of(partition)
        for number, factors in enumerate(self._factors_of(real, fake, mix)):
            bounds = self._measure(factors)
            squares[number * self.at_once :][: factors.records] = bounds[: factors.records]
            if rule is None:
                continue
            self._add(factors, rule.factors(bounds), total)
        return total, squares

    def _rule_of(self, partition: Partition) -> ClipRule:
        if self._ruled is None or self._ruled[0] is not partition:
            self._ruled = (partition, ClipRule(partition, max_batch=self._max_batch, device=self._device))
        return self._ruled[1]

    def _measure(self, factors: Factors) -> Tensor:
        """(CHUNK, blocks) float64 squared norms; NaN where a place must not count."""
        squares = self._take("squares", 0, (self.at_once, self._layout.blocks), torch.float64).zero_()
        for layer, S in enumerate(factors.left):
            gram = _gram(factors.right[layer])
            if layer == 0 and factors.cells is not None:
                gram = _with_cells(gram, factors.right[0], factors.cells)
            torch.diagonal(gram, dim1=1, dim2=2).mul_(1.0 + PLANES * CANCELLATION_SHARE)
            first = self._first_block[layer]
            blocks = len(self._layout.rows_of_blocks[layer])
            by_block = _gram(self._by_block(layer, S)).view(self.at_once, blocks, PLANES, PLANES)
            squares[:, first : first + blocks] += by_block.mul_(gram[:, None]).sum(dim=(2, 3))
        squares[:, self._first_block[-1]] += _squared(factors.output)
        for bias in factors.biases:
            squares[:, self._layout.bias_block] += _squared(bias)
        return squares.masked_fill_(~factors.counts[:, None], torch.nan)

    def _by_block(self, layer: int, S: Tensor) -> Tensor:
        """Left factors as (3, CHUNK blocks, rows of the largest block), shorter blocks filled up with zeros."""
        rows_of_blocks = self._layout.rows_of_blocks[layer]
        blocks = len(rows_of_blocks)
        if blocks == 1:
            return S
        # Blocks are rows of this buffer, so they begin alike in every record.
        shape = (PLANES, self.at_once, blocks, rows_of_blocks[0])
        buffer = self._take("blocks", layer, shape, torch.float64)
        first = 0
        for count, piece in _runs(rows_of_blocks, S):
            buffer[:, :, first : first + count, : piece.shape[3]] = piece
            first += count
        return buffer.view(PLANES, self.at_once * blocks, shape[3])

    def _add(self, factors: Factors, clips: Tensor, total: Tensor) -> None:
        """Add a chunk's clipped gradients to the sum. Scales factors in place; those of a bad record become zero."""
        # Empty places stay out of the sum, or are zeroed like bad records where operations are fixed.
        count = self.at_once if self._fixed else factors.records
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


def _squared(gradients: Tensor) -> Tensor:
    """(n,) squared norms of (n, d)."""
    norms: Tensor = torch.linalg.vector_norm(gradients, dim=1)
    return norms.square_()


def _gram(planes: Tensor) -> Tensor:
    """(n, p, p) products of the rows of every record of (p, n, d)."""
    by_record = planes.movedim(0, 1)
    return by_record @ by_record.mT


def _with_cells(gram: Tensor, A: Tensor, cells: Tensor) -> Tensor:
    """The (CHUNK, 3, 3) Gram matrix of two vectors and the one-hot record of `cells`."""
    full = gram.new_empty(gram.shape[0], PLANES, PLANES)
    full[:, :REAL, :REAL] = gram
    full[:, REAL, REAL].fill_(cells.shape[1])
    for plane in (GENERATED, BETWEEN):
        full[:, REAL, plane] = full[:, plane, REAL] = A[plane].gather(1, cells).sum(dim=1)
    return full


def _runs(rows_of_blocks: tuple[int, ...], S: Tensor) -> Iterator[tuple[int, Tensor]]:
    """Views (3, CHUNK, blocks, rows) of left factors, one for every run of equally large blocks."""
    first = 0
    for size, run in itertools.groupby(rows_of_blocks):
        blocks = len(tuple(run))
        yield blocks, S[:, :, first : first + blocks * size].view(PLANES, S.shape[1], blocks, size)
        first += blocks * size
