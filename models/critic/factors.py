"""The rank-three factors of the per-example gradients of a critic of tables.

For linear layers and piecewise-linear activations the gradient of the WGAN-GP loss of one record (Gulrajani et al.
2017) has rank three in every layer:

    dW_l = delta_l(x~) a_{l-1}(x~)^T + delta_l(x^) u_{l-1}^T - delta_l(x) a_{l-1}(x)^T
    db_l = delta_l(x~) - delta_l(x)

with x~ the generated record, x the real one, x^ between them, delta the cotangents of unit output, and u the direction of
the gradient penalty pushed forward through the linearised critic at x^ (in the first layer its length is in delta).
Left factors are stacked as `S` (3, batch, outputs) and right factors as `A` (3, batch, inputs), planes in the order
generated, between, real; the minus is in `S`.

Forward and backward run in the critic's own precision, one matrix product for all planes of a microbatch; the
factors are these numbers in float64, which holds them exactly. Microbatches have one public size and their rows one
alignment, so that a record's factors are the same to the bit whatever else is in the batch (`models.critic.microbatch`).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from models.critic.microbatch import MICROBATCH_SIZE, Microbatch, MicrobatchBuffer, Workspace
from models.critic.network import Critic

GENERATED, BETWEEN, REAL = 0, 1, 2
PLANES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Factors:
    """Factors of one microbatch of `n` places, valid until the next is factored.

    Args:
        left: per hidden layer `S`, (3, n, outputs) float64.
        right: per hidden layer `A`, (3, n, inputs) float64; where the real records came as cells, the first has
            only the planes generated and between.
        output: gradients of the output's weights, (n, inputs) float64. One row each, so they are made in full.
        biases: per hidden layer the bias gradients, (n, outputs) float64. The output's bias has none: its
            cotangents cancel.
        cells: (n, columns) int64 cells of the real records, or None where they came as vectors.
        counts: (n,) bool: the place holds a record, and the forward pass of its x^, which no factor shows, stayed
            finite.
        records: how many places, from the first, hold records.
    """

    left: tuple[Tensor, ...]
    right: tuple[Tensor, ...]
    output: Tensor
    biases: tuple[Tensor, ...]
    cells: Tensor | None
    counts: Tensor
    records: int


class Factoring:
    """Makes factors for one critic.

    Args:
        critic: read at every call; never changed here.
    """

    def __init__(self, critic: Critic, *, gp_weight: float, microbatch_size: int = MICROBATCH_SIZE) -> None:
        self._layers = critic.linear_layers()
        self._activation = critic.activation
        self._gp_weight = gp_weight
        self._microbatch_size = microbatch_size
        weight = self._layers[0].weight
        self._take = Workspace(weight.device).take
        self._buffer = MicrobatchBuffer(weight.dtype, size=microbatch_size, device=weight.device)

    @torch.no_grad()
    def read_weights(self) -> None:
        """Copy the first layer's weights by column, for records that come as cells; call before a batch."""
        self._columns().copy_(self._layers[0].weight.T)

    def load(self, real: Tensor, fake: Tensor, mix: Tensor) -> Microbatch:
        """Load at most `microbatch_size` records for `of`; see `MicrobatchBuffer.load`.

        Args:
            real: (records, inputs) vectors, or (records, columns) int64 cells of records that are one there, else zero.
            fake: (records, inputs).
            mix: (records,) in [0, 1): the weight of the real record in x^.
        """
        return self._buffer.load(real, fake, mix)

    @torch.no_grad()
    def of(self, microbatch: Microbatch) -> Factors:
        """Factors of one microbatch, with the weights that `read_weights` read."""
        values = self._forward(microbatch)
        cotangents = self._backward(values)
        pushed = self._push(values, cotangents)
        left, biases = self._left(cotangents)
        counts = torch.isfinite(values[-1][BETWEEN].sum(dim=1)) & microbatch.present
        return Factors(
            left=left,
            right=self._right(microbatch, values, pushed[:-1]),
            output=self._output(values[-1], pushed[-1]),
            biases=biases,
            cells=None if microbatch.real.is_floating_point() else microbatch.real,
            counts=counts,
            records=microbatch.count,
        )

    def _columns(self) -> Tensor:
        """(inputs, outputs) columns of the first layer's weights, as rows."""
        first = self._layers[0]
        return self._take("columns", 0, (first.in_features, first.out_features), first.weight.dtype)

    def _forward(self, microbatch: Microbatch) -> list[Tensor]:
        """Values (3, n, width) of every hidden layer."""
        values: list[Tensor] = []
        for index, layer in enumerate(self._layers[:-1]):
            weight, bias = layer.weight, layer.bias
            z = self._take("value", index, (PLANES, self._microbatch_size, layer.out_features), weight.dtype)
            if index == 0:
                torch.addmm(bias, microbatch.fake, weight.T, out=z[GENERATED])
                if microbatch.real.is_floating_point():
                    torch.addmm(bias, microbatch.real, weight.T, out=z[REAL])
                else:
                    torch.add(sum_of_rows(microbatch.real, self._columns()), bias, out=z[REAL])
                # x^ lies between, and the first layer is affine: its image lies between theirs
                torch.lerp(z[GENERATED], z[REAL], microbatch.mix[:, None], out=z[BETWEEN])
            else:
                torch.addmm(bias, rows(values[-1]), weight.T, out=rows(z))
            values.append(self._activation.apply_(z))
        return values

    def _backward(self, values: list[Tensor]) -> list[Tensor]:
        """Cotangents (3, n, width) of every hidden layer; those of the real plane carry the minus."""
        above: Tensor | None = None
        cotangents: list[Tensor] = []
        for index in reversed(range(len(values))):
            upper = self._layers[index + 1].weight
            delta = self._take("cotangent", index, tuple(values[index].shape), upper.dtype)
            if above is None:
                delta[:REAL] = upper[0]
                torch.neg(upper[0].expand_as(delta[REAL]), out=delta[REAL])
            else:
                torch.mm(rows(above), upper, out=rows(delta))
            above = self._activation.chain_(delta, values[index])
            cotangents.insert(0, above)
        return cotangents

    def _push(self, values: list[Tensor], cotangents: list[Tensor]) -> list[Tensor]:
        """g, u_1, ...: the penalty's direction `2 gp_weight (norm - 1) g / norm` pushed through the layers at x^.

        Its factor before g goes to the first layer's left factors, which are narrower.
        """
        first = self._layers[0].weight
        below = cotangents[0][BETWEEN]
        pushed = self._take("pushed", 0, (self._microbatch_size, first.shape[1]), first.dtype)
        torch.mm(below, first, out=pushed)
        norm = torch.linalg.vector_norm(pushed, dim=1, dtype=at_least_float32(first.dtype))
        scale = torch.where(norm > 0.0, 2.0 * self._gp_weight * (norm - 1.0) / norm, norm)
        below.mul_(scale[:, None])
        pushes = [pushed]
        for index, value in enumerate(values):
            weight = self._layers[index].weight
            onward = self._take("pushed", index + 1, (self._microbatch_size, weight.shape[0]), weight.dtype)
            if index:
                torch.mm(pushes[-1], weight.T, out=onward)
            else:
                # g is `below` times the weights, and fewer numbers are multiplied by W W^T than by W and then by W^T.
                torch.mm(below, self._squared_weights(weight), out=onward)
            pushes.append(self._activation.chain_(onward, value[BETWEEN]))
        return pushes

    def _squared_weights(self, weight: Tensor) -> Tensor:
        outputs = weight.shape[0]
        return torch.mm(weight, weight.T, out=self._take("squared", 0, (outputs, outputs), weight.dtype))

    def _left(self, cotangents: list[Tensor]) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        left, biases = [], []
        for index, delta in enumerate(cotangents):
            S = self._take("left", index, tuple(delta.shape), torch.float64).copy_(delta)
            bias = self._take("bias", index, tuple(delta.shape[1:]), torch.float64)
            biases.append(torch.add(S[GENERATED], S[REAL], out=bias))
            left.append(S)
        return tuple(left), tuple(biases)

    def _output(self, value: Tensor, push: Tensor) -> Tensor:
        """The output's cotangents are one, so its three terms are the values and the pushed direction themselves.

        Their sum is rounded before it is measured, and what is measured is what is added.
        """
        gradients = self._take("output", 0, tuple(push.shape), at_least_float32(push.dtype))
        gradients.copy_(push).add_(value[GENERATED]).sub_(value[REAL])
        return self._take("output", 1, tuple(push.shape), torch.float64).copy_(gradients)

    def _right(
        self, microbatch: Microbatch, values: list[Tensor], pushed: list[Tensor]
    ) -> tuple[Tensor, ...]:
        real, fake = microbatch.real, microbatch.fake
        right = []
        for index, push in enumerate(pushed):
            planes = PLANES if index or real.is_floating_point() else PLANES - 1
            A = self._take("right", index, (planes, *push.shape), torch.float64)
            A[GENERATED].copy_(values[index - 1][GENERATED] if index else fake)
            A[BETWEEN].copy_(push)
            if planes == PLANES:
                A[REAL].copy_(values[index - 1][REAL] if index else real)
            right.append(A)
        return tuple(right)


def at_least_float32(dtype: torch.dtype) -> torch.dtype:
    """The precision of norms, and of sums and differences of a few numbers: the critic's, but no narrower than float32."""
    return torch.promote_types(dtype, torch.float32)


def rows(planes: Tensor) -> Tensor:
    """(planes, n, d) seen as (planes n, d)."""
    return planes.view(-1, planes.shape[-1])


def sum_of_rows(cells: Tensor, columns: Tensor) -> Tensor:
    """(n, d): sums of the rows of `columns` (inputs, d) that `cells` (n, columns) name."""
    return torch.nn.functional.embedding_bag(cells, columns, mode="sum")
