"""Small critics of images and batches for them."""

from dataclasses import dataclass

import torch
from torch import Tensor

from models.critic.conv_form import ConvForm
from models.critic.conv_network import ConvCritic
from models.critic.convolution import Convolution
from models.critic.network import Activation, LeakyReLU
from models.dp.clipping import Layout
from models.randomness import KeyedStreams, Purpose
from tests.models.critic.reference import Reference

STREAMS = KeyedStreams(bytes(range(32)))


@dataclass(frozen=True)
class Images:
    """A batch: (n, channels, height, width) twice, (n,), (n,) or None."""

    real: Tensor
    fake: Tensor
    mix: Tensor
    labels: Tensor | None

    @property
    def parts(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.real, self.fake, self.mix

    def of(self, places: Tensor) -> "Images":
        labels = None if self.labels is None else self.labels[places]
        return Images(self.real[places], self.fake[places], self.mix[places], labels)


def critic_of(
    image: tuple[int, int, int],
    widths: tuple[int, ...],
    *,
    classes: int = 0,
    convolution: Convolution | None = None,
    activation: Activation | None = None,
    dtype: torch.dtype = torch.float64,
) -> ConvCritic:
    """Initialised, with biases that are not zero."""
    critic = ConvCritic(
        image=image,
        widths=widths,
        classes=classes,
        convolution=convolution,
        activation=activation or LeakyReLU(),
    ).initialise(STREAMS)
    for index, layer in enumerate(critic.linear_layers()):
        layer.bias.data.copy_(STREAMS.torch_normals(Purpose.TEST, index, layer.out_features) * 0.3)
    return critic.to(dtype).requires_grad_(requires_grad=False)


def layout_of(critic: ConvCritic, grouping: str, row_blocks: int = 3) -> Layout:
    shapes = tuple((layer.out_features, layer.in_features) for layer in critic.linear_layers())
    return Layout(shapes=shapes, grouping=grouping, row_blocks=row_blocks)


def images_of(critic: ConvCritic, count: int, step: int = 0) -> Images:
    dtype = critic.linear_layers()[0].weight.dtype
    drawn = STREAMS.torch_uniforms(Purpose.TEST, 100 + step, (2, count, *critic.image)).to(dtype)
    labels = torch.from_numpy(STREAMS.integers(Purpose.TEST, 300 + step, max(critic.classes, 1), count))
    mix = STREAMS.torch_uniforms(Purpose.TEST, 200 + step, count)
    return Images(drawn[0], drawn[1], mix, labels if critic.classes else None)


def both(critic: ConvCritic, layout: Layout, gp_weight: float = 10.0) -> tuple[ConvForm, Reference]:
    return (
        ConvForm(critic, layout, gp_weight=gp_weight, max_batch=100),
        Reference(critic, layout, gp_weight=gp_weight, max_batch=100, at_once=64),
    )
