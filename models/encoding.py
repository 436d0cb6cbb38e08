"""Private rows in coded form, as a synthesizer sees them, and the cells of their one-hot form."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from core.plan.domain.codec import Codes
from core.plan.domain.columns.kinds import OrderedColumn
from core.plan.domain.table import TableDomain

Forbidden = Callable[[], Mapping[tuple[int, int], npt.NDArray[np.bool_]]]
"""Computes (codes, codes) masks of the cells of two columns that public rules leave empty, by the pair of columns."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PrivateTable:
    """Coded private records. They may leave a synthesizer only through a charged mechanism.

    Args:
        codes: (records, columns) integers, each below its column's cardinality.
        unit_of_record: (records,) int64, the privacy unit of every record; values 0..units-1.
        target_index: the column that is predicted from the others, or None; public.
        ordered: whether the codes of each column have an order in which neighbours are alike; public. Empty if none do.
        record_bound: how many records a unit has at most, each of which counts fully; None where a unit may have any
            number, which count one together; public.
        alone: codes of each column that are never merged with others: special and missing values; public. Empty if there are none.
        forbidden: computes the cells of two columns that the declared rules leave empty; public.
    """

    codes: Codes
    unit_of_record: npt.NDArray[np.int64]
    cardinalities: tuple[int, ...]
    target_index: int | None
    ordered: tuple[bool, ...] = ()
    record_bound: int | None = None
    alone: tuple[tuple[int, ...], ...] = ()
    forbidden: Forbidden = dict

    def __post_init__(self) -> None:
        if not self.ordered:
            object.__setattr__(self, "ordered", (False,) * len(self.cardinalities))
        if not self.alone:
            object.__setattr__(self, "alone", ((),) * len(self.cardinalities))
        assert len(self.alone) == len(self.cardinalities), "every column says which of its codes stay alone"
        assert len(self.ordered) == len(self.cardinalities), "every column is ordered or not"
        assert self.codes.ndim == 2 and self.codes.shape[1] == len(self.cardinalities), "one code per column"  # noqa: PLR2004, PT018
        assert self.unit_of_record.shape == (len(self.codes),), "every record has a unit"
        assert self.target_index is None or 0 <= self.target_index < len(self.cardinalities), "a known target"
        if self.record_bound is not None:
            held = np.bincount(self.unit_of_record, minlength=1).max()
            assert self.record_bound >= max(1, held), "no unit has more records than the bound"
        if len(self.codes):
            assert (self.codes >= 0).all(), "codes are not negative"
            assert (self.codes.max(axis=0) < np.array(self.cardinalities)).all(), "codes are in their domain"

    @property
    def units(self) -> int:
        """Number of privacy units; private."""
        return int(self.unit_of_record.max(initial=-1)) + 1

    @property
    def cells(self) -> int:
        """Width of the one-hot form; public."""
        return sum(self.cardinalities)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PrivateImages:
    """Private images. They may leave a synthesizer only through a charged mechanism.

    Args:
        pixels: (images, height, width, channels) uint8.
        labels: (images,) int16, each below `classes`; all 0 where there are none.
        unit_of_record: (images,) int64, the privacy unit of every image; values 0..units-1.
        classes: declared labels, 0 where images have none; public. The shape of an image is public too.
    """

    pixels: npt.NDArray[np.uint8]
    labels: npt.NDArray[np.int16]
    unit_of_record: npt.NDArray[np.int64]
    classes: int

    def __post_init__(self) -> None:
        assert self.pixels.ndim == 4 and self.pixels.dtype == np.uint8, "images of 8 bits a channel"  # noqa: PLR2004, PT018
        assert self.labels.shape == self.unit_of_record.shape == (len(self.pixels),), (
            "every image has a label and a unit"
        )
        assert not len(self.labels) or 0 <= self.labels.min() <= self.labels.max() < max(self.classes, 1), (
            "labels are in their domain"
        )

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels of every image; public."""
        _, height, width, channels = self.pixels.shape
        return height, width, channels

    @property
    def units(self) -> int:
        """Number of privacy units; private."""
        return int(self.unit_of_record.max(initial=-1)) + 1


def block_starts(cardinalities: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """First cell of every column's block, and the number of cells at the end; shape (columns + 1,)."""
    return np.concatenate([[0], np.cumsum(cardinalities, dtype=np.int64)]).astype(np.int64)


def cells_of(codes: npt.NDArray[np.integer], cardinalities: tuple[int, ...]) -> Tensor:
    """The cells of coded records that are one in their one-hot form: (records, columns) int64."""
    return torch.from_numpy(codes.astype(np.int64) + block_starts(cardinalities)[:-1])


def codes_alone(domain: TableDomain) -> tuple[tuple[int, ...], ...]:
    """Return the codes of each ordered column that are outside its order: special values and missing ones."""
    found: list[tuple[int, ...]] = []
    for column, ordered in zip(domain.coded, domain.ordered, strict=True):
        specials = range(len(column.specials)) if isinstance(column, OrderedColumn) else range(0)
        missing = () if column.null_code is None or not ordered else (column.null_code,)
        found.append((*specials, *missing))
    return tuple(found)
