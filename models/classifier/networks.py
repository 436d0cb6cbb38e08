"""The networks of classifiers: a linear layer, one hidden layer, or convolutions; logits of every class come out."""

import itertools
from collections.abc import Iterable
from typing import Final

import torch
from torch import Tensor, nn

from core.plan.private_models.plan import ModelPlan
from models.critic.label_network import LabelCritic
from models.critic.network import draw_weights
from models.randomness import KeyedStreams

CNN_WIDTHS: Final = (16, 32)
"""Channels of the convolutions, each of which halves an image."""


class DenseClassifier(nn.Module):
    """Linear layers with rectified units between them, after a fixed projection if there is one; float64.

    Args:
        widths: inputs, hidden units if there are any, classes.
        components: (features, inputs) of a projection of records that are shortened to length one; None for none.
    """

    def __init__(self, widths: tuple[int, ...], *, components: Tensor | None = None) -> None:
        super().__init__()
        self.components: Tensor | None
        self.register_buffer("components", components)
        self.layers = nn.ModuleList(
            nn.Linear(below, above, dtype=torch.float64) for below, above in itertools.pairwise(widths)
        )
        for layer in self.linear_layers():
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    def linear_layers(self) -> tuple[nn.Linear, ...]:
        """The layers, from the input upwards."""
        return tuple(layer for layer in self.layers if isinstance(layer, nn.Linear))

    def inputs(self, rows: Tensor) -> Tensor:
        """(n, inputs) of the first layer, of (n, features)."""
        return rows if self.components is None else shortened(rows) @ self.components

    def forward(self, rows: Tensor) -> Tensor:
        """(n, classes) logits of (n, features)."""
        *hidden, last = self.linear_layers()
        values = self.inputs(rows)
        for layer in hidden:
            values = torch.relu(layer(values))
        return torch.as_tensor(last(values))


class ImageClassifier(nn.Module):
    """Convolutions of flat images; see `models.critic.label_network`.

    Args:
        image: channels, height and width.
    """

    def __init__(self, image: tuple[int, int, int], classes: int) -> None:
        super().__init__()
        self.critic = LabelCritic(image=image, widths=CNN_WIDTHS, classes=classes)

    def linear_layers(self) -> tuple[nn.Linear, ...]:
        """The layers' matrices and biases, from the image upwards."""
        return self.critic.linear_layers()

    def forward(self, rows: Tensor) -> Tensor:
        """(n, classes) logits of (n, channels height width) pixels in [0, 1]."""
        return self.critic.logits(rows.reshape(-1, *self.critic.image))


def dense_network(
    plan: ModelPlan, width: int, streams: KeyedStreams, *, components: Tensor | None
) -> DenseClassifier:
    """The network of a plan, initialised: zeros for a linear layer, keyed normals for hidden ones.

    Args:
        width: numbers of a record's features.
        components: (width, components) if the plan takes principal components.
    """
    first = width if components is None else components.shape[1]
    hidden = (plan.options.hidden,) if plan.options.hidden else ()
    network = DenseClassifier((first, *hidden, plan.classes), components=components)
    if hidden:
        draw_weights(network.linear_layers(), streams, step=0)
    return network


def shortened(rows: Tensor) -> Tensor:
    """(n, width) rows with a length of at most one."""
    lengths: Tensor = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
    return rows / lengths.clamp(min=1.0)


def flattened(parameters: Iterable[nn.Parameter]) -> Tensor:
    """One buffer with all parameters in order; they become views of it."""
    kept = list(parameters)
    flat = torch.cat([one.detach().reshape(-1) for one in kept])
    for one, piece in zip(kept, torch.split(flat, [one.numel() for one in kept]), strict=True):
        one.data = piece.view(one.shape)
    return flat
