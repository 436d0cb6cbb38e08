"""How far a generated batch is from the noisy moments: the generator's warm start and permanent loss."""

import itertools
import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from models.anchor import MomentLayout
from models.encoding import block_starts
from models.idpgan.labels import LabelledBatch
from models.idpgan.targets import MomentTargets


class MomentLoss:
    """Squared distance of the moments of generated probabilities, in units of the noise, per cell.

    Given the latent vector, the columns of a generated record are independent, so the expected two-way counts are
    the mean of products of probabilities: one matrix product per slice. Dividing by the noise makes the distance a
    log-likelihood of the noisy release.

    Args:
        layout: which counts there are.
        targets: what they should be.
    """

    def __init__(self, layout: MomentLayout, targets: MomentTargets) -> None:
        self._layout = layout
        starts = block_starts(layout.cardinalities)
        chosen = [np.arange(starts[column], starts[column + 1]) for column in layout.features]
        self._cells = torch.from_numpy(np.concatenate(chosen))
        self._pairs = torch.from_numpy(targets.pairs).float()
        self._ones = torch.from_numpy(targets.ones).float()
        self._pair_weight = torch.from_numpy(0.5 / targets.pair_std**2).float()
        for block in layout.blocks:
            self._pair_weight[block, block] = 0.0
        self._one_weight = torch.from_numpy(targets.one_std**-2.0).float()
        self._scale = 1.0 / max(layout.cells, 1)

    def __call__(self, shares: Tensor, batch: LabelledBatch) -> Tensor:
        """The distance, a scalar.

        Args:
            shares: (rows, cells) probabilities of every column's codes.
            batch: whose labels `shares` was made with.
        """
        total = torch.zeros((), device=shares.device)
        for index, (weighted, part) in enumerate(self._slices(shares, batch)):
            pairs = weighted.T @ part - self._pairs[index]
            ones = weighted.sum(dim=0) - self._ones[index]
            total = total + (self._pair_weight * pairs.square()).sum()
            total = total + (self._one_weight[index] * ones.square()).sum()
        return total * self._scale

    def improvement(self, first: Tensor, second: Tensor, batch: LabelledBatch) -> tuple[float, float]:
        """Return the decrease of the squared distance to the two-way counts from the first shares to the second.

        Args:
            first: (rows, cells) probabilities of every column's codes.
            second: likewise.
            batch: whose labels both were made with.

        Returns:
            The decrease, in squared standard deviations of the counts' noise, and its standard deviation over that noise,
            which must be independent of both shares.
        """
        decrease = moved = 0.0
        made = zip(self._slices(first, batch), self._slices(second, batch), strict=True)
        for index, ((before, inside), (after, inside_after)) in enumerate(made):
            missed = before.T @ inside - self._pairs[index]
            step = after.T @ inside_after - self._pairs[index] - missed
            squares = (self._pair_weight * step.square()).sum(dtype=torch.float64)
            decrease -= float(2 * (self._pair_weight * step * missed).sum(dtype=torch.float64) + squares)
            moved += float(squares)
        return decrease, 2.0 * math.sqrt(moved)

    def made(self, shares: Tensor, batch: LabelledBatch) -> Tensor:
        """Return the two-way shares of a batch; (slices, cells, cells).

        Args:
            shares: (rows, cells) probabilities of every column's codes.
            batch: whose labels `shares` was made with.
        """
        return torch.stack([weighted.T @ part for weighted, part in self._slices(shares, batch)])

    def _slices(self, shares: Tensor, batch: LabelledBatch) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield, per slice, the shares of its rows times their weights, and the shares; (rows, cells) each."""
        inside = shares.index_select(1, self._cells)
        bounds = batch.bounds if self._layout.by_class else (0, len(shares))
        for start, stop in itertools.pairwise(bounds):
            part = inside[start:stop]
            yield part * batch.weights[start:stop, None], part
