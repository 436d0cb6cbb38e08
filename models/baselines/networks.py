"""Small networks of the baselines: a generator of images by class, and a critic of images by class."""

import torch
from torch import Tensor, nn

from models.randomness import KeyedStreams, Purpose

_SLOPE = 0.2
Shape = tuple[int, int, int]


class ImageGenerator(nn.Module):
    """(latent, label one-hot) to images in [0, 1]: two linear layers, then two convolutions, each after doubling the sides.

    Args:
        shape: height, width and channels.
        classes: labels; 0 where there are none.
        latent_dimension: standard normal inputs.
        width: channels after the first convolution; twice as many before it.
    """

    def __init__(self, *, shape: Shape, classes: int, latent_dimension: int, width: int) -> None:
        super().__init__()
        self.shape, self.classes, self.latent_dimension = shape, classes, latent_dimension
        height, breadth, channels = shape
        self.start = (2 * width, -(-height // 4), -(-breadth // 4))
        self.enter = nn.Linear(latent_dimension + classes, 8 * width)
        self.spread = nn.Linear(8 * width, self.start[0] * self.start[1] * self.start[2])
        self.first = nn.Conv2d(2 * width, width, 5, padding=2)
        self.second = nn.Conv2d(width, channels, 5, padding=2)

    def forward(self, latent: Tensor, label: Tensor) -> Tensor:
        """Shapes (rows, latent_dimension) and (rows, classes) to (rows, channels, height, width)."""
        hidden = nn.functional.relu(self.enter(torch.cat([latent, label], dim=1)))
        maps = nn.functional.relu(self.spread(hidden)).reshape(-1, *self.start)
        maps = nn.functional.relu(self.first(_doubled(maps)))
        height, breadth, _ = self.shape
        return torch.sigmoid(self.second(_doubled(maps))[:, :, :height, :breadth])


class ImageCritic(nn.Module):
    """Images to a score by class: two convolutions with stride two, and row `y` of a linear layer for label `y`.

    Args:
        shape: height, width and channels.
        classes: labels; 0 where there are none, and then there is one row.
        width: channels of the first convolution; twice as many of the second.
    """

    def __init__(self, *, shape: Shape, classes: int, width: int) -> None:
        super().__init__()
        height, breadth, channels = shape
        left = [(side + 3) // 4 for side in (height, breadth)]
        self.first = nn.Conv2d(channels, width, 5, stride=2, padding=2)
        self.second = nn.Conv2d(width, 2 * width, 5, stride=2, padding=2)
        self.leave = nn.Linear(2 * width * left[0] * left[1], max(classes, 1))

    def forward(self, images: Tensor, labels: Tensor) -> Tensor:
        """Shapes (rows, channels, height, width) and (rows,) int64 to (rows,)."""
        maps = nn.functional.leaky_relu(self.first(images), _SLOPE)
        maps = nn.functional.leaky_relu(self.second(maps), _SLOPE)
        return torch.as_tensor(self.leave(maps.flatten(1)).gather(1, labels[:, None])[:, 0])


def initialise(network: nn.Module, streams: KeyedStreams, purpose: Purpose) -> None:
    """Draw weights of standard deviation sqrt(2 / fan-in) from the keyed stream and set biases to zero."""
    with torch.no_grad():
        for index, parameter in enumerate(network.parameters()):
            if parameter.ndim > 1:
                gain = (2.0 / (parameter.numel() / parameter.shape[0])) ** 0.5
                parameter.copy_(streams.torch_normals(purpose, index, tuple(parameter.shape)) * gain)
            else:
                parameter.zero_()


def _doubled(maps: Tensor) -> Tensor:
    return nn.functional.interpolate(maps, scale_factor=2, mode="nearest")
