"""The real plane of the first layer's clipped sum, where records came as cells: rows scattered instead of multiplied."""

from typing import Final

import numpy as np
import torch
from torch import Tensor

from models.critic.chunks import CHUNK, Workspace

AT_ONCE: Final = 32
"""Chunks of `CHUNK` records that are scattered at once; a public constant that bounds memory."""
_INT16_CELLS = 1 << 15


class CellSum:
    """Adds `S^T X` to a weight matrix, X the one-hot form of records known by their cells.

    One scatter serves many chunks, because it touches the whole matrix. It mixes records, so what it adds may depend
    on all of them in its last bits; the sum's rounding is allowed for.

    Args:
        outputs: of the first layer.
        inputs: of the first layer.
        at_once: records of a chunk, written CHUNK in shapes.
        device: the critic's.
        fixed: see `models.critic.closed_form.ClosedForm`.
    """

    def __init__(
        self,
        outputs: int,
        inputs: int,
        *,
        at_once: int = CHUNK,
        device: torch.device | None = None,
        fixed: bool = False,
    ) -> None:
        self._outputs, self._inputs = outputs, inputs
        self._at_once = at_once
        self._most = max(1, AT_ONCE * CHUNK // at_once)
        self._fixed = fixed
        self._numbers = torch.arange(inputs, device=device)
        self._take = Workspace(device).take
        self._waiting = 0

    def clear(self) -> None:
        """Forget what waits: a batch that was broken off must not come into the next one's sum, for it is made again."""
        self._waiting = 0

    def add(self, cells: Tensor, S: Tensor, weights: Tensor) -> None:
        """Put a chunk's (CHUNK, columns) cells and (CHUNK, outputs) left factors by; add when many have come."""
        kept, scaled = self._kept(cells.shape[1])
        kept[self._waiting].copy_(cells)
        scaled[self._waiting].copy_(S)
        self._waiting += 1
        if self._waiting == self._most:
            self.finish(cells.shape[1], weights)

    def finish(self, columns: int, weights: Tensor) -> None:
        """Add what waits to the (outputs, inputs) weights."""
        if self._waiting == 0:
            return
        kept, scaled = self._kept(columns)
        cells = kept[: self._waiting].reshape(-1)
        values = scaled[: self._waiting].reshape(-1, self._outputs)
        self._waiting = 0
        order, first = self._sorted(cells)
        weights += torch.nn.functional.embedding_bag(order // columns, values, first, mode="sum").T

    def _sorted(self, cells: Tensor) -> tuple[Tensor, Tensor]:
        """The order of the cells, and where each of the (inputs,) begins in it."""
        narrow = cells.to(torch.int16 if self._inputs <= _INT16_CELLS else torch.int64)
        if self._fixed:
            ordered, order = torch.sort(narrow, stable=True)
            return order, torch.searchsorted(ordered.to(torch.int64), self._numbers)
        order = torch.from_numpy(np.argsort(narrow.numpy(), kind="stable"))  # radix sort on 16 bits
        first = torch.bincount(cells, minlength=self._inputs).cumsum(0).roll(1)
        first[0] = 0
        return order, first

    def _kept(self, columns: int) -> tuple[Tensor, Tensor]:
        return (
            self._take("cells", columns, (self._most, self._at_once, columns), torch.int64),
            self._take("scaled", 0, (self._most, self._at_once, self._outputs), torch.float64),
        )
