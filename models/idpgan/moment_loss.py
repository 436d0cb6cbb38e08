"""The distance of a generated batch from the noisy counts: the loss of pre-training, kept in the generator's loss for good."""

import itertools
from collections.abc import Iterable
from typing import Final

import numpy as np
import torch
from torch import Tensor

from models.encoding import block_starts
from models.labels import LabelledBatch
from models.tables.anchor import MomentLayout
from models.tables.estimation.targets import MomentTargets

_COLUMN_WEIGHT = 30.0
_COLUMN_FLOOR = 1e-3
SHARE_POWERS: Final = {"network": 0.5, "mixture": 0.35}
"""Power of a cell's expected share by which its square is divided, plus the noise, by generator (docs/rules-study.md)."""
_COMBINATION_WEIGHT = 4.0
"""Weight of combinations of codes relative to pairs (docs/rules-study.md)."""
_EMPTY_WEIGHT = 0.1
"""Weight of the share of records on cells that rules leave empty. The share is not squared: its gradient would vanish too early."""


class MomentLoss:
    """Squared distance of the counts of generated probabilities to their targets.

    Given the latent vector, the columns of a generated record are independent, so the expected two-way counts are
    the mean of products of probabilities: one matrix product per slice. The square of a cell is divided by a power of its
    expected share, so that small cells count more than by their size, and the noise on it.

    Args:
        share_power: how much less the cells of large expected shares count.
    """

    def __init__(self, layout: MomentLayout, targets: MomentTargets, *, share_power: float) -> None:
        self._layout = layout
        starts = block_starts(layout.cardinalities)
        chosen = [np.arange(starts[column], starts[column + 1]) for column in layout.features]
        self._cells = torch.from_numpy(np.concatenate(chosen))
        self._pairs = torch.from_numpy(targets.pairs).float()
        self._ones = torch.from_numpy(targets.ones).float()
        ones, distribution = targets.ones, targets.distribution[:, None]
        products = ones[:, :, None] * ones[:, None, :] / distribution[:, :, None]
        pair_weight = 1.0 / (np.maximum(products, 1e-6) ** share_power + targets.pair_std)
        for block in layout.blocks:
            pair_weight[:, block, block] = 0.0
        scale = layout.cells / max(len(layout.blocks), 1)
        self._pair_weight = torch.from_numpy(0.5 * scale * pair_weight).float()
        self._empty_weight: Tensor | None = None
        if targets.impossible is not None:
            self._empty_weight = torch.from_numpy(0.5 * scale * _EMPTY_WEIGHT * targets.impossible).float()
        one_weight = scale / (np.sqrt(np.maximum(ones, 1e-6)) + np.minimum(targets.one_std, 1.0))
        self._one_weight = torch.from_numpy(one_weight).float()
        self._combinations: Tensor | None = None
        if targets.combinations is not None:
            self._combinations = torch.from_numpy(targets.combinations).float()
            weight = 1.0 / (np.maximum(targets.combinations, 1e-6) ** share_power + targets.combination_std)
            self._combination_weight = torch.from_numpy(_COMBINATION_WEIGHT * scale * weight).float()
        whole = ones.sum(axis=0)
        self._whole = torch.from_numpy(whole).float()
        self._whole_weight = torch.from_numpy(_COLUMN_WEIGHT / (whole + _COLUMN_FLOOR)).float()

    def __call__(self, slices: Iterable[tuple[Tensor, Tensor]]) -> Tensor:
        """The distance, a scalar.

        Args:
            slices: of every class, or of all records: (rows, cells) probabilities of every column's groups, and (rows,) the share
                of all records that each row stands for.
        """
        total = torch.zeros((), device=self._whole.device)
        whole = torch.zeros_like(self._whole)
        if self._combinations is not None:
            slices = list(slices)
            total = total + self._of_combinations(slices, self._combinations)
        for index, (shares, weights) in enumerate(slices):
            part = shares.index_select(1, self._cells)
            weighted = part * weights[:, None]
            made = weighted.T @ part
            pairs = made - self._pairs[index]
            ones = weighted.sum(dim=0)
            whole = whole + ones
            total = total + (self._pair_weight[index] * pairs.square()).sum()
            if self._empty_weight is not None:
                total = total + (self._empty_weight[index] * made).sum()
            if self._layout.by_class:
                total = total + (self._one_weight[index] * (ones - self._ones[index]).square()).sum()
        return total + (self._whole_weight * (whole - self._whole).square()).sum()

    def _of_combinations(self, slices: Iterable[tuple[Tensor, Tensor]], wanted: Tensor) -> Tensor:
        """The distance of all combinations of codes."""
        made = torch.zeros_like(wanted)
        for shares, weights in slices:
            first, *others = (shares[:, block] for block in self._layout.blocks)
            products = first * weights[:, None]
            for other in others:
                products = (products[:, :, None] * other[:, None, :]).flatten(1)
            made = made + products.sum(dim=0).reshape(wanted.shape)
        return (self._combination_weight * (made - wanted).square()).sum()

    def of_batch(self, shares: Tensor, batch: LabelledBatch) -> Tensor:
        """The distance of a batch.

        Args:
            shares: (rows, cells) probabilities of every column's groups.
            batch: whose labels `shares` was made with.
        """
        bounds = batch.bounds if self._layout.by_class else (0, len(shares))
        return self(
            (shares[start:stop], batch.weights[start:stop]) for start, stop in itertools.pairwise(bounds)
        )
