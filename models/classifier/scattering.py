"""The scattering transform of images: fixed wavelets, nothing learnt, so that it costs no privacy.

Bruna and Mallat 2013, "Invariant Scattering Convolution Networks": moduli of wavelet coefficients, averaged locally. With
`J = 2` scales and `L = 8` angles a channel has 1 + 16 + 64 = 81 planes (orders 0, 1 and 2), each a quarter as high and wide as
the image. Tramer and Boneh 2021 (arXiv 2011.11660) train a linear layer on them by DP-SGD. Here group normalisation, which reads
one image alone, takes the place of means that would have to be estimated. Filters are cut off at 2.5 standard deviations, so
that every step is a convolution, in torch as in ONNX (`models.classifier.classifier_onnx`).

An image's features must have the same bits whatever other images are transformed with it, or one image more would move the
features of others. So every convolution has `MICROBATCH` images, and `Scattering` checks on the machine at hand that the place
of an image makes no difference (`models.critic.placement_invariance` says why).
"""

import math
from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, pad

from models.dp.errors import UnevenRounding

ANGLES: Final = 8
PLANES: Final = 1 + 2 * ANGLES + ANGLES * ANGLES
"""Planes of one channel."""
REDUCTION: Final = 4
"""An image is so many times as high and wide as a plane: 2**J."""
GROUPS: Final = 27
"""Groups of a channel's planes that are normalised together (2011.11660, appendix)."""
MICROBATCH: Final = 16
MARGIN: Final = 4
"""Pixels by which an image is continued at every edge: the reach of the average."""
TINY: Final = 1e-5
"""Added to a group's variance."""
_REACHES: Final = (4, 8)
_SPREAD: Final = 1.6
"""Standard deviation of the average, in pixels."""


