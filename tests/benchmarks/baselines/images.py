"""Small private images for the baselines' tests."""

import numpy as np

from models.encoding import PrivateImages
from tests.benchmarks.images.pictures import squares


def private(count: int, *, units: int | None = None, seed: int = 0, classes: int = 4) -> PrivateImages:
    """Squares, several to a unit where `units` is below `count`."""
    made = squares(count, seed=seed, classes=classes)
    owners = np.arange(count, dtype=np.int64) % (units or count)
    return PrivateImages(pixels=made.pixels, labels=made.labels, unit_of_record=owners, classes=classes)


def without(images: PrivateImages, unit: int) -> PrivateImages:
    """The neighbour that lacks one unit."""
    kept = images.unit_of_record != unit
    owners = np.unique(images.unit_of_record[kept], return_inverse=True)[1].astype(np.int64)
    return PrivateImages(
        pixels=images.pixels[kept], labels=images.labels[kept], unit_of_record=owners, classes=images.classes
    )
