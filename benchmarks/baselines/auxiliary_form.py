"""Per-record gradients of the auxiliary critic, a chunk of public size at a time: norms, clipping and the sum.

The loss of a record has no gradient penalty, so its gradient of a layer is the product of the layer's inputs and the
derivatives of its outputs, summed over the positions of the real and of the generated image. These products are
formed for one chunk, in the critic's precision; the very numbers that are measured are scaled and added, in float64.

As in the product's forms, a chunk always has the same number of places, and before a row is read a chunk of copies of
one public record is worked through: a machine that rounds a record by its place is refused.
"""

import math
from collections.abc import Sequence
from typing import Final, Protocol

import torch
from torch import Tensor

from benchmarks.baselines.auxiliary_critic import AuxiliaryCritic, record_losses
from models.critic.convolution import Geometry
from models.critic.forms import RecordForm, record_form
from models.dp.clipping import CANCELLATION_SHARE, ClipRule, Layout, Partition
from models.dp.errors import UnevenRounding

AT_ONCE: Final = 32
"""Records of a chunk; a public constant. The last chunk of a batch is filled up with places that count nothing."""
TERMS: Final = 1
"""Terms of one record in a coordinate of the sum."""


class AuxiliaryNetwork(Protocol):
    """A critic with a last layer of one score and the labels: convolutions, if any, then linear layers."""

    @property
    def geometries(self) -> Sequence[Geometry]:
        """Geometries of the convolutions, from the input upwards."""
        ...

    def layered(self, images: Tensor, /) -> tuple[list[Tensor], list[Tensor]]:
        """Inputs and outputs of every layer."""
        ...


class AuxiliaryForm:
    """The clipped sum of one auxiliary critic; see `models.critic.forms.RecordForm`.

    Args:
        critic: read at every call; never changed here.
        layout: public blocks of its coordinates.
        max_batch: public cap on the records of one batch, for the rounding allowance.
    """

    def __init__(self, critic: AuxiliaryNetwork, layout: Layout, *, max_batch: int) -> None:
        self._critic, self._layout, self._max_batch = critic, layout, max_batch

    def sum_and_squares(
        self, real: Tensor, fake: Tensor, mix: Tensor, partition: Partition, *, labels: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The clipped sum (coordinates,) in flat layout and the (batch, blocks) squared norms, both float64.

        Args:
            real: (batch, channels, height, width).
            fake: alike, one generated record per real one, of the same label.
            mix: (batch,); of no use, for there is no gradient penalty.
            partition: groups and thresholds.
            labels: as of `record_losses`.
        """
        del mix
        assert labels is not None, "a classifier needs labels"
        rule = ClipRule(partition, max_batch=self._max_batch, terms=TERMS)
        total = torch.zeros(self._layout.coordinates, dtype=torch.float64)
        squares = torch.zeros(len(real), self._layout.blocks, dtype=torch.float64)
        for first in range(0, len(real), AT_ONCE):
            piece = slice(first, first + AT_ONCE)
            gradients = self.of_chunk(_filled(real[piece]), _filled(fake[piece]), _filled(labels[piece]))
            bounds = self._bounds(gradients)
            bounds[len(real[piece]) :] = torch.nan
            squares[piece] = bounds[: len(real[piece])]
            factors = rule.factors(bounds)
            gradients.masked_fill_(factors[:, :1].eq(0.0), 0.0)  # zero times no number would be no number
            for block, coordinates in enumerate(self._layout.slices()):
                total[coordinates].addmv_(gradients[:, coordinates].T, factors[:, block])
        return total, squares

    def of_chunk(self, real: Tensor, fake: Tensor, labels: Tensor) -> Tensor:
        """(AT_ONCE, coordinates) gradients of full chunks in flat layout, float64; row `i` belongs to record `i` alone."""
        with torch.enable_grad():
            inputs, outputs = self._critic.layered(torch.cat([real, fake]).requires_grad_())
            logits = outputs[-1].view(2, AT_ONCE, -1)
            slopes = torch.autograd.grad(record_losses(logits[0], logits[1], labels).sum(), outputs)
        with torch.no_grad():
            geometries = self._critic.geometries
            convolved = len(geometries)
            pairs = [
                _of_convolution(geometry, below.detach(), slope)
                for geometry, below, slope in zip(
                    geometries, inputs[:convolved], slopes[:convolved], strict=True
                )
            ]
            pairs += [
                _of_linear(below.detach(), slope)
                for below, slope in zip(inputs[convolved:], slopes[convolved:], strict=True)
            ]
            weights, biases = zip(*pairs, strict=True)
            finite = torch.isfinite(torch.cat([real, fake], dim=1)).flatten(1).all(dim=1)
            flat = torch.cat([part.flatten(1) for part in (*weights, *biases)], dim=1).double()
            return flat.masked_fill_(~finite[:, None], torch.nan)

    def _bounds(self, gradients: Tensor) -> Tensor:
        """(AT_ONCE, blocks) squared norms, raised by more than float64 can lose."""
        parts = [gradients[:, piece].square().sum(dim=1) for piece in self._layout.slices()]
        return torch.stack(parts, dim=1).mul_(1.0 + CANCELLATION_SHARE)


@record_form.register
def _(critic: AuxiliaryCritic, layout: Layout, *, gp_weight: float, max_batch: int) -> RecordForm:
    del gp_weight  # the method has no gradient penalty
    form = AuxiliaryForm(critic, layout, max_batch=max_batch)
    require_even(form, image=critic.image)
    return form


def require_even(form: AuxiliaryForm, *, image: tuple[int, ...]) -> None:
    """Work through a chunk of copies of one public record of this shape.

    Raises:
        UnevenRounding: this machine rounds a record by its place in the chunk.
    """
    numbers = torch.sin(torch.arange(1, 2 * math.prod(image) + 1, dtype=torch.float64)).float()
    real, fake = (record.expand(AT_ONCE, *image) for record in numbers.view(2, *image))
    made = form.of_chunk(real, fake, torch.zeros(AT_ONCE, dtype=torch.int64))
    if not torch.equal(made, made[:1].expand_as(made)):
        raise UnevenRounding


def _of_convolution(geometry: Geometry, below: Tensor, slope: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients (AT_ONCE, outputs, inputs) and (AT_ONCE, outputs) of a layer, from both planes (2 AT_ONCE, ...)."""
    padded = torch.zeros(2 * AT_ONCE, geometry.padded, dtype=below.dtype)
    geometry.inside(padded).copy_(below)
    patches = geometry.patches(padded).reshape(2, AT_ONCE, geometry.positions, geometry.inputs)
    slopes = slope.flatten(2).view(2, AT_ONCE, geometry.outputs, geometry.positions)
    products = [torch.bmm(slopes[plane].contiguous(), patches[plane]) for plane in (0, 1)]
    return products[0] + products[1], slopes[0].sum(dim=2) + slopes[1].sum(dim=2)


def _of_linear(below: Tensor, slope: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients as of `_of_convolution`, of a layer without positions."""
    features, slopes = below.view(2, AT_ONCE, 1, -1), slope.view(2, AT_ONCE, -1, 1)
    return slopes[0] * features[0] + slopes[1] * features[1], (slopes[0] + slopes[1]).flatten(1)


def _filled(records: Tensor) -> Tensor:
    """A full chunk: zeros after the records."""
    whole = torch.zeros(AT_ONCE, *records.shape[1:], dtype=records.dtype)
    whole[: len(records)] = records
    return whole
