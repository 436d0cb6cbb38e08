"""The closed-form private step of a critic of labels: clipped per-example gradients of the cross entropy.

With the notation of `models.critic.conv_factors`, p the softmax of the logits and e the label's unit vector, the loss
`-log p_y` of a record has at its logits the cotangent `p - e`. Pulled back through the layers it gives

    dW_l = sum over positions of  delta_l(x) a_{l-1}(x)^T,    db_l = sum over positions of  delta_l(x)

so a record has one factor pair per position of a layer, a third of what a WGAN-GP critic has, and in the last layer the
pair of `p - e` and its features. Every product has one public number of records, as there.
"""

import torch
from torch import Tensor

from models.critic.conv_factors import LayerFactors
from models.critic.conv_form import ImageForm, counted, one_hot, squared_norms
from models.critic.factors import at_least_float32
from models.critic.label_network import LabelCritic, centred
from models.critic.layer_sums import slices_of
from models.critic.microbatch import Workspace, mark_present
from models.dp.clipping import Layout


class LabelForm(ImageForm):
    """The closed form of one critic of labels.

    Generated records and interpolation weights are accepted, as the other forms accept them, and ignored.
    """

    def __init__(
        self,
        critic: LabelCritic,
        layout: Layout,
        *,
        max_batch: int,
        microbatch_size: int | None = None,
        fixed: bool = False,
    ) -> None:
        super().__init__(
            critic, layout, planes=1, max_batch=max_batch, microbatch_size=microbatch_size, fixed=fixed
        )
        self._critic = critic
        *self._hidden, self._last = critic.linear_layers()
        self._dtype = self._last.weight.dtype
        self._wide = at_least_float32(self._dtype)
        self._take = Workspace(self._device).take
        first_block = int(layout.block_of_row(len(self._sums))[0])
        self._rows_of_classes = tuple(enumerate(slices_of(layout.rows_of_blocks[-1]), start=first_block))

    def _load(self, real: Tensor, fake: Tensor, mix: Tensor, labels: Tensor | None) -> None:
        del fake, mix
        assert labels is not None, "a critic of labels needs labels"
        count = real.shape[0]
        pixels = self._pixels(0)
        pixels[:count] = centred(real).permute(0, 2, 3, 1)
        pixels[count:] = 0
        self._take("labels", 0, (self.microbatch_size,), torch.int64).zero_()[:count] = labels
        mark_present(self._take("present", 0, (self.microbatch_size,), torch.bool), count)

    def _factor(self, loaded: None) -> LayerFactors:
        del loaded
        labels = self._take("labels", 0, (self.microbatch_size,), torch.int64)
        counts = torch.isfinite(self._pixels(0)).flatten(1).all(dim=1)
        counts &= self._take("present", 0, (self.microbatch_size,), torch.bool)
        values = self._forward()
        features = self._take("features", 0, (self.microbatch_size, self._last.in_features), self._dtype)
        features.copy_(values[-1].flatten(1))
        logits = self._take("logits", 0, (self.microbatch_size, self._last.out_features), self._dtype)
        torch.addmm(self._last.bias, features, self._last.weight.T, out=logits)
        cotangent = self._take("answer", 0, (self.microbatch_size, self._last.out_features), self._wide)
        torch.softmax(logits.to(self._wide), dim=1, out=cotangent)
        cotangent -= one_hot(labels, self._last.out_features, self._wide)
        deltas = self._backward(values, cotangent)
        return LayerFactors(
            left=tuple(delta.flatten(1, 2) for delta in deltas),
            right=tuple(self._patches(index).flatten(2) for index in range(len(values))),
            biases=(*(delta.sum(dim=(1, 2), dtype=self._wide) for delta in deltas), cotangent),
            features=features,
            labels=labels,
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
                    "lowest", 0, (self.microbatch_size * geometry.positions, geometry.outputs), self._dtype
                )
                torch.addmm(layer.bias, patches.view(-1, geometry.inputs), layer.weight.T, out=made)
            shape = (self.microbatch_size, geometry.rows, geometry.columns, geometry.outputs)
            values.append(activation.apply_(made).view(shape))
        return values

    def _backward(self, values: list[Tensor], cotangent: Tensor) -> list[Tensor]:
        """Cotangents shaped like the values."""
        activation, geometries = self._critic.activation, self._critic.geometries
        upper = self._take("upper", 0, (self.microbatch_size, self._last.in_features), self._dtype)
        torch.mm(cotangent.to(self._dtype), self._last.weight, out=upper)
        deltas = [activation.chain_(upper.view(values[-1].shape), values[-1])]
        for index in range(len(values) - 1, 0, -1):
            below = geometries[index].pulled_back(deltas[0].permute(0, 3, 1, 2), self._hidden[index].weight)
            delta = below.permute(0, 2, 3, 1).contiguous()
            deltas.insert(0, activation.chain_(delta, values[index - 1]))
        return deltas

    def _measure_last(self, factors: LayerFactors, squares: Tensor) -> None:
        answers = factors.biases[-1].double().square() * squared_norms(factors.features)[:, None]
        if self._fixed:  # Not a scatter: torch refuses it on a GPU as not deterministic.
            for block, rows in self._rows_of_classes:
                squares[:, block] += answers[:, rows].sum(dim=1)
        else:
            squares.index_add_(1, self._block_of_class, answers)

    def _add_last(
        self, factors: LayerFactors, clips: Tensor, spoiled: Tensor | None, weights: Tensor
    ) -> None:
        answers = counted(factors.biases[-1], spoiled) * clips[:, self._block_of_class]
        weights.addmm_(answers.T, counted(factors.features, spoiled))

    def _padded(self, index: int) -> Tensor:
        """(n, padded) inputs of a convolution layer; what lies outside the image stays zero."""
        return self._take(
            "padded", index, (self.microbatch_size, self._critic.geometries[index].padded), self._dtype
        )

    def _pixels(self, index: int) -> Tensor:
        """(n, height, width, channels) inputs of a convolution layer."""
        return self._critic.geometries[index].inside(self._padded(index))

    def _patches(self, index: int) -> Tensor:
        """(n, positions, inputs) patches of a convolution layer's inputs."""
        geometry = self._critic.geometries[index]
        return self._take(
            "patches", index, (self.microbatch_size, geometry.positions, geometry.inputs), self._dtype
        )