class ScatteringTransform(nn.Module):
    """The transform of images of one shape as a module without parameters: its filters are buffers.

    Args:
        shape: height, width and channels.
    """

    def __init__(self, shape: tuple[int, int, int]) -> None:
        super().__init__()
        height, width, self.channels = shape
        self.rows, self.columns = -(-height // REDUCTION), -(-width // REDUCTION)
        self.edges = (MARGIN, MARGIN + -width % REDUCTION, MARGIN, MARGIN + -height % REDUCTION)
        self.features = self.channels * PLANES * self.rows * self.columns
        for name, kernel in filters().items():
            self.register_buffer(name, kernel)
        self.fine: Tensor
        self.coarse: Tensor
        self.average: Tensor
        self.average_of_halved: Tensor

    def forward(self, pixels: Tensor) -> Tensor:
        """(images, features) of (images, channels, height, width) in [0, 1]: normalised by groups, of length about one."""
        images = pixels.shape[0]
        planes = pad(pixels.flatten(0, 1).unsqueeze(1), self.edges, mode="replicate")
        fine = modulus(conv2d(planes, self.fine, padding=_REACHES[0]))
        coarse = modulus(conv2d(planes, self.coarse, padding=_REACHES[1], stride=2))
        inner = fine.flatten(0, 1).unsqueeze(1)
        both = modulus(conv2d(inner, self.coarse, padding=_REACHES[1], stride=2))
        orders = (
            averaged(planes, self.average, REDUCTION),
            averaged(fine, self.average, REDUCTION),
            averaged(coarse, self.average_of_halved, REDUCTION // 2),
            averaged(both.reshape(len(planes), -1, *both.shape[2:]), self.average_of_halved, REDUCTION // 2),
        )
        groups = torch.cat(orders, dim=1).reshape(images * self.channels, GROUPS, -1)
        centred = groups - groups.mean(dim=2, keepdim=True)
        scaled = centred / (centred.square().mean(dim=2, keepdim=True) + TINY).sqrt()
        return scaled.reshape(images, -1) / math.sqrt(self.features)


def modulus(planes: Tensor) -> Tensor:
    """Moduli of complex planes: the first half of (n, 2 angles, rows, columns) is their real parts."""
    real, imaginary = planes.chunk(2, dim=1)
    return (real.square() + imaginary.square()).sqrt()


def averaged(planes: Tensor, kernel: Tensor, stride: int) -> Tensor:
    """Local averages of every plane of (n, planes, rows, columns)."""
    made = conv2d(planes.flatten(0, 1).unsqueeze(1), kernel, stride=stride)
    return made.reshape(*planes.shape[:2], *made.shape[2:])


class Scattering:
    """Makes the features of private images, a fixed number of images at a time.

    Args:
        shape: height, width and channels.

    Raises:
        UnevenRounding: this machine rounds an image differently by its place among others.
    """

    def __init__(self, shape: tuple[int, int, int]) -> None:
        self.transform = ScatteringTransform(shape)
        self._shape = shape
        self._require_placement_invariance()

    @torch.no_grad()
    def of(self, pixels: npt.NDArray[np.uint8]) -> Tensor:
        """(images, features) float16 of (images, height, width, channels)."""
        made = torch.empty(len(pixels), self.transform.features, dtype=torch.float16)
        batch = torch.zeros(MICROBATCH, *self._shape, dtype=torch.uint8)
        for first in range(0, len(pixels), MICROBATCH):
            piece = torch.from_numpy(pixels[first : first + MICROBATCH].copy())
            batch[: len(piece)] = piece
            batch[len(piece) :] = 0
            made[first : first + MICROBATCH] = self._of_batch(batch)[: len(piece)]
        return made

    def _of_batch(self, batch: Tensor) -> Tensor:
        made: Tensor = self.transform(batch.permute(0, 3, 1, 2).to(torch.float32) / 255.0)
        return made

    @torch.no_grad()
    def _require_placement_invariance(self) -> None:
        numbers = torch.arange(math.prod(self._shape), dtype=torch.float64).sin().add(1.0).mul(127.0)
        made = self._of_batch(numbers.to(torch.uint8).expand(MICROBATCH, -1).reshape(-1, *self._shape))
        if not bool((made == made[:1]).all()):
            raise UnevenRounding


def filters() -> dict[str, Tensor]:
    """The kernels by name: of both scales (2 angles, 1, side, side), real parts first, and of the averages (1, 1, side, side)."""
    angles = [number * math.pi / ANGLES for number in range(ANGLES)]
    kernels = {}
    for name, scale in (("fine", 0), ("coarse", 1)):
        waves = np.stack([_morlet(scale, angle) for angle in angles])
        kernels[name] = np.concatenate([waves.real, waves.imag])[:, None]
    for name, step in (("average", 1), ("average_of_halved", 2)):
        bell = np.exp(-((np.arange(-MARGIN, MARGIN + 1, step) / _SPREAD) ** 2) / 2.0)
        kernels[name] = np.outer(bell, bell)[None, None] / bell.sum() ** 2
    return {name: torch.from_numpy(kernel.astype(np.float32)) for name, kernel in kernels.items()}


def _morlet(scale: int, angle: float) -> npt.NDArray[np.complex128]:
    """A wave of 3/4 pi / 2**scale under a bell of 0.8 2**scale pixels, twice as wide across; its mean is made zero."""
    slant, spread, frequency = 4.0 / ANGLES, 0.8 * 2.0**scale, 0.75 * math.pi / 2.0**scale
    reach = _REACHES[scale]
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    along, across = x * math.cos(angle) + y * math.sin(angle), y * math.cos(angle) - x * math.sin(angle)
    bell = np.exp(-(along**2 + (slant * across) ** 2) / (2.0 * spread**2))
    wave = bell * np.exp(1j * frequency * along)
    made: npt.NDArray[np.complex128] = (
        (wave - wave.sum() / bell.sum() * bell) * slant / (2.0 * math.pi * spread**2)
    )
    return made
