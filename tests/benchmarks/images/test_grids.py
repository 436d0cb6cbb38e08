from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.images.datasets import Pictures
from benchmarks.images.grids import GAP, write_grid


def test_every_class_has_its_first_images_in_order(tmp_path: Path) -> None:
    labels = np.array([1, 0, 1, 0, 1, 0], dtype=np.int16)
    pixels = np.arange(10, 16, dtype=np.uint8)[:, None, None, None] * np.ones((1, 3, 5, 1), dtype=np.uint8)
    write_grid(Pictures(pixels=pixels, labels=labels), tmp_path / "grid.png", classes=2, rows=1, columns=4)
    picture = np.asarray(Image.open(tmp_path / "grid.png"))
    assert picture.shape == (3 + GAP, 4 * (5 + GAP))
    cells = picture.reshape(3 + GAP, 4, 5 + GAP).swapaxes(0, 1)
    assert [int(cell[GAP:, GAP:].min()) for cell in cells] == [11, 13, 10, 12]
    assert [int(cell[GAP:, GAP:].max()) for cell in cells] == [11, 13, 10, 12]
    assert not cells[:, :GAP].any()
    assert not cells[:, :, :GAP].any()


def test_colours_are_kept(tmp_path: Path) -> None:
    pixels = np.zeros((2, 2, 2, 3), dtype=np.uint8)
    pixels[1, ..., 2] = 200
    made = Pictures(pixels=pixels, labels=np.array([0, 1], dtype=np.int16))
    write_grid(made, tmp_path / "grid.png", classes=2, rows=2, columns=1)
    picture = np.asarray(Image.open(tmp_path / "grid.png"))
    assert picture[-1, -1].tolist() == [0, 0, 200]
    assert not picture[: 2 + GAP].any()
