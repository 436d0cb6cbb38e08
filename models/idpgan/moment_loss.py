"""How far a generated batch is from the noisy counts: the generator's warm start and permanent loss."""

import itertools
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from models.anchor import MomentLayout
from models.encoding import block_starts
from models.idpgan.labels import LabelledBatch
from models.idpgan.targets import MomentTargets

_COLUMN_WEIGHT = 5.0
_COLUMN_FLOOR = 1e-3


class MomentLoss:
    """Squared distance of the counts of generated probabilities to their targets.

    Given the latent vector, the columns of a generated record are independent, so the expected two-way counts are
    the mean of products of probabilities: one matrix product per slice. The square of a cell is divided by the root of its
    share, which is what the share varies by from sample to sample, and the noise on it.

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
        ones, law = targets.ones, targets.law[:, None]
        products = ones[:, :, None] * ones[:, None, :] / law[:, :, None]
        pair_weight = 1.0 / (np.sqrt(np.maximum(products, 1e-6)) + targets.pair_std)
        for block in layout.blocks:
            pair_weight[:, block, block] = 0.0
        scale = layout.cells / max(len(layout.blocks), 1)
        self._pair_weight = torch.from_numpy(0.5 * scale * pair_weight).float()
        one_weight = scale / (np.sqrt(np.maximum(ones, 1e-6)) + np.minimum(targets.one_std, 1.0))
        self._one_weight = torch.from_numpy(one_weight).float()
        whole = ones.sum(axis=0)
        self._whole = torch.from_numpy(whole).float()
        self._whole_weight = torch.from_numpy(_COLUMN_WEIGHT / (whole + _COLUMN_FLOOR)).float()

    def __call__(self, shares: Tensor, batch: LabelledBatch) -> Tensor:
        """The distance, a scalar.

        Args:
            shares: (rows, cells) probabilities of every column's groups.
            batch: whose labels `shares` was made with.
        """
        total = torch.zeros((), device=shares.device)
        whole = torch.zeros_like(self._whole)
        for index, (weighted, part) in enumerate(self._slices(shares, batch)):
            pairs = weighted.T @ part - self._pairs[index]
            ones = weighted.sum(dim=0)
            whole = whole + ones
            total = total + (self._pair_weight[index] * pairs.square()).sum()
            if self._layout.by_class:
                total = total + (self._one_weight[index] * (ones - self._ones[index]).square()).sum()
        return total + (self._whole_weight * (whole - self._whole).square()).sum()

    def _slices(self, shares: Tensor, batch: LabelledBatch) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield, per slice, the shares of its rows times their weights, and the shares; (rows, cells) each."""
        inside = shares.index_select(1, self._cells)
        bounds = batch.bounds if self._layout.by_class else (0, len(shares))
        for start, stop in itertools.pairwise(bounds):
            part = inside[start:stop]
            yield part * batch.weights[start:stop, None], part
