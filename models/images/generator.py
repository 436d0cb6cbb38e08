"""The generator of images: the anchor's distribution, and a convolutional decoder that adds nothing at first.

The latent vector is standard normal. Its first number picks the cell of the class by thresholds, the next `d` are the Gaussian inside the cell, `e`
more the tail outside its basis, six move the image a little, eight make its high-frequency texture, and the rest feed the decoder. The decoder
receives the whole vector and the moved image, and its last layer starts at zero: an untrained generator draws exactly
`moved(clamp(mean + basis (centre + factor z, tail y)))`, with texture.
"""

import math

import numpy as np
import torch
from scipy import fft
from scipy.special import ndtri
from torch import Tensor, nn

from models.images.exact import Floats
from models.images.mixture import Mixture
from models.images.moves import MOVES
from models.images.texture import TEXTURE_DRAWS, texture_phases
from models.randomness import KeyedStreams, Purpose

SLOPE = 0.2
_FAR = 8.0
_COARSE = 4


class ImageGenerator(nn.Module):
    """(latent, label one-hot) to images in [0, 1].

    Args:
        mixture: noisy distribution of images; public shapes, kept as buffers.
        width: number of the decoder's channels.
        extra: size of the decoder's own part of the latent vector.
    """

    thresholds: Tensor
    means: Tensor
    basis: Tensor
    centres: Tensor
    factors: Tensor
    moves: Tensor
    phases: Tensor
    grain: Tensor
    down: Tensor
    right: Tensor
    grid: Tensor

    def __init__(
        self,
        mixture: Mixture,
        *,
        width: int = 32,
        extra: int = 16,
    ) -> None:
        super().__init__()
        self.height, self.width, self.channels = mixture.shape
        self.classes, self.cells, self.dimensions = mixture.centres.shape
        self.moves_start = 1 + self.dimensions + len(mixture.tail)
        self.texture_start = self.moves_start + MOVES
        self.textured = bool(mixture.texture.any())
        self.latent_dimension = self.texture_start + TEXTURE_DRAWS + extra
        upper = np.cumsum(mixture.weights, axis=1)[:, :-1]
        self.register_buffer("thresholds", _float(np.clip(ndtri(upper), -_FAR, _FAR)))
        self.register_buffer("means", _float(mixture.means))
        self.register_buffer(
            "basis",
            _float(mixture.basis.T * np.concatenate([np.ones(self.dimensions), mixture.tail])[:, None]),
        )
        self.register_buffer("centres", _float(mixture.centres.reshape(-1, self.dimensions)))
        self.register_buffer("factors", _float(mixture.factors.reshape(-1, self.dimensions, self.dimensions)))
        self.register_buffer("moves", _float(mixture.moves.reshape(-1, MOVES, MOVES)))
        self.register_buffer("phases", _float(texture_phases(len(mixture.basis))))
        # The name is part of the bundle's format.
        self.register_buffer("grain", _float(mixture.texture * math.sqrt(2.0)))
        self.register_buffer("down", _float(fft.idct(np.eye(self.height), axis=0, norm="ortho")))
        self.register_buffer("right", _float(fft.idct(np.eye(self.width), axis=0, norm="ortho").T))
        self.register_buffer("grid", _pixel_places(self.height, self.width))
        self.quarter_size = (math.ceil(self.height / _COARSE), math.ceil(self.width / _COARSE))
        self.half_size = (math.ceil(self.height / 2), math.ceil(self.width / 2))
        self.enter = nn.Linear(self.latent_dimension + self.classes, width * math.prod(self.quarter_size))
        self.first = nn.Conv2d(width, width, 3, padding=1)
        self.second = nn.Conv2d(width + self.channels, width, 3, padding=1)
        self.leave = nn.Conv2d(width, self.channels, 3, padding=1)

    def forward(self, latent: Tensor, label: Tensor) -> Tensor:
        """Shapes (rows, latent_dimension) and (rows, classes; or 0 for images without labels) to (rows, c, h, w)."""
        if label.shape[1] == 0:
            label = torch.cat([label, torch.ones_like(latent[:, :1])], dim=1)
        start = self.anchor(latent, label)
        images = bounded(start + self._residual(latent, label, start))
        if not self.textured:
            return images
        waves = torch.sin(latent[:, self.texture_start : self.texture_start + TEXTURE_DRAWS] @ self.phases)
        texture = torch.matmul(self.down, torch.matmul(self.grain * waves.reshape(images.shape), self.right))
        return torch.clamp(images + texture, 0.0, 1.0)

    def anchor(self, latent: Tensor, label: Tensor) -> Tensor:
        """The output of an untrained generator: a moved image of the mixture, without texture."""
        cell = (latent[:, :1] > label @ self.thresholds).sum(dim=1)
        index = label.argmax(dim=1) * self.cells + cell
        inside = latent[:, 1 : 1 + self.dimensions, None]
        factors = torch.index_select(self.factors, 0, index)
        place = torch.index_select(self.centres, 0, index) + torch.bmm(factors, inside)[:, :, 0]
        place = torch.cat([place, latent[:, 1 + self.dimensions : self.moves_start]], dim=1)
        flat = torch.clamp(label @ self.means + place @ self.basis, 0.0, 1.0)
        picture = flat.reshape(-1, self.channels, self.height, self.width)
        given = latent[:, self.moves_start : self.moves_start + MOVES, None]
        moves = torch.bmm(torch.index_select(self.moves, 0, index), given)
        return self._moved(picture, moves[:, :, 0])

    def _moved(self, picture: Tensor, moves: Tensor) -> Tensor:
        """Pictures resampled at positions moved by small linear maps and shifts."""
        change = torch.cat([moves[:, :4].reshape(-1, 2, 2), moves[:, 4:, None]], dim=2).transpose(1, 2)
        places = self.grid[:, :2] + torch.matmul(self.grid, change)
        return nn.functional.grid_sample(
            picture,
            places.reshape(-1, self.height, self.width, 2),
            mode="bilinear",
            padding_mode="border",
            align_corners=False,
        )

    def _residual(self, latent: Tensor, label: Tensor, start: Tensor) -> Tensor:
        hidden = self.enter(torch.cat([latent, label], dim=1))
        hidden = nn.functional.leaky_relu(hidden, SLOPE).reshape(
            -1, hidden.shape[1] // math.prod(self.quarter_size), *self.quarter_size
        )
        hidden = nn.functional.interpolate(hidden, size=self.half_size, mode="nearest")
        hidden = nn.functional.leaky_relu(self.first(hidden), SLOPE)
        hidden = nn.functional.interpolate(hidden, size=(self.height, self.width), mode="nearest")
        hidden = nn.functional.leaky_relu(self.second(torch.cat([hidden, start], dim=1)), SLOPE)
        return torch.as_tensor(self.leave(hidden))

    def initialise(self, streams: KeyedStreams) -> None:
        """Draw the decoder's fan-in scaled weights from the keyed stream; its last layer starts at zero."""
        layers = [module for module in self.modules() if isinstance(module, nn.Linear | nn.Conv2d)]
        counts = [layer.weight.numel() for layer in layers]
        drawn = torch.split(streams.torch_normals(Purpose.GENERATOR_INIT, 0, sum(counts)), counts)
        with torch.no_grad():
            for layer, values in zip(layers, drawn, strict=True):
                gain = 0.0 if layer is self.leave else math.sqrt(2.0 / layer.weight[0].numel())
                layer.weight.copy_(values.reshape(layer.weight.shape) * gain)
                assert layer.bias is not None, "every layer has a bias"
                layer.bias.zero_()


