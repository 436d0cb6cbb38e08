"""The closed-form private step of a critic of labels: the cross entropy of every record, a chunk of public size at a time.

With the notation of `models.critic.conv_factors`, p the softmax of the logits and e the label's unit vector, the loss
`-log p_y` of a record has at its logits the cotangent `p - e`. Pulled back through the layers it gives

    dW_l = sum over positions of  delta_l(x) a_{l-1}(x)^T,    db_l = sum over positions of  delta_l(x)

so a record has as many factor pairs in a layer as positions, a third of what a WGAN-GP critic has, and one pair of
`p - e` and its features in the last layer. Every product has one public number of records, as there.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from models.critic.chunks import Workspace, marked
from models.critic.conv_form import chosen, counted, records_at_once, squared_norms
from models.critic.factors import at_least_float32
from models.critic.label_network import LabelCritic, spread
from models.critic.layer_sums import layer_sum, slices_of
from models.critic.unit import Unit
from models.dp.clipping import ClipRule, Layout, Partition


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelFactors:
    """Factors of one chunk of `n` records in the critic's precision, valid until the next chunk is factored.

    Args:
        left: per convolution layer (n, positions, outputs).
        right: per convolution layer (n, positions, inputs).
        biases: per layer, the last one too, (n, outputs), in float32 at least.
        features: (n, features) inputs of the last layer.
        counts: (n,) bool: the place holds a record and its pixels are finite.
    """

    left: tuple[Tensor, ...]
    right: tuple[Tensor, ...]
    biases: tuple[Tensor, ...]
    features: Tensor
    counts: Tensor


class LabelForm:
    """The closed form for one critic of labels. The methods are those of `models.critic.conv_form.ConvForm`.

    Generated records and interpolations are taken for the sake of one interface, and not looked at.

    Args:
        critic: read at every call; never changed here.
        layout: public blocks.
        max_batch: public cap on the records of one batch, for the rounding allowance.
        at_once: records of a chunk; public. `records_at_once` unless told.
        fixed: see `models.critic.closed_form.ClosedForm`.
    """

    def __init__(
        self,
        critic: LabelCritic,
        layout: Layout,
        *,
        max_batch: int,
        at_once: int | None = None,
        fixed: bool = False,
    ) -> None:
        self.at_once = at_once or records_at_once(critic)
        self._critic, self._layout, self._max_batch = critic, layout, max_batch
        self._fixed = fixed
        *self._hidden, self._last = critic.linear_layers()
        self._dtype, self._device = self._last.weight.dtype, self._last.weight.device
        self._wide = at_least_float32(self._dtype)
        self._take = Workspace(self._device).take
        rows_of_blocks = layout.rows_of_blocks
        self._sums = tuple(
            layer_sum(geometry, rows, self.at_once, self._dtype, planes=1, device=self._device)
            for geometry, rows in zip(critic.geometries, rows_of_blocks[:-1], strict=True)
        )
        firsts = (int(layout.block_of_row(layer)[0]) for layer in range(len(self._sums)))
        self._blocks = tuple(
            slice(first, first + len(rows)) for first, rows in zip(firsts, rows_of_blocks, strict=False)
        )
        block_of_class = layout.block_of_row(len(self._sums))
        self._block_of_class = block_of_class.to(self._device)
        first_of_classes = int(block_of_class[0])
        self._rows_of_classes = tuple(enumerate(slices_of(rows_of_blocks[-1]), start=first_of_classes))
        ends = tuple(itertools.accumulate((outputs * inputs for outputs, inputs in layout.shapes), initial=0))
        self._weights = tuple(slice(first, end) for first, end in itertools.pairwise(ends))
        self._first_bias = ends[-1]
        self._ruled: tuple[Partition, ClipRule] | None = None
        self._total = torch.empty(layout.coordinates, dtype=torch.float64, device=self._device)
        self._terms = max(1, *(part.terms for part in self._sums))
        self._unit: Unit[None, LabelFactors] = Unit(
            self.at_once, layout.blocks, max_batch=max_batch, terms=self._terms, device=self._device
        )

    def clipped_sum(
        self, real: Tensor, fake: Tensor, mix: Tensor, partition: Partition, *, labels: Tensor | None = None
    ) -> Tensor:
        """(coordinates,) float64 sum of the clipped gradients, in flat layout; valid until the next call."""
        return self.sum_and_squares(real, fake, mix, partition, labels=labels)[0]

    @torch.no_grad()
    def sum_and_squares(
        self, real: Tensor, fake: Tensor, mix: Tensor, partition: Partition, *, labels: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The clipped sum and the (batch, blocks) squared norms of one batch; see `ConvForm.sum_and_squares`."""
        del fake, mix
        assert labels is not None, "a critic of labels needs labels"
        total = self._total.zero_()
        squares = torch.empty(real.shape[0], self._layout.blocks, dtype=torch.float64, device=self._device)
        rule = self._rule_of(partition)
        for first in range(0, real.shape[0], self.at_once):
            piece = slice(first, first + self.at_once)
            self._fill(real[piece], labels[piece])
            factors = self._factors()
            bounds = self._measure(factors)
            squares[piece] = bounds[: real[piece].shape[0]]
            self._add(factors, rule.factors(bounds), total)
        return total, squares

    @torch.no_grad()
    def fill(self, real: Tensor, fake: Tensor, mix: Tensor, *, labels: Tensor | None = None) -> None:
        """See `models.critic.unit.UnitForm.fill`."""
        del fake, mix
        assert labels is not None, "a critic of labels needs labels"
        self._fill(real, labels)

    @torch.no_grad()
    def measure(self) -> None:
        """See `models.critic.unit.UnitForm.measure`."""
        self._unit.made = self._factors()
        self._unit.bounds.copy_(self._measure(self._unit.made))

    def rule(self, partition: Partition) -> None:
        """See `models.critic.unit.UnitForm.rule`."""
        self._unit.rule.adopt(partition)

    @torch.no_grad()
    def add(self) -> None:
        """See `models.critic.unit.UnitForm.add`."""
        self._add(self._unit.made, self._unit.clips(), self._total.zero_())

    @property
    def filled(self) -> tuple[Tensor, Tensor]:
        """See `models.critic.unit.UnitForm.filled`."""
        return self._total, self._unit.bounds

    @torch.no_grad()
    def of_records(
        self, real: Tensor, fake: Tensor, mix: Tensor, *, labels: Tensor | None = None
    ) -> Iterator[Tensor]:
        """Whatever is made for each record alone; see `ConvForm.of_records`."""
        del fake, mix
        assert labels is not None, "a critic of labels needs labels"
        for first in range(0, real.shape[0], self.at_once):
            piece = slice(first, first + self.at_once)
            self._fill(real[piece], labels[piece])
            factors = self._factors()
            made = [*factors.left, *factors.right, *factors.biases, factors.features, self._measure(factors)]
            made.extend(numbers for part in self._sums for numbers in part.made())
            yield from (numbers.flatten(1) for numbers in made)

    def _rule_of(self, partition: Partition) -> ClipRule:
        if self._ruled is None or self._ruled[0] is not partition:
            self._ruled = (
                partition,
                ClipRule(partition, max_batch=self._max_batch, terms=self._terms, device=self._device),
            )
        return self._ruled[1]

    def _fill(self, real: Tensor, labels: Tensor) -> None:
        """Put at most `at_once` records into place; the places after them are filled with grey that counts nothing."""
        count = real.shape[0]
        pixels = self._pixels(0)
        pixels[:count] = spread(real).permute(0, 2, 3, 1)
        pixels[count:] = 0
        self._take("labels", 0, (self.at_once,), torch.int64).zero_()[:count] = labels
        marked(self._take("present", 0, (self.at_once,), torch.bool), count)

    def _factors(self) -> LabelFactors:
        """Factors of the records in place."""
        labels = self._take("labels", 0, (self.at_once,), torch.int64)
        counts = torch.isfinite(self._pixels(0)).flatten(1).all(dim=1)
        counts &= self._take("present", 0, (self.at_once,), torch.bool)
        values = self._forward()
        features = self._take("features", 0, (self.at_once, self._last.in_features), self._dtype)
        features.copy_(values[-1].flatten(1))
        logits = self._take("logits", 0, (self.at_once, self._last.out_features), self._dtype)
        torch.addmm(self._last.bias, features, self._last.weight.T, out=logits)
        cotangent = self._take("answer", 0, (self.at_once, self._last.out_features), self._wide)
        torch.softmax(logits.to(self._wide), dim=1, out=cotangent)
        cotangent -= chosen(labels, self._last.out_features, self._wide)
        deltas = self._backward(values, cotangent)
        return LabelFactors(
            left=tuple(delta.flatten(1, 2) for delta in deltas),
            right=tuple(self._patches(index).flatten(2) for index in range(len(values))),
            biases=(*(delta.sum(dim=(1, 2), dtype=self._wide) for delta in deltas), cotangent),
            features=features,
            counts=counts,
        )

    def _forward(self) -> list[Tensor]:
        """Values (n, rows, columns, outputs) of every convolution layer; their inputs' patches are kept."""
        activation = self._critic.activation
        values: list[Tensor] = []
        for index, (geometry, layer) in enumerate(zip(self._critic.geometries, self._hidden, strict=True)):
            if index:
                self._pixels(index).copy_(values[-1])
            patches = self._patches(index)
            geometry.as_patches(patches).copy_(geometry.patches(self._padded(index)))
            if index:
                made = geometry.convolved(values[-1].permute(0, 3, 1, 2), layer.weight, layer.bias)
                made = made.permute(0, 2, 3, 1).contiguous()
            else:
                made = self._take(
                    "lowest", 0, (self.at_once * geometry.positions, geometry.outputs), self._dtype
                )
                torch.addmm(layer.bias, patches.view(-1, geometry.inputs), layer.weight.T, out=made)
            shape = (self.at_once, geometry.rows, geometry.columns, geometry.outputs)
            values.append(activation.apply_(made).view(shape))
        return values

    def _backward(self, values: list[Tensor], cotangent: Tensor) -> list[Tensor]:
        """Cotangents shaped like the values."""
        activation, geometries = self._critic.activation, self._critic.geometries
        upper = self._take("upper", 0, (self.at_once, self._last.in_features), self._dtype)
        torch.mm(cotangent.to(self._dtype), self._last.weight, out=upper)
        deltas = [activation.chain_(upper.view(values[-1].shape), values[-1])]
        for index in range(len(values) - 1, 0, -1):
            below = geometries[index].pulled_back(deltas[0].permute(0, 3, 1, 2), self._hidden[index].weight)
            delta = below.permute(0, 2, 3, 1).contiguous()
            deltas.insert(0, activation.chain_(delta, values[index - 1]))
        return deltas

    def _measure(self, factors: LabelFactors) -> Tensor:
        """(n, blocks) float64 squared norms; NaN where a place must not count."""
        squares = torch.zeros(self.at_once, self._layout.blocks, dtype=torch.float64, device=self._device)
        for part, S, A, blocks in zip(self._sums, factors.left, factors.right, self._blocks, strict=True):
            part.measure(S, A, squares[:, blocks])
        answers = factors.biases[-1].double().square() * squared_norms(factors.features)[:, None]
        if self._fixed:  # not scattered: on a GPU torch holds that to be unrepeatable
            for block, rows in self._rows_of_classes:
                squares[:, block] += answers[:, rows].sum(dim=1)
        else:
            squares.index_add_(1, self._block_of_class, answers)
        for bias in factors.biases:
            squares[:, self._layout.bias_block] += squared_norms(bias)
        return squares.masked_fill_(~factors.counts[:, None], torch.nan)

    def _add(self, factors: LabelFactors, clips: Tensor, total: Tensor) -> None:
        """Add a chunk's clipped gradients to the sum."""
        bad = clips[:, 0].eq(0.0)
        spoiled = bad if self._fixed or bool(bad.any()) else None
        for layer, part in enumerate(self._sums):
            weights = total[self._weights[layer]].view(self._layout.shapes[layer])
            part.add(clips[:, self._blocks[layer]], spoiled, weights)
        answers = counted(factors.biases[-1], spoiled) * clips[:, self._block_of_class]
        weights = total[self._weights[-1]].view(self._layout.shapes[-1])
        weights.addmm_(answers.T, counted(factors.features, spoiled))
        first, clip = self._first_bias, clips[:, self._layout.bias_block]
        for bias in factors.biases:
            total[first : first + bias.shape[1]] += clip @ counted(bias, spoiled)
            first += bias.shape[1]

    def _padded(self, index: int) -> Tensor:
        """(n, padded) inputs of a convolution layer; what lies outside the image stays zero."""
        return self._take("padded", index, (self.at_once, self._critic.geometries[index].padded), self._dtype)

    def _pixels(self, index: int) -> Tensor:
        """(n, height, width, channels) inputs of a convolution layer."""
        return self._critic.geometries[index].inside(self._padded(index))

    def _patches(self, index: int) -> Tensor:
        """(n, positions, inputs) patches of a convolution layer's inputs."""
        geometry = self._critic.geometries[index]
        return self._take("patches", index, (self.at_once, geometry.positions, geometry.inputs), self._dtype)
