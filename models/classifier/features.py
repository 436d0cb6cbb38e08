"""Features that a classifier reads of private records: numbers that follow from one record and public facts alone.

Pixels are scaled to [0, 1]; columns of a table are one-hot, with length one altogether; images may be replaced by their
scattering coefficients. All features stay in the memory of the training in a compact form, and become float64 a few at a time.
"""

import math
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from core.plan.private_models.plan import ModelPlan
from models.classifier.scattering import Scattering
from models.encoding import PrivateImages, PrivateTable, block_starts

Indices = npt.NDArray[np.int64]
PrivateRecords = PrivateTable | PrivateImages


class FeatureSource(Protocol):
    """The features of all records; private."""

    @property
    def width(self) -> int:
        """Numbers of one record; public."""
        ...

    def rows(self, records: Indices) -> Tensor:
        """(records, width) float64."""
        ...


class StoredFeatures:
    """Features that are kept as they are.

    Args:
        values: (records, width), of any type that float64 holds exactly.
        scale: public factor.
    """

    def __init__(self, values: Tensor, *, scale: float = 1.0) -> None:
        self._values, self._scale = values, scale

    @property
    def width(self) -> int:
        """Numbers of one record; public."""
        return self._values.shape[1]

    def rows(self, records: Indices) -> Tensor:
        """(records, width) float64."""
        return self._values[torch.from_numpy(records)].double() * self._scale


class OneHotFeatures:
    """The cells of a table's columns but the target: one over the root of their number where a record has the cell."""

    def __init__(self, table: PrivateTable, target: int) -> None:
        kept = [place for place in range(len(table.cardinalities)) if place != target]
        cardinalities = tuple(table.cardinalities[place] for place in kept)
        self._cells = torch.from_numpy(
            table.codes[:, kept].astype(np.int64) + block_starts(cardinalities)[:-1]
        )
        self.width = sum(cardinalities)
        self._value = max(len(kept), 1) ** -0.5

    def rows(self, records: Indices) -> Tensor:
        """(records, width) float64."""
        cells = self._cells[torch.from_numpy(records)]
        return torch.zeros(len(records), self.width, dtype=torch.float64).scatter_(1, cells, self._value)


class Batch:
    """Some records with their labels; rows are made a few at a time, because all of them would be large.

    Args:
        labels: (all records,) int64.
    """

    def __init__(self, features: FeatureSource, labels: Tensor, chosen: Indices) -> None:
        self._features, self._labels, self._chosen = features, labels, chosen

    def __len__(self) -> int:
        return len(self._chosen)

    def piece(self, first: int, count: int) -> tuple[Tensor, Tensor]:
        """Rows (count, width) float64 and labels (count,) from the place `first` on."""
        some = self._chosen[first : first + count]
        return self._features.rows(some), self._labels[torch.from_numpy(some)]

    @property
    def whole(self) -> tuple[Tensor, Tensor]:
        """Rows and labels of all of them."""
        return self.piece(0, len(self))


def features_of(records: PrivateRecords, plan: ModelPlan) -> FeatureSource:
    """The features that the plan's options name, before principal components are taken.

    Raises:
        UnevenRounding: this machine rounds an image's coefficients differently by its place among others.
    """
    made: FeatureSource
    if isinstance(records, PrivateTable):
        assert records.target_index is not None, "a plan of a classifier has a target"
        made = OneHotFeatures(records, records.target_index)
    elif plan.options.features == "scattering":
        made = StoredFeatures(Scattering(records.shape).of(records.pixels))
    else:
        planes = np.ascontiguousarray(records.pixels.transpose(0, 3, 1, 2))
        # Not -1: an owner may have no image.
        planes = planes.reshape(len(planes), math.prod(records.shape))
        made = StoredFeatures(torch.from_numpy(planes), scale=1 / 255)
    assert plan.options.features == "scattering" or made.width == plan.inputs, "the plan is of this domain"
    return made


def labels_of(records: PrivateRecords) -> Tensor:
    """(records,) int64 classes."""
    if isinstance(records, PrivateImages):
        return torch.from_numpy(records.labels.astype(np.int64))
    assert records.target_index is not None, "a plan of a classifier has a target"
    return torch.from_numpy(records.codes[:, records.target_index].astype(np.int64))
