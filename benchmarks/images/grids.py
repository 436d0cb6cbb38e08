"""A picture of some made images of every class, so that a reader sees what a score stands for."""

from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.images.datasets import Pictures

GAP = 2
"""Pixels between two images."""


def write_grid(made: Pictures, path: Path, *, classes: int, rows: int, columns: int) -> None:
    """Write a PNG of the first images of every class, class after class from the top left.

    Args:
        made: in random order, so that the first ones are like the others.
        path: of the file.
        classes: of the labels.
        rows: of images.
        columns: of images; rows and columns have as many places for every class.
    """
    each = rows * columns // classes
    chosen = np.concatenate([np.flatnonzero(made.labels == label)[:each] for label in range(classes)])
    assert len(chosen) == rows * columns, "too few images of a class"
    cells = np.pad(made.pixels[chosen], ((0, 0), (GAP, 0), (GAP, 0), (0, 0)))
    height, width, channels = cells.shape[1:]
    whole = cells.reshape(rows, columns, height, width, channels).swapaxes(1, 2)
    picture = whole.reshape(rows * height, columns * width, channels)
    Image.fromarray(picture[..., 0] if channels == 1 else picture).save(path, optimize=True)
