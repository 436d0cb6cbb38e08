"""Random Fourier features of images in whole numbers: the same on every machine and in every batch.

For frequencies `w_1..w_m` from a normal distribution of standard deviation `1 / bandwidth`, the features

    f(x) = (cos w_1 x, sin w_1 x, ..., cos w_m x, sin w_m x) / sqrt(m)

have norm one and their inner products approach `exp(-|x - y|^2 / (2 bandwidth^2))` (Rahimi and Recht 2007). Frequencies are
rounded to whole multiples of 2**-24 turns a grey level, so that the phases of 8-bit pixels are exact; cosines come from a
table of 2**16 phases, rounded towards zero to multiples of 2**-14. A feature is then an integer that depends on its
own image and on nothing else, and the norm is at most one by construction.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

TABLE_BITS = 14
"""Features are whole multiples of 2**-14 / sqrt(frequencies)."""
_PHASE_BITS = 24  # of a turn, for frequencies
_INDEX_BITS = 16  # of a turn, for the table
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def _table() -> npt.NDArray[np.int16]:
    angles = np.arange(2**_INDEX_BITS) * (2.0 * math.pi / 2**_INDEX_BITS)
    pairs = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    # The last factor covers the rounding of the cosines themselves.
    return np.trunc(pairs * (2.0**TABLE_BITS * (1.0 - 2.0**-40))).astype(np.int16)


_COSINES_AND_SINES = _table()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FourierFeatures:
    """Public frequencies.

    Args:
        steps: (values, frequencies) int64, multiples of 2**-24 turns for every grey level of a pixel.
    """

    steps: Integers

    @classmethod
    def from_normals(cls, normals: Floats, *, bandwidth: float) -> "FourierFeatures":
        """Frequencies of a Gaussian kernel.

        Args:
            normals: (values, frequencies) standard normal numbers.
            bandwidth: standard deviation of the kernel, where pixels are in [0, 1].
        """
        turns = normals / (bandwidth * 2.0 * math.pi * 255.0)
        steps = np.rint(turns * 2.0**_PHASE_BITS).astype(np.int64)
        if steps.size and int(np.abs(steps).max()) * 255 * len(steps) >= 2**53:
            raise ValueError("the bandwidth is too small for exact phases")
        return cls(steps=steps)

    @property
    def count(self) -> int:
        """Numbers of one feature vector: two for every frequency."""
        return 2 * int(self.steps.shape[1])

    @property
    def unit(self) -> float:
        """Value of one step of the integers."""
        return 2.0**-TABLE_BITS / math.sqrt(self.steps.shape[1])

    def integers(self, pixels: npt.NDArray[np.uint8]) -> npt.NDArray[np.int16]:
        """Features in units of `unit`: (images, height, width, channels) uint8 to (images, count) int16."""
        # Whole numbers below 2**53: the products are exact in float64 in any order.
        phases = pixels.reshape(len(pixels), -1).astype(np.float64) @ self.steps.astype(np.float64)
        index = (phases.astype(np.int64) >> (_PHASE_BITS - _INDEX_BITS)) & (2**_INDEX_BITS - 1)
        found: npt.NDArray[np.int16] = _COSINES_AND_SINES[index].reshape(len(pixels), self.count)
        return found

    def smooth(self, images: Tensor) -> Tensor:
        """The same features with a gradient: (images, values) float32 in [0, 1], channels last, to (images, count)."""
        radians = torch.from_numpy(self.steps * (255.0 * 2.0 * math.pi / 2.0**_PHASE_BITS)).to(images.dtype)
        phases = images @ radians
        pairs = torch.stack([torch.cos(phases), torch.sin(phases)], dim=2)
        return pairs.flatten(1) / math.sqrt(self.steps.shape[1])
