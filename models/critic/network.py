"""The critic of tables: a multilayer perceptron with a piecewise-linear activation and no layer that mixes records."""

import itertools
import math
from typing import Protocol

import torch
from torch import Tensor, nn

from core.plan.critic_groups import group_count
from core.plan.options import IdpganOptions
from models.randomness import KeyedStreams, Purpose

_aten = torch.ops.aten


class Activation(Protocol):
    """A piecewise-linear function whose slope follows from its value."""

    def apply_(self, z: Tensor) -> Tensor:
        """phi(z), written over z."""
        ...

    def chain_(self, cotangent: Tensor, value: Tensor) -> Tensor:
        """`cotangent * phi'(z)` written over the cotangent, the slope taken from `value = phi(z)`."""
        ...

    def __call__(self, z: Tensor) -> Tensor:
        """phi(z), differentiable by autograd and torch.func."""
        ...


class LeakyReLU:
    """`max(z, negative_slope z)`; ReLU is the case of slope zero. The slope at zero is the negative one, as in torch.

    Args:
        negative_slope: in [0, 1).
    """

    def __init__(self, negative_slope: float = 0.2) -> None:
        if not 0.0 <= negative_slope < 1.0:
            raise ValueError("the negative slope lies in [0, 1)")
        self.negative_slope = negative_slope

    def apply_(self, z: Tensor) -> Tensor:
        """phi(z), written over z."""
        return nn.functional.leaky_relu_(z, self.negative_slope)

    def chain_(self, cotangent: Tensor, value: Tensor) -> Tensor:
        """`cotangent * phi'(z)`, one fused pass."""
        return _aten.leaky_relu_backward.grad_input(  # type: ignore[no-any-return]
            cotangent,
            value,
            self.negative_slope,
            True,  # noqa: FBT003 - torch's signature
            grad_input=cotangent,
        )

    def __call__(self, z: Tensor) -> Tensor:
        """phi(z), differentiable."""
        return nn.functional.leaky_relu(z, self.negative_slope)


class Critic(nn.Module):
    """`D: (batch, inputs) -> (batch,)`, linear layers with one activation between them, a linear output.

    Args:
        inputs: cells of one record.
        widths: units of the hidden layers, at least one layer.
        activation: piecewise linear; LeakyReLU(0.2) by default.
    """

    def __init__(self, *, inputs: int, widths: tuple[int, ...], activation: Activation | None = None) -> None:
        super().__init__()
        if inputs < 1 or not widths or min(widths) < 1:
            raise ValueError("a critic has inputs and at least one hidden layer")
        sizes = (inputs, *widths, 1)
        self.layers = nn.ModuleList(zero_layer(below, above) for below, above in itertools.pairwise(sizes))
        self.activation: Activation = activation if activation is not None else LeakyReLU()

    def linear_layers(self) -> tuple[nn.Linear, ...]:
        """The layers, from the input upwards."""
        return tuple(layer for layer in self.layers if isinstance(layer, nn.Linear))

    def public_groups(self, options: IdpganOptions) -> int:
        """The number of groups that a plan of these options counts on."""
        return group_count(options, self.linear_layers()[0].in_features)

    def initialise(self, streams: KeyedStreams, *, step: int = 0) -> "Critic":
        """Draw He-scaled normal weights (gain sqrt 2, fan-in) and zero biases from the keyed stream."""
        draw_weights(self.linear_layers(), streams, step=step)
        return self

    def forward(self, x: Tensor) -> Tensor:
        """Scores (batch,) of records (batch, inputs)."""
        *hidden, last = self.layers
        for layer in hidden:
            x = self.activation(layer(x))
        return torch.as_tensor(last(x)).squeeze(-1)


def draw_weights(layers: tuple[nn.Linear, ...], streams: KeyedStreams, *, step: int) -> None:
    """Draw He-scaled normal weights (fan-in; gain sqrt 2, but 1 in the last layer) and zero biases."""
    counts = [layer.weight.numel() for layer in layers]
    drawn = torch.split(streams.torch_normals(Purpose.CRITIC_INIT, step, sum(counts)), counts)
    with torch.no_grad():
        for layer, values in zip(layers, drawn, strict=True):
            scale = math.sqrt((2.0 if layer is not layers[-1] else 1.0) / layer.in_features)
            layer.weight.copy_(values.reshape(layer.weight.shape) * scale)
            layer.bias.zero_()


def zero_layer(inputs: int, outputs: int) -> nn.Linear:
    """A layer of zeros that draws no random numbers; `to_empty` would import a library for symbolic shapes."""
    layer = nn.Linear(inputs, outputs, device="meta")
    layer.weight = nn.Parameter(torch.zeros(outputs, inputs))
    layer.bias = nn.Parameter(torch.zeros(outputs))
    return layer
