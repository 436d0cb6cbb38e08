"""The real plane of the first layer's clipped sum, where records came as cells: rows are added instead of multiplied."""

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

_INT16_CELLS = 1 << 15


class CellSum:
    """Adds `S^T X` to a weight matrix, X the one-hot form of records known by their cells.

    It mixes records, so what it adds may depend on all of them in its last bits; the sum's rounding is allowed for.

    Args:
        inputs: of the first layer.
        device: the critic's.
        fixed: see `models.critic.closed_form.ClosedForm`.
    """

    def __init__(self, inputs: int, *, device: torch.device | None = None, fixed: bool = False) -> None:
        self._inputs = inputs
        self._fixed = fixed
        self._numbers = torch.arange(inputs, device=device)

    def add(self, cells: Tensor, S: Tensor, weights: Tensor) -> None:
        """Add a chunk's records to the (outputs, inputs) weights.

        Args:
            cells: (n, columns) int64.
            S: (n, outputs) float64 left factors.
            weights: (outputs, inputs) float64.
        """
        count, columns = cells.shape
        if self._fixed:
            narrow = cells.reshape(-1).to(torch.int16 if self._inputs <= _INT16_CELLS else torch.int64)
            ordered, order = torch.sort(narrow, stable=True)
            first = torch.searchsorted(ordered.to(torch.int64), self._numbers)
            weights += torch.nn.functional.embedding_bag(order // columns, S, first, mode="sum").T
            return
        firsts = np.arange(0, count * columns + 1, columns)
        ones = np.ones(count * columns)
        one_hot = sparse.csr_array((ones, cells.numpy().reshape(-1), firsts), shape=(count, self._inputs))
        weights += torch.from_numpy(one_hot.T @ S.numpy()).T
