"""Functions of records, applied to a fixed number of records at a time in the same memory.

A library's product may round a record by the shape of the whole product and by the record's place in it. Then one record more
would change numbers of others. So every call has the same public number of places, the rest padded with zeros, and a function
is checked on public records before it sees a private one: on copies of one record (`models.critic.placement_invariance`), and on that
record among others, because a registered module may be any function of its batch.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from models.classifier.features import Batch, StoredFeatures
from models.critic.microbatch import Workspace
from models.dp.errors import RecordsMixed, UnevenRounding

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
        """Check that a function makes the same numbers of one record at every place, whatever is at the others.

        Args:
            function: of rows and labels; makes tensors (size, ...).

        Raises:
            UnevenRounding: the numbers depend on the place.
            RecordsMixed: they depend on the other records.
        """
        width = self._rows.shape[1]
        record = torch.arange(1, width + 1, dtype=torch.float64).sin().to(self._rows.dtype)
        alone = self._made_of(
            function, record.expand(self.size, -1), torch.zeros(self.size, dtype=torch.int64)
        )
        if not all(bool((made == made[:1]).all()) for made in alone):
            raise UnevenRounding
        others = torch.arange(self.size, dtype=torch.int64)
        for place in {0, self.size // 2, self.size - 1}:
            # Records of many lengths, of two labels.
            rows = torch.outer(
                torch.exp2((others * 7 % 21 - 10).double()), torch.arange(width).double().cos()
            )
            rows, labels = rows.to(self._rows.dtype), others % 2
            rows[place], labels[place] = record, 0
            among = self._made_of(function, rows, labels)
            if not all(
                bool((made[place] == own[place]).all()) for made, own in zip(among, alone, strict=True)
            ):
                raise RecordsMixed

    def _made_of(
        self, function: Callable[[Tensor, Tensor], Made], rows: Tensor, labels: Tensor
    ) -> list[Tensor]:
        """Apply a function to a full batch of public records."""
        batch = Batch(StoredFeatures(rows), labels, np.arange(self.size))
        return [made.clone() for some, own, _, _ in self.of(batch) for made in function(some, own)]