class _Bounded(torch.autograd.Function):
    """See `bounded`."""

    @staticmethod
    def forward(context: torch.autograd.function.FunctionCtx, pixels: Tensor) -> Tensor:
        context.save_for_backward(pixels)
        return torch.clamp(pixels, 0.0, 1.0)

    @staticmethod
    def backward(context: torch.autograd.function.FunctionCtx, *gradients: Tensor) -> Tensor:
        (pixels,) = context.saved_tensors  # type: ignore[attr-defined]
        (gradient,) = gradients
        outwards = ((pixels < 0.0) & (gradient > 0.0)) | ((pixels > 1.0) & (gradient < 0.0))
        return torch.where(outwards, 0.0, gradient)


def bounded(pixels: Tensor) -> Tensor:
    """Clamp to [0, 1], with a gradient that lets descent move outside pixels back inside.

    A plain clamp has gradient zero outside: a pixel that one bad step makes black in every image would stay black.
    """
    if not pixels.requires_grad:
        return torch.clamp(pixels, 0.0, 1.0)
    return torch.as_tensor(_Bounded.apply(pixels))  # type: ignore[no-untyped-call]


def _float(values: Floats) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))


def _pixel_places(height: int, width: int) -> Tensor:
    """Pixel centres as (x, y, 1), from -1 to 1 across the picture; (height * width, 3)."""
    across = (2.0 * torch.arange(width) + 1.0) / width - 1.0
    down = (2.0 * torch.arange(height) + 1.0) / height - 1.0
    places = [across.repeat(height), down.repeat_interleave(width), torch.ones(height * width)]
    return torch.stack(places, dim=1)
