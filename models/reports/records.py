"""Records in the form that a utility report compares: codes to be counted, and the features of a classifier.

Private and synthetic records are treated alike. Everything is computed per record in integers, so no record changes a
bit of another's numbers. For an image with values x from 0 to 255

    brightness   floor(32 mean(x) / 256)
    detail       floor(2 sqrt(mean of |x - the next x of the row, or of the column, in the same channel|))

and the features are its values, added up over squares where a side is longer than 32.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from core.plan.domain.codec import Codes
from core.plan.utility_reports.columns import STEPS
from models.encoding import PrivateImages, PrivateTable

LONGEST_SIDE: Final = 32
"""Longest side of a classifier's image; longer ones are reduced by a whole factor."""
_SHADES: Final = 256
_AT_ONCE: Final = 1024
_VALUES_AT_ONCE: Final = 2**22

Pixels = npt.NDArray[np.uint8]
Coarse = npt.NDArray[np.uint8 | np.uint16]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Records:
    """Rows of a table, or images.

    Args:
        codes: (records, columns) of what can be measured (`core.plan.utility_reports.columns`).
        pixels: (records, height, width, channels) values added up over squares where a side is longer than
            `LONGEST_SIDE`; None of rows.
    """

    codes: Codes
    pixels: Coarse | None = None

    @classmethod
    def of(cls, private: PrivateTable | PrivateImages) -> Self:
        """Private records; only the counting of `models.reports.utility` may read them."""
        if isinstance(private, PrivateTable):
            return cls(codes=private.codes)
        return cls.of_images(private.pixels, private.labels, labelled=private.classes > 0)

    @classmethod
    def of_images(cls, pixels: Pixels, labels: npt.NDArray[np.int16], *, labelled: bool) -> Self:
        """Images with their labels.

        Args:
            pixels: (images, height, width, channels).
            labels: (images,) codes.
            labelled: whether the domain has any.
        """
        at_once = max(1, _VALUES_AT_ONCE // max(1, math.prod(pixels.shape[1:])))
        pieces = [pixels[first : first + at_once] for first in range(0, len(pixels), at_once)]
        facts = np.concatenate([np.empty((0, 2), np.int16), *map(_facts, pieces)])
        return cls(
            codes=np.column_stack([labels, facts]) if labelled else facts,
            pixels=pixels
            if max(pixels.shape[1:3]) <= LONGEST_SIDE
            else np.concatenate([_coarse(pixels[:0]), *map(_coarse, pieces)]),
        )

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Concatenate at least one part of records of one kind."""
        pixels = [part.pixels for part in parts if part.pixels is not None]
        return cls(
            codes=np.concatenate([part.codes for part in parts]),
            pixels=np.concatenate(pixels) if pixels else None,
        )

    def __len__(self) -> int:
        return len(self.codes)

    def part(self, first: int, end: int) -> "Records":
        """The records from one to before another."""
        pixels = None if self.pixels is None else self.pixels[first:end]
        return Records(codes=self.codes[first:end], pixels=pixels)

    def parts(self) -> Iterable["Records"]:
        """All records, in small parts."""
        return (self.part(first, first + _AT_ONCE) for first in range(0, len(self), _AT_ONCE))

    def features(self, *, without: Sequence[int]) -> npt.NDArray[np.float32]:
        """The features from which a column is predicted: the image, or the columns without some; (records, features)."""
        if self.pixels is None:
            return np.delete(self.codes, without, axis=1).astype(np.float32)
        return self.pixels.reshape(len(self), math.prod(self.pixels.shape[1:])).astype(np.float32)


def _facts(pixels: Pixels) -> Codes:
    """(images, 2) brightness and detail."""
    values = pixels[0].size
    _, height, width, channels = pixels.shape
    neighbours = channels * (height * (width - 1) + (height - 1) * width)
    bright = STEPS * pixels.sum(axis=(1, 2, 3), dtype=np.int64) // (_SHADES * values)
    whole = pixels.astype(np.int16)
    steps = sum(np.abs(np.diff(whole, axis=axis)).sum(axis=(1, 2, 3), dtype=np.int64) for axis in (1, 2))
    detail = np.floor(2 * np.sqrt(steps / max(1, neighbours)))
    return np.column_stack([bright, detail]).astype(np.int16)


def _coarse(pixels: Pixels) -> Coarse:
    """Values added up over squares, at the ends over parts of them; at most 64 values of 255, so they fit 16 bits."""
    factor = -(-max(pixels.shape[1:3]) // LONGEST_SIDE)
    rows = np.add.reduceat(pixels, np.arange(0, pixels.shape[1], factor), axis=1, dtype=np.uint16)
    return np.add.reduceat(rows, np.arange(0, pixels.shape[2], factor), axis=2, dtype=np.uint16)
