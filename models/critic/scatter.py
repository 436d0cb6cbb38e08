"""The real plane of the first layer's clipped sum, where records came as cells: rows scattered instead of multiplied."""

from typing import Final

import numpy as np
import torch
from torch import Tensor

from models.critic.chunks import CHUNK, Workspace

AT_ONCE: Final = 32
"""Chunks that are scattered at once; a public constant that bounds memory."""
_INT16_CELLS = 1 << 15


class CellSum:
    """Adds `S^T X` to a weight matrix, X the one-hot form of records known by their cells.

    One scatter serves many chunks, because it touches the whole matrix. It mixes records, so what it adds may depend
    on all of them in its last bits; the sum's rounding is allowed for.

    Args:
        outputs: of the first layer.
        inputs: of the first layer.
    """

    def __init__(self, outputs: int, inputs: int) -> None:
        self._outputs, self._inputs = outputs, inputs
        self._take = Workspace().take
        self._waiting = 0

    def add(self, cells: Tensor, S: Tensor, weights: Tensor) -> None:
        """Put a chunk's (CHUNK, columns) cells and (CHUNK, outputs) left factors by; add when many have come."""
        kept, scaled = self._kept(cells.shape[1])
        kept[self._waiting].copy_(cells)
        scaled[self._waiting].copy_(S)
        self._waiting += 1
        if self._waiting == AT_ONCE:
            self.finish(cells.shape[1], weights)

    def finish(self, columns: int, weights: Tensor) -> None:
        """Add what waits to the (outputs, inputs) weights."""
        if self._waiting == 0:
            return
        kept, scaled = self._kept(columns)
        cells = kept[: self._waiting].reshape(-1)
        values = scaled[: self._waiting].reshape(-1, self._outputs)
        self._waiting = 0
        narrow = cells.to(torch.int16 if self._inputs <= _INT16_CELLS else torch.int64).numpy()
        order = torch.from_numpy(np.argsort(narrow, kind="stable"))  # radix sort on 16 bits
        first = torch.bincount(cells, minlength=self._inputs).cumsum(0).roll(1)
        first[0] = 0
        weights += torch.nn.functional.embedding_bag(order // columns, values, first, mode="sum").T

    def _kept(self, columns: int) -> tuple[Tensor, Tensor]:
        return (
            self._take("cells", columns, (AT_ONCE, CHUNK, columns), torch.int64),
            self._take("scaled", 0, (AT_ONCE, CHUNK, self._outputs), torch.float64),
        )
