"""Small pictures for tests: a bright square whose place is the class."""

import numpy as np

from benchmarks.images.datasets import Pictures


def squares(count: int, *, seed: int = 0, classes: int = 4, side: int = 16) -> Pictures:
    """Noise with a bright square in the corner that the label names; classes at most 4."""
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 60, (count, side, side, 1))
    labels = rng.permutation(count) % classes
    half = side // 2
    for corner in range(classes):
        down, right = half * (corner // 2), half * (corner % 2)
        bright = rng.integers(120, 256, (int((labels == corner).sum()), half, half, 1))
        pixels[labels == corner, down : down + half, right : right + half] = bright
    return Pictures(pixels=pixels.astype(np.uint8), labels=labels.astype(np.int16))
