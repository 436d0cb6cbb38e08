"""The small generator of images by class that the baselines train."""

import torch
from torch import Tensor, nn

from models.randomness import KeyedStreams, Purpose

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
