"""The noisy statistics of images that the anchor releases; all of them may be published."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sums:
    """Noisy counts with noisy sums of clipped vectors.

    Args:
        counts: (classes,) or (classes, cells), in records.
        sums: (classes, pixels) in the order height, width, channel, or (classes, cells, dimensions).
        origin: of the class means, what was subtracted from every pixel; used where the plan does not fix it.
    """

    counts: Floats
    sums: Floats
    origin: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SecondMoments:
    """Noisy second moments of clipped vectors.

    Args:
        products: (features, features), or (classes, cells, 1 + d, 1 + d) with the leading number first; symmetric.
        spread: (classes, cells) sums of squared distances to the cell's centre, in units of their reach; empty without cells.
    """

    products: Floats
    spread: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImageMoments:
    """All releases of the anchor of images.

    Args:
        means: class counts and sums of clipped images.
        basis: second moments of clipped residuals in low frequencies.
        centres: (classes, cells, dimensions) centres of the cells, in 2^-12 of a pixel's range; post-processing of releases.
        moments: moments of every cell of every class, in the basis.
    """

    means: Sums
    basis: SecondMoments
    centres: Floats
    moments: SecondMoments

    def tensors(self) -> dict[str, Tensor]:
        """The tensors, for a checkpoint."""
        parts = {
            "counts": self.means.counts,
            "sums": self.means.sums,
            "basis": self.basis.products,
            "centres": self.centres,
            "products": self.moments.products,
            "spread": self.moments.spread,
            "origin": np.array([self.means.origin]),
        }
        return {name: torch.from_numpy(values) for name, values in parts.items()}

    @classmethod
    def restore(cls, tensors: dict[str, Tensor]) -> "ImageMoments":
        """Read the result of `tensors`."""
        parts = {name: tensor.numpy() for name, tensor in tensors.items()}
        # A checkpoint of an earlier version lacks the origin; its plan fixes it.
        origin = float(parts["origin"][0]) if "origin" in parts else 0.0
        return cls(
            means=Sums(counts=parts["counts"], sums=parts["sums"], origin=origin),
            basis=SecondMoments(products=parts["basis"], spread=np.zeros(0)),
            centres=parts["centres"],
            moments=SecondMoments(products=parts["products"], spread=parts["spread"]),
        )
