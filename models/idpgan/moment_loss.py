"""How far a generated batch is from the noisy moments: the generator's warm start and permanent loss."""

import itertools

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
        self._pair_weight = torch.full((layout.cells, layout.cells), 0.5 / targets.pair_std**2)
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
        inside = shares.index_select(1, self._cells)
        total = torch.zeros((), device=shares.device)
        bounds = batch.bounds if self._layout.by_class else (0, len(shares))
        for index, (start, stop) in enumerate(itertools.pairwise(bounds)):
            part = inside[start:stop]
            weighted = part * batch.weights[start:stop, None]
            pairs = weighted.T @ part - self._pairs[index]
            ones = weighted.sum(dim=0) - self._ones[index]
            total = total + (self._pair_weight * pairs.square()).sum()
            total = total + (self._one_weight[index] * ones.square()).sum()
        return total * self._scale
