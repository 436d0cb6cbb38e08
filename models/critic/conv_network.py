"""The critic of images: strided convolutions with a piecewise-linear activation and no layer that mixes records."""

from typing import Final

import torch
from torch import Tensor, nn

from core.plan.critic_groups import groups_of_shapes
from core.plan.options import IdpganOptions
from models.critic.convolution import Convolution, Geometry
from models.critic.network import Activation, LeakyReLU, draw_weights, zero_layer
from models.randomness import KeyedStreams

WIDTH_UNIT: Final = 16
"""Widths are multiples of this, so that every image of a layer begins at a multiple of 64 bytes (`models.critic.microbatch`)."""


class ConvCritic(nn.Module):
    """`D: images (batch, channels, height, width), labels (batch,) -> (batch,)`.

    Convolution layers with one activation between them and a linear last layer over all features, with one row per
    class: the score of an image with a label is the label's row times the features. The layers are held as matrices;
    that of a convolution has one row per channel and one column per number of a patch (`models.critic.convolution`).

    Args:
        image: channels, height and width.
        widths: channels of the convolution layers, at least one layer, multiples of `WIDTH_UNIT`.
        classes: of the labels; 0 where images have none.
        convolution: kernel, stride and padding of all layers.
        activation: piecewise linear; LeakyReLU(0.2) by default.

    Raises:
        ValueError: the sizes make no critic, for example because a kernel does not fit its image.
    """

    def __init__(
        self,
        *,
        image: tuple[int, int, int],
        widths: tuple[int, ...],
        classes: int = 0,
        convolution: Convolution | None = None,
        activation: Activation | None = None,
    ) -> None:
        super().__init__()
        if min(image) < 1 or not widths or any(width < 1 or width % WIDTH_UNIT for width in widths):
            raise ValueError(f"a critic of images has layers of widths that {WIDTH_UNIT} divides")
        self.image = image
        self.classes = classes
        self.geometries = _geometries(image, widths, convolution or Convolution())
        self.activation: Activation = activation if activation is not None else LeakyReLU()
        last = self.geometries[-1]
        sizes = [(geometry.inputs, geometry.outputs) for geometry in self.geometries]
        sizes.append((last.positions * last.outputs, max(classes, 1)))
        self.layers = nn.ModuleList(zero_layer(below, above) for below, above in sizes)

    def linear_layers(self) -> tuple[nn.Linear, ...]:
        """The layers' matrices and biases, from the image upwards."""
        return tuple(layer for layer in self.layers if isinstance(layer, nn.Linear))

    def public_groups(self, options: IdpganOptions) -> int:
        """The number of groups that a plan of these options counts on."""
        return groups_of_shapes(
            options, tuple((layer.out_features, layer.in_features) for layer in self.linear_layers())
        )

    def initialise(self, streams: KeyedStreams, *, step: int = 0) -> "ConvCritic":
        """Draw He-scaled normal weights (gain sqrt 2, fan-in) and zero biases from the keyed stream."""
        draw_weights(self.linear_layers(), streams, step=step)
        return self

    def forward(self, x: Tensor, labels: Tensor | None = None) -> Tensor:
        """Scores (batch,) of images (batch, channels, height, width) with labels (batch,) int64, or None."""
        assert (labels is None) == (self.classes == 0), "images have labels where there are classes"
        scores = self.answers(x)
        return scores.squeeze(1) if labels is None else scores.gather(1, labels[:, None]).squeeze(1)

    def answers(self, x: Tensor) -> Tensor:
        """The outputs of the last layer, (batch, rows), for images (batch, channels, height, width)."""
        *hidden, last = self.linear_layers()
        for geometry, layer in zip(self.geometries, hidden, strict=True):
            x = self.activation(geometry.convolved(x, layer.weight, layer.bias))
        return torch.as_tensor(last(x.permute(0, 2, 3, 1).flatten(1)))


def _geometries(
    image: tuple[int, int, int], widths: tuple[int, ...], convolution: Convolution
) -> tuple[Geometry, ...]:
    channels, height, width = image
    made = []
    for outputs in widths:
        geometry = Geometry(
            convolution=convolution, height=height, width=width, channels=channels, outputs=outputs
        )
        channels, height, width = outputs, geometry.rows, geometry.columns
        if min(height, width) < 1:
            raise ValueError("a kernel does not fit its image: fewer layers, or more padding")
        made.append(geometry)
    return tuple(made)
