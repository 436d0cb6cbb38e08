"""Exact sums over private images, one pass per release of the anchor; independent of the order of records and chunks."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from core.plan.images.anchor import MOMENT_COUNT_WEIGHT, SPREAD_REACH, ImageAnchorPlan
from models.encoding import PrivateImages
from models.images.exact import (
    BELOW,
    CHUNK,
    CHUNK_PIXELS,
    COSINE_BITS,
    RESIDUAL_BITS,
    Floats,
    clipped,
    low_frequencies,
    nearest,
    unit_shares,
)

GRID = 2.0**-20
"""Public grid of counts, products and their noise; sums of pixels use it over `pixel_steps`."""
_SHARE_BITS = 20


def pixel_steps(plan: ImageAnchorPlan) -> float:
    """Steps from black to white, such that an image less the origin is whole steps."""
    return 510.0 if plan.about_grey else 255.0


class ImageSums:
    """Private images with exact sums over them. Only `models/images/anchor.py` may use this class.

    Args:
        images: private.
    """

    def __init__(self, images: PrivateImages, plan: ImageAnchorPlan) -> None:
        self._plan = plan
        self.pixels, self.labels = images.pixels, images.labels
        self.classes = max(images.classes, 1)
        self.shares = unit_shares(images.unit_of_record)
        height, width, channels = images.shape
        self.pixel_count = height * width * channels
        self.features = plan.frequencies**2 * channels
        # float32 represents these integers exactly: low frequencies are below 2^(12 + 9), like all norms of images.
        self._residuals = np.empty((len(self.labels), self.features), dtype=np.float32)
        for part in self._chunks():
            self._residuals[part] = low_frequencies(self.pixels[part], plan.frequencies)
        self._inside = np.empty((0, plan.dimensions), dtype=np.float32)

    def centre(self, means: Floats) -> None:
        """Subtract noisy class means, (classes, features) integers times 2^12."""
        self._residuals -= means.astype(np.float32)[self.labels]

    def project(self, directions: Floats) -> None:
        """Keep only the residuals' components in the basis; (features, dimensions) integers times 2^14."""
        self._inside = np.empty((len(self.labels), directions.shape[1]), dtype=np.float32)
        for part in self._chunks():
            exact = self._residuals[part].astype(np.float64) @ directions
            self._inside[part] = np.rint(exact * 2.0**-COSINE_BITS)
        self._residuals = np.empty((0, 0), dtype=np.float32)

    def brightness_sums(self) -> tuple[Floats, Floats]:
        """Exact count (1,) of all records and sum (1, 1) of the means of their pixels less 1/2."""
        count = total = 0.0
        for part in self._chunks():
            # Integers below 2^53: exact, whatever records are summed with it.
            bright = self.pixels[part].reshape(-1, self.pixel_count).sum(axis=1, dtype=np.int64)
            share = self.shares[part] * 2.0**_SHARE_BITS
            away = bright.astype(np.float64) / (255.0 * self.pixel_count) - 0.5
            total += np.trunc(share * away * BELOW).sum()
            count += np.floor(share).sum()
        return np.array([count]) * 2.0**-_SHARE_BITS, np.array([[total]]) * GRID

    def mean_sums(self, origin: float) -> tuple[Floats, Floats]:
        """Exact class counts (classes,) in records and sums of clipped images less the origin (classes, pixels).

        Args:
            origin: public, a whole number of `pixel_steps`.
        """
        counts, sums = np.zeros(self.classes), np.zeros((self.classes, self.pixel_count))
        steps = pixel_steps(self._plan)
        for part in self._chunks():
            pixels = self.pixels[part].reshape(-1, self.pixel_count) * (steps / 255.0)
            pixels -= np.rint(steps * origin)
            norms = np.sqrt(np.einsum("ij,ij->i", pixels, pixels))
            factor = np.minimum(steps * self._plan.image_norm / np.maximum(norms, 1.0), 1.0)
            share = self.shares[part] * 2.0**_SHARE_BITS
            weights = np.zeros((len(pixels), self.classes))
            weights[np.arange(len(pixels)), self.labels[part]] = np.floor(share * factor * BELOW)
            sums += weights.T @ pixels
            counts += np.bincount(self.labels[part], weights=np.floor(share), minlength=self.classes)
        return counts * 2.0**-_SHARE_BITS, sums * (2.0**-_SHARE_BITS / steps)

    def basis_sums(self) -> Floats:
        """Exact second moments of clipped residuals, (features, features)."""
        total = np.zeros((self.features, self.features))
        for part in self._chunks():
            short = clipped(
                self._residuals[part].astype(np.float64), self._plan.residual_norm, self.shares[part]
            )
            total += short.T @ short
        return total * GRID

    def cell_sums(self, centres: Floats) -> tuple[Floats, Floats]:
        """Exact counts (classes, cells) and sums (classes, cells, dimensions) of clipped residuals."""
        counts = np.zeros(centres.shape[:2])
        sums = np.zeros(centres.shape)
        for index, rows in self._by_class():
            inside = self._inside[rows].astype(np.float64)
            cell = nearest(inside, centres[index])
            root = np.sqrt(self.shares[rows])
            # `clipped` applies the root of a share; this second factor completes the share.
            short = np.trunc(
                clipped(inside, self._plan.residual_norm, self.shares[rows]) * (root[:, None] * 2.0**10)
            )
            whole = np.floor(self.shares[rows] * 2.0**_SHARE_BITS)
            for number in range(centres.shape[1]):
                chosen = cell == number
                counts[index, number] = whole[chosen].sum()
                sums[index, number] = short[chosen].sum(axis=0)
        return counts * 2.0**-_SHARE_BITS, sums * GRID

    def moment_sums(self, centres: Floats) -> tuple[Floats, Floats]:
        """Exact augmented second moments (classes, cells, 1 + d, 1 + d), squared distances (classes, cells).

        Distances are in units of their reach, so each record adds at most one.
        """
        plan = self._plan
        size = plan.dimensions + 1
        products = np.zeros((*centres.shape[:2], size, size))
        spread = np.zeros(centres.shape[:2])
        reach = SPREAD_REACH * plan.cell_norm**2 * 2.0 ** (2 * RESIDUAL_BITS)
        for index, rows in self._by_class():
            inside = self._inside[rows].astype(np.float64)
            cell = nearest(inside, centres[index])
            inside -= centres[index][cell]
            squares = np.einsum("ij,ij->i", inside, inside)
            far = np.floor(np.minimum(squares / reach, 1.0) * self.shares[rows] * 2.0**_SHARE_BITS)
            lead = MOMENT_COUNT_WEIGHT * plan.cell_norm
            short = clipped(inside, plan.cell_norm, self.shares[rows], lead=lead, squares=squares)
            for number in range(centres.shape[1]):
                chosen = cell == number
                products[index, number] = short[chosen].T @ short[chosen]
                spread[index, number] = far[chosen].sum()
        return products * GRID, spread * 2.0**-_SHARE_BITS

    def _by_class(self) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
        for index in range(self.classes):
            yield index, np.flatnonzero(self.labels == index)

    def _chunks(self) -> Iterator[slice]:
        count, size = len(self.labels), max(1, min(CHUNK, CHUNK_PIXELS // self.pixel_count))
        return (slice(first, min(first + size, count)) for first in range(0, count, size))
