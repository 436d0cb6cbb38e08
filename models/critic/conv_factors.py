"""The factors of the per-example gradients of a critic of images, one triple for every position of a convolution.

With the notation of `models.critic.factors` and the patches of a layer's input as rows (`models.critic.convolution`)

    dW_l = sum over positions of  delta_l(x~) a_{l-1}(x~)^T + delta_l(x^) u_{l-1}^T - delta_l(x) a_{l-1}(x)^T
    db_l = sum over positions of  delta_l(x~) - delta_l(x)

so a record has `3 positions` factor pairs in a layer. In the last layer only the row of the record's label has a gradient:
the features at x~, less those at x, plus the direction pushed up to it.

Every product has one public number of records. The first layer has few channels and is a product with patches; above it
torch's convolutions are faster. Both treat all places of a microbatch alike, which
`models.critic.placement_invariance` checks.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from models.critic.conv_network import ConvCritic
from models.critic.convolution import Geometry
from models.critic.factors import BETWEEN, GENERATED, PLANES, REAL, at_least_float32
from models.critic.microbatch import Workspace, mark_present


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerFactors:
    """Factors of one microbatch of `n` places in the critic's precision, valid until the next is factored.

    Args:
        left: per convolution layer `S`, (n, planes positions, outputs); the minus is in it.
        right: per convolution layer `A`, (n, planes positions, inputs).
        biases: per layer the bias gradients, (n, outputs), in float32 at least. The last layer of a WGAN-GP critic has
            none: its cotangents cancel.
        features: (n, features). Of a WGAN-GP critic the gradient of the last layer's row of the record's label, in
            float32 at least; of a critic of labels the inputs of the last layer.
        labels: (n,) int64 rows of the last layer.
        counts: (n,) bool: the place holds a record, its pixels are finite, and so is the forward pass of its x^ where
            the critic has one.
    """

    left: tuple[Tensor, ...]
    right: tuple[Tensor, ...]
    biases: tuple[Tensor, ...]
    features: Tensor
    labels: Tensor
    counts: Tensor


class ConvFactoring:
    """Makes the factors of one WGAN-GP critic of images.

    Args:
        critic: read at every call; never changed here.
    """

    def __init__(self, critic: ConvCritic, *, gp_weight: float, microbatch_size: int) -> None:
        *self._hidden, self._last = critic.linear_layers()
        self._geometries = critic.geometries
        self._activation = critic.activation
        self._gp_weight = gp_weight
        self._microbatch_size = microbatch_size
        self._wide = at_least_float32(self._last.weight.dtype)
        self._take = Workspace(self._last.weight.device).take

    @torch.no_grad()
    def load(self, real: Tensor, fake: Tensor, mix: Tensor, labels: Tensor | None) -> None:
        """Copy at most `microbatch_size` records into place for `of`, channels last; the padding is zero.

        Args:
            real: (records, channels, height, width).
            fake: (records, channels, height, width).
            mix: (records,) in [0, 1): the weight of the real record in x^.
            labels: (records,) int64, or None where the last layer has one row.
        """
        rows = self._take("labels", 0, (self._microbatch_size,), torch.int64).zero_()
        if labels is not None:
            rows[: len(labels)] = labels
        pixels, count = self._pixels(0), real.shape[0]
        mark_present(self._take("present", 0, (self._microbatch_size,), torch.bool), count)
        for plane, images in ((GENERATED, fake), (REAL, real)):
            pixels[:count, plane] = images.permute(0, 2, 3, 1)
            pixels[count:, plane] = 0
        weights = self._take("mix", 0, (self._microbatch_size,), pixels.dtype).zero_()
        weights[:count] = mix

    @torch.no_grad()
    def of(self) -> LayerFactors:
        """Factors of the records in place."""
        labels = self._take("labels", 0, (self._microbatch_size,), torch.int64)
        present = self._take("present", 0, (self._microbatch_size,), torch.bool)
        pixels, weights = (
            self._pixels(0),
            self._take("mix", 0, (self._microbatch_size,), self._last.weight.dtype),
        )
        torch.lerp(pixels[:, GENERATED], pixels[:, REAL], weights.view(-1, 1, 1, 1), out=pixels[:, BETWEEN])
        finite = torch.isfinite(pixels).flatten(1).all(dim=1)
        values = self._forward()
        counts = finite & torch.isfinite(values[-1][:, BETWEEN].flatten(1).sum(dim=1)) & present
        cotangents = self._backward(values, labels)
        top = self._push(values, cotangents)
        above = values[-1].flatten(2)
        return LayerFactors(
            left=tuple(delta.view(self._microbatch_size, -1, delta.shape[-1]) for delta in cotangents),
            right=tuple(self._right(index, values) for index in range(len(values))),
            biases=tuple(
                delta[:, GENERATED].sum(dim=(1, 2), dtype=self._wide)
                + delta[:, REAL].sum(dim=(1, 2), dtype=self._wide)
                for delta in cotangents
            ),
            features=above[:, GENERATED].to(self._wide)
            - above[:, REAL].to(self._wide)
            + top.flatten(1).to(self._wide),
            labels=labels,
            counts=counts,
        )

    def _forward(self) -> list[Tensor]:
        """Values (n, 3, rows, columns, outputs) of every convolution layer."""
        lowest, first = self._geometries[0], self._hidden[0]
        patches = self._patches(0)
        lowest.as_patches(patches).copy_(lowest.patches(self._padded(0)))
        z = self._take(
            "lowest",
            0,
            (self._microbatch_size * PLANES * lowest.positions, lowest.outputs),
            first.weight.dtype,
        )
        torch.addmm(first.bias, patches.view(-1, lowest.inputs), first.weight.T, out=z)
        values = [self._activation.apply_(z).view(*self._shape(lowest))]
        for geometry, layer in zip(self._geometries[1:], self._hidden[1:], strict=True):
            made = _convolved(geometry, layer.weight, layer.bias, values[-1].flatten(0, 1))
            values.append(self._activation.apply_(made).view(*self._shape(geometry)))
        return values

    def _backward(self, values: list[Tensor], labels: Tensor) -> list[Tensor]:
        """Cotangents shaped like the values; those of the real plane carry the minus."""
        upper = self._last.weight.index_select(0, labels).view_as(values[-1][:, 0])
        delta = torch.stack((upper, upper, -upper), dim=1)
        cotangents = [self._activation.chain_(delta, values[-1])]
        for index in range(len(values) - 1, 0, -1):
            upper = cotangents[0].flatten(0, 1).permute(0, 3, 1, 2)
            below = self._geometries[index].pulled_back(upper, self._hidden[index].weight)
            delta = below.permute(0, 2, 3, 1).contiguous().view_as(values[index - 1])
            cotangents.insert(0, self._activation.chain_(delta, values[index - 1]))
        return cotangents

    def _push(self, values: list[Tensor], cotangents: list[Tensor]) -> Tensor:
        """Give u of the last convolution layer; those below it take the place of x^ among the inputs of the layers.

        u_0 is the penalty's direction `2 gp_weight (norm - 1) g / norm`, g the gradient of the score at x^.
        """
        lowest, weight = self._geometries[0], self._hidden[0].weight
        pixels = self._pixels(0)[:, BETWEEN]
        gradient = self._gradient(cotangents[0][:, BETWEEN])
        norm = torch.linalg.vector_norm(gradient, dim=1, dtype=self._wide)
        scale = torch.where(norm > 0.0, 2.0 * self._gp_weight * (norm - 1.0) / norm, norm)
        pixels.copy_(gradient.mul_(scale[:, None]).view_as(pixels))
        patches = self._take(
            "pushed", 0, (self._microbatch_size, lowest.positions, lowest.inputs), weight.dtype
        )
        lowest.as_patches(patches).copy_(lowest.patches(self._padded(0)[:, BETWEEN]))
        self._patches(0)[:, BETWEEN] = patches
        made = torch.mm(patches.view(-1, lowest.inputs), weight.T)
        pushed = self._activation.chain_(made.view_as(values[0][:, 0]), values[0][:, BETWEEN])
        for index in range(1, len(values)):
            self._pixels(index)[:, BETWEEN] = pushed
            made = _convolved(self._geometries[index], self._hidden[index].weight, None, pushed)
            pushed = self._activation.chain_(made, values[index][:, BETWEEN])
        return pushed

    def _gradient(self, cotangent: Tensor) -> Tensor:
        """(n, pixels) gradient of the scores at x^, of the first layer's (n, rows, columns, outputs) cotangents."""
        lowest, weight = self._geometries[0], self._hidden[0].weight
        products = self._take(
            "products", 0, (self._microbatch_size, lowest.positions, lowest.inputs), weight.dtype
        )
        torch.mm(cotangent.reshape(-1, lowest.outputs), weight, out=products.view(-1, lowest.inputs))
        padded = self._take("gradient", 0, (self._microbatch_size, lowest.padded), weight.dtype).zero_()
        lowest.add_patches(products, padded)
        return lowest.inside(padded).flatten(1)

    def _right(self, index: int, values: list[Tensor]) -> Tensor:
        geometry = self._geometries[index]
        patches = self._patches(index)
        if index:
            below = self._pixels(index)
            below[:, GENERATED] = values[index - 1][:, GENERATED]
            below[:, REAL] = values[index - 1][:, REAL]
            geometry.as_patches(patches).copy_(geometry.patches(self._padded(index)))
        return patches.flatten(1, 2)

    def _padded(self, index: int) -> Tensor:
        """(n, 3, padded) inputs of a convolution layer; what lies outside the image stays zero."""
        geometry = self._geometries[index]
        return self._take(
            "padded", index, (self._microbatch_size, PLANES, geometry.padded), self._last.weight.dtype
        )

    def _pixels(self, index: int) -> Tensor:
        """(n, 3, height, width, channels) inputs of a convolution layer."""
        return self._geometries[index].inside(self._padded(index))

    def _patches(self, index: int) -> Tensor:
        """(n, 3, positions, inputs) patches of a convolution layer's inputs."""
        geometry = self._geometries[index]
        shape = (self._microbatch_size, PLANES, geometry.positions, geometry.inputs)
        return self._take("patches", index, shape, self._last.weight.dtype)

    def _shape(self, geometry: Geometry) -> tuple[int, ...]:
        return (self._microbatch_size, PLANES, geometry.rows, geometry.columns, geometry.outputs)


def _convolved(geometry: Geometry, weight: Tensor, bias: Tensor | None, images: Tensor) -> Tensor:
    """Images (images, height, width, channels) to (images, rows, columns, outputs), contiguous."""
    made = geometry.convolved(images.permute(0, 3, 1, 2), weight, bias)
    return made.permute(0, 2, 3, 1).contiguous()
