"""Functions of records, applied to a fixed number of records at a time in the same memory.

A library's product may round a record by the shape of the whole product and by the record's place in it. Then one record more
would change numbers of others. So every call has the same public number of places, the rest padded with zeros, and a function
is checked on copies of one public record before it sees a private one (`models.critic.placement_invariance`).
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from models.classifier.features import Batch, StoredFeatures
from models.critic.microbatch import Workspace
from models.dp.errors import UnevenRounding

Made = Sequence[Tensor]


class EvenBatches:
    """Cuts records into padded batches of one size.

    Args:
        size: records of a batch; public.
        width: numbers of a record.
        dtype: in which they are held.
    """

    def __init__(self, size: int, width: int, dtype: torch.dtype = torch.float64) -> None:
        self.size = size
        workspace = Workspace()
        self._rows = workspace.take("rows", 0, (size, width), dtype)
        self._labels = workspace.take("labels", 0, (size,), torch.int64)
        self._present = workspace.take("present", 0, (size,), torch.bool)

    def of(self, batch: Batch) -> Iterator[tuple[Tensor, Tensor, Tensor, int]]:
        """Rows (size, width), labels (size,), whether a place holds a record (size,), and how many do.

        Each is valid until the next.
        """
        for first in range(0, len(batch), self.size):
            count = min(self.size, len(batch) - first)
            rows, labels = batch.piece(first, count)
            self._rows[:count] = rows
            self._rows[count:] = 0
            self._labels[:count] = labels
            self._labels[count:] = 0
            self._present[:count] = True
            self._present[count:] = False
            yield self._rows, self._labels, self._present, count

    def require_alike(self, function: Callable[[Tensor, Tensor], Made]) -> None:
        """Check that a function makes the same numbers of one record at every place.

        Args:
            function: of rows and labels; makes tensors (size, ...).

        Raises:
            UnevenRounding: it does not.
        """
        record = torch.arange(1, self._rows.shape[1] + 1, dtype=torch.float64).sin().to(self._rows.dtype)
        copies, labels = record.expand(self.size, -1), torch.zeros(self.size, dtype=torch.int64)
        for rows, own, _, _ in self.of(Batch(StoredFeatures(copies), labels, np.arange(self.size))):
            if not all(bool((made == made[:1]).all()) for made in function(rows, own)):
                raise UnevenRounding
