"""Labels of generated batches, by a noisy distribution of the target."""

import itertools
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from core.plan.stages import LabelPlan
from models.dp.discrete import discrete_gaussians
from models.encoding import PrivateTable
from models.randomness import KeyedStreams, Purpose
from models.simplex import positive_distribution, project_to_simplex

_FEWEST_ROWS = 32


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelledBatch:
    """Labels of a batch in the order of the classes, each class with at least a few rows.

    Args:
        one_hot: (rows, classes); classes is 0 without a target.
        weights: (rows,) share of each row in the whole; their sum is one.
        bounds: first row of every class, and the number of rows.
    """

    one_hot: Tensor
    weights: Tensor
    bounds: tuple[int, ...]

    def to(self, device: torch.device) -> "LabelledBatch":
        """The same batch on a device."""
        return replace(self, one_hot=self.one_hot.to(device), weights=self.weights.to(device))


def stratified_batch(distribution: npt.NDArray[np.float64] | None, rows: int) -> LabelledBatch:
    """A batch stratified by class; small classes get more rows of less weight.

    Args:
        distribution: (classes,) shares, or None without a target.
        rows: rows of the batch, about.
    """
    if distribution is None:
        return LabelledBatch(
            one_hot=torch.zeros(rows, 0), weights=torch.full((rows,), 1.0 / rows), bounds=(0, rows)
        )
    fewest = max(1, min(_FEWEST_ROWS, rows // (2 * len(distribution))))
    counts = np.maximum(np.rint(distribution * rows).astype(np.int64), fewest)
    labels = torch.repeat_interleave(torch.arange(len(distribution)), torch.from_numpy(counts))
    return LabelledBatch(
        one_hot=torch.nn.functional.one_hot(labels, len(distribution)).float(),
        weights=torch.from_numpy(distribution / counts).float()[labels],
        bounds=(0, *itertools.accumulate(counts.tolist())),
    )


def drawn_labels(distribution: npt.NDArray[np.float64] | None, uniforms: npt.NDArray[np.float64]) -> Tensor:
    """One-hot labels (rows, classes) drawn from the distribution by inversion; (rows, 0) without a target."""
    if distribution is None:
        return torch.zeros(len(uniforms), 0)
    labels = np.searchsorted(np.cumsum(distribution)[:-1], uniforms, side="right")
    return torch.nn.functional.one_hot(torch.from_numpy(labels.astype(np.int64)), len(distribution)).float()


def noisy_label_distribution(
    table: PrivateTable, plan: LabelPlan, streams: KeyedStreams
) -> npt.NDArray[np.float64]:
    """Release the distribution of the target: the only place that counts a table's labels without an anchor.

    A unit counts once, in the class of its first record.
    """
    assert table.target_index is not None, "only a declared target has a distribution"
    _, first = np.unique(table.unit_of_record, return_index=True)
    classes = table.cardinalities[table.target_index]
    return noisy_distribution(table.codes[first, table.target_index].astype(np.int64), classes, plan, streams)


def noisy_distribution(
    labels: npt.NDArray[np.int64], classes: int, plan: LabelPlan, streams: KeyedStreams
) -> npt.NDArray[np.float64]:
    """Release the distribution of labels, one label per unit, so that the counts have sensitivity 1.

    Exact discrete Gaussian noise (Canonne, Kamath and Steinke 2020) on integers.

    Args:
        labels: (units,) private.
    """
    counts = np.bincount(labels, minlength=classes)
    exact = [(torch.from_numpy(counts), plan.noise_multiplier)]
    streams.releases.exact(Purpose.LABEL_NOISE, 0, exact, sensitivity=1.0 / plan.noise_multiplier)
    noise = discrete_gaussians(
        streams, Purpose.LABEL_NOISE, 0, noise_std=plan.noise_multiplier, count=classes
    )
    noisy = (counts + noise).astype(np.float64)
    streams.releases.noisy(Purpose.LABEL_NOISE, 0, torch.from_numpy(noisy))
    total = max(float(noisy.sum()), 1.0)
    return positive_distribution(project_to_simplex(noisy, total=total) / total)
