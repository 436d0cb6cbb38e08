"""Real images of the benchmarks, with one fixed split.

* **MNIST, Fashion-MNIST**: as published, 60,000 training and 10,000 test images. The last 10,000 training images are held
  out for choosing anything.
* **faces**: 12,000 grey faces, the gender as their class. Copies of one picture (100) and the 4 faces without a gender are
  left out; the order is that of the SHA-256 of the pixels, which no label and no age enters. The first 2,000 are the
  test, the other 9,896 the training, of which the last 1,500 are held out. Some hundred faces have a near twin, another
  crop of the same picture, that may lie in another part; that flatters every row of the tables alike.

`load(name)` gives the final split (all training images, the test), to be scored once. `load(name, development=True)`
gives the training images without the held-out ones, and these as the test: all choices are made there.
"""

import csv
import gzip
import hashlib
import json
import lzma
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from benchmarks.datasets import HERE, data_folder
from core.plan.domain.images import ImageDomain
from models.encoding import PrivateImages

NAMES = ("mnist", "fashion_mnist", "faces")
HELD_OUT = {"mnist": 10_000, "fashion_mnist": 10_000, "faces": 1_500}
"""Images at the end of the training part that only `development` looks at."""
FACES_TEST = 2_000
_OPENERS: dict[str, Callable[[Path], IO[bytes]]] = {".gz": gzip.open, ".xz": lzma.open}  # type: ignore[dict-item]
_IDX_BYTES = {b"\x00\x00\x08\x01": 1, b"\x00\x00\x08\x03": 3}
"""Magic of the IDX format for unsigned bytes, and the number of dimensions."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pictures:
    """Images with their classes.

    Args:
        pixels: (images, height, width, channels) uint8.
        labels: (images,) int16 codes of the domain's labels.
    """

    pixels: npt.NDArray[np.uint8]
    labels: npt.NDArray[np.int16]

    def __len__(self) -> int:
        """Number of images."""
        return len(self.pixels)

    def take(self, which: slice | npt.NDArray[np.int64]) -> "Pictures":
        """Some of them."""
        return Pictures(pixels=self.pixels[which], labels=self.labels[which])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImageSet:
    """A real set of images, split into what is private and what scores.

    Args:
        name: one of `NAMES`.
        domain: declared, public.
        train: what a synthesizer learns from.
        test: what scores; never seen before.
        development: whether `test` is the held-out part of the training images.
    """

    name: str
    domain: ImageDomain
    train: Pictures
    test: Pictures
    development: bool

    @property
    def classes(self) -> int:
        """Number of labels."""
        return len(self.domain.labels)

    @property
    def scorer_half(self) -> Pictures:
        """Every other test image from the first on: the public half that trains the classifier of the scores.

        MNIST's test file has easier writers first, so halves by position would not be alike.
        """
        return self.test.take(slice(0, None, 2))

    @property
    def reference_half(self) -> Pictures:
        """The other test images, which no classifier of the scores has seen: what distances are measured to."""
        return self.test.take(slice(1, None, 2))

    def private(self) -> PrivateImages:
        """The training images as a synthesizer gets them, each its own privacy unit."""
        return PrivateImages(
            pixels=self.train.pixels,
            labels=self.train.labels,
            unit_of_record=np.arange(len(self.train), dtype=np.int64),
            classes=self.classes,
        )


def load(name: str, *, development: bool = False, folder: Path | None = None) -> ImageSet:
    """Load one of `NAMES`.

    Args:
        name: of the set.
        development: leave the test file alone and score on the held-out part of the training images.
        folder: where the data are; default UNDERSTUDY_DATA.
    """
    domain = ImageDomain.from_json(json.loads((HERE / "domains" / f"{name}.json").read_text()))
    train, test = (_faces if name == "faces" else _idx_pair)((folder or data_folder()) / name)
    if development:
        fitted = len(train) - HELD_OUT[name]
        train, test = train.take(slice(fitted)), train.take(slice(fitted, None))
    return ImageSet(name=name, domain=domain, train=train, test=test, development=development)


def read_idx(path: Path) -> npt.NDArray[np.uint8]:
    """Read an IDX file of unsigned bytes, compressed by gzip or xz.

    Raises:
        ValueError: it is not such a file, or its length differs from what its header says.
    """
    with _OPENERS[path.suffix](path) as file:
        content = file.read()
    dimensions = _IDX_BYTES.get(content[:4])
    if dimensions is None:
        raise ValueError("not an IDX file of unsigned bytes with one or three dimensions")
    shape = np.frombuffer(content, dtype=">u4", count=dimensions, offset=4).astype(int)
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * dimensions).reshape(shape)


def _idx_pair(folder: Path) -> tuple[Pictures, Pictures]:
    parts = []
    for part in ("train", "t10k"):
        (images,) = folder.glob(f"{part}-images-idx3-ubyte.*")
        (labels,) = folder.glob(f"{part}-labels-idx1-ubyte.*")
        parts.append(
            Pictures(pixels=read_idx(images)[..., None].copy(), labels=read_idx(labels).astype(np.int16))
        )
    return parts[0], parts[1]


def _faces(folder: Path) -> tuple[Pictures, Pictures]:
    with lzma.open(folder / "faces_32x32_gray.npy.xz") as file:
        pixels = np.load(file)[..., None]
    with gzip.open(folder / "faces_labels.csv.gz", "rt", encoding="utf-8", newline="") as lines:
        genders = [row["gender"] for row in csv.DictReader(lines)]
    by_digest: dict[str, int] = {}
    for index, gender in enumerate(genders):
        if gender:
            by_digest.setdefault(hashlib.sha256(pixels[index].tobytes()).hexdigest(), index)
    order = np.array([by_digest[digest] for digest in sorted(by_digest)])
    faces = Pictures(pixels=pixels[order], labels=np.array([int(genders[i]) for i in order], dtype=np.int16))
    return faces.take(slice(FACES_TEST, None)), faces.take(slice(FACES_TEST))
