"""Small private pictures for tests of the image anchor."""

import numpy as np

from core.plan.images.anchor import ImageAnchorPlan
from models.encoding import PrivateImages

SHAPE = (9, 8, 1)


def pictures(
    *,
    count: int = 300,
    units: int | None = None,
    classes: int = 3,
    shape: tuple[int, int, int] = SHAPE,
    seed: int = 0,
) -> PrivateImages:
    """A bright bar on noise, at a place by its class; units of several pictures where `units` is given."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, max(classes, 1), count).astype(np.int16)
    pixels = rng.integers(0, 60, (count, *shape))
    width = rng.integers(1, 4, count)
    for index in range(count):
        pixels[index, :, labels[index] : labels[index] + width[index]] += 150
    owner = np.arange(count) if units is None else rng.integers(0, units, count)
    _, unit_of_record = np.unique(owner, return_inverse=True)
    return PrivateImages(
        pixels=pixels.astype(np.uint8),
        labels=labels,
        unit_of_record=unit_of_record.astype(np.int64),
        classes=classes,
    )


def taken(images: PrivateImages, kept: np.ndarray) -> PrivateImages:
    """Some of the pictures, in the given order; units are numbered anew."""
    _, units = np.unique(images.unit_of_record[kept], return_inverse=True)
    return PrivateImages(
        pixels=images.pixels[kept],
        labels=images.labels[kept],
        unit_of_record=units.astype(np.int64),
        classes=images.classes,
    )


WAYS: dict[str, dict[str, object]] = {
    "black": {"brightness_noise_multiplier": None},
    "grey": {"brightness_noise_multiplier": None, "about_grey": True},
    "brightness": {},
}
"""Members of `small_plan` that say what images are summed about: of the oldest plans, of older ones, of today's."""


def small_plan(**numbers: object) -> ImageAnchorPlan:
    """A plan of a few dimensions and two cells a class."""
    chosen: dict[str, object] = {
        "means_noise_multiplier": 2.0,
        "basis_noise_multiplier": 3.0,
        "cells_noise_multiplier": 4.0,
        "moments_noise_multiplier": 1.5,
        "frequencies": 5,
        "dimensions": 6,
        "cells": 2,
        "rounds": 1,
        "image_norm": 3.0,
        "residual_norm": 1.0,
        "cell_norm": 0.8,
        "brightness_noise_multiplier": 2.5,
    }
    return ImageAnchorPlan(**(chosen | numbers))  # type: ignore[arg-type]
