"""A small convolutional classifier whose gradients are known image by image.

The network is that of Papernot et al., "Tempered sigmoid activations for deep learning with differential privacy" (2021):
convolutions of 16 filters of 8x8 and 32 of 4x4 with stride two, maxima of 2x2 with stride one, 32 units, tanh throughout.
An image's gradient of a layer is formed from the layer's input and the derivative of its output: a product over places
for a convolution, an outer product for a linear layer.
"""

import math

import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.images.classifiers import tensor_of
from benchmarks.images.datasets import Pictures
from benchmarks.images.networks import Shape
from models.randomness import KeyedStreams, Purpose

CHUNK = 512
"""Images whose gradients are held at once."""


class ClippedNetwork:
    """The network with its parameters in the open: `[w, b]` of two convolutions and two linear layers.

    Args:
        shape: height, width and channels.
        classes: labels.
        streams: draw the weights.
    """

    def __init__(self, shape: Shape, classes: int, streams: KeyedStreams) -> None:
        height, width, channels = shape
        left = [((side // 2 - 1) - 4) // 2 for side in (height, width)]
        shapes = [(16, channels, 8, 8), (32, 16, 4, 4), (32, 32 * left[0] * left[1]), (classes, 32)]
        self.parameters: list[Tensor] = []
        for index, size in enumerate(shapes):
            deviation = math.prod(size[1:]) ** -0.5
            self.parameters += [
                streams.torch_normals(Purpose.CRITIC_INIT, index, size) * deviation,
                torch.zeros(size[0]),
            ]

    def layers(self, images: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """Inputs and outputs of the four layers; the last output is the logits. Outputs ask for derivatives."""
        w1, b1, w2, b2, w3, b3, w4, b4 = self.parameters
        first = functional.conv2d(images, w1, b1, stride=2, padding=3).requires_grad_()
        inside = functional.max_pool2d(torch.tanh(first), 2, stride=1)
        second = functional.conv2d(inside, w2, b2, stride=2)
        flat = functional.max_pool2d(torch.tanh(second), 2, stride=1).flatten(1)
        third = functional.linear(flat, w3, b3)
        hidden = torch.tanh(third)
        fourth = functional.linear(hidden, w4, b4)
        return [images, inside, flat, hidden], [first, second, third, fourth]

    def clipped_sum(self, images: Tensor, labels: Tensor, *, clipping_norm: float) -> list[Tensor]:
        """Sum over images of their gradients of the cross entropy, each scaled to a norm of at most `clipping_norm`."""
        inputs, outputs = self.layers(images)
        loss = functional.cross_entropy(outputs[-1], labels, reduction="sum")
        slopes = torch.autograd.grad(loss, outputs)
        per_image: list[Tensor] = []
        for layer, (given, slope) in enumerate(zip(inputs, slopes, strict=True)):
            if layer < 2:
                kernel, stride, padding = ((8, 2, 3), (4, 2, 0))[layer]
                patches = functional.unfold(given.detach(), kernel, stride=stride, padding=padding)
                per_image += [slope.flatten(2) @ patches.mT, slope.flatten(2).sum(dim=2)]
            else:
                per_image += [slope[:, :, None] * given.detach()[:, None, :], slope]
        squares = torch.stack([part.flatten(1).square().sum(dim=1) for part in per_image]).sum(dim=0)
        factors = (clipping_norm / squares.sqrt()).clamp(max=1.0)
        return [
            torch.tensordot(factors, part, dims=1).reshape(parameter.shape)
            for part, parameter in zip(per_image, self.parameters, strict=True)
        ]

    def accuracy(self, pictures: Pictures) -> float:
        """Share of the images whose largest logit is their label's."""
        right = 0
        for first in range(0, len(pictures), CHUNK):
            some = pictures.take(slice(first, first + CHUNK))
            answers = self.layers(tensor_of(some.pixels))[1][-1].argmax(dim=1).numpy()
            right += int((answers == some.labels).sum())
        return right / len(pictures)
