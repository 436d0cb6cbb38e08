"""Shared by all generators of rows: a logit for every group of codes (`models.tables.code_groups`), and the block of the given label.

The codes of a group share its logit, each raised by the logarithm of its share in the group, so they keep their shares whatever
the generator gives.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from models.encoding import block_starts
from models.tables.code_groups import Groups, group_counts, sums_of_groups

GIVEN, EXCLUDED = 0.0, -30.0
"""Logits of the target's block: of the given label, of every other."""
_SMALLEST_SHARE = 1e-5


class GroupedLogits(nn.Module):
    """A generator's groups of codes.

    Args:
        groups: of every column (codes,) the group of each code. Those of the target are its codes.
        target_index: the column that is given, or None.
    """

    def __init__(self, groups: Sequence[Groups], target_index: int | None) -> None:
        super().__init__()
        self.group_counts = group_counts(groups)
        starts = block_starts(self.group_counts)
        self.group_cells = int(starts[-1])
        self.classes = 0 if target_index is None else self.group_counts[target_index]
        self.label_start = self.group_cells if target_index is None else int(starts[target_index])
        places = np.concatenate(
            [of_codes + start for of_codes, start in zip(groups, starts[:-1], strict=True)]
        )
        self.group_of_code: Tensor
        self.within_group: Tensor
        self.register_buffer("group_of_code", torch.from_numpy(places))
        self.register_buffer("within_group", torch.zeros(len(places)))

    def with_label(self, before: Tensor, label: Tensor, after: Tensor) -> Tensor:
        """The logits of groups (rows, group cells): those before the target's block, the block of given labels, those after it."""
        return torch.cat([before, label * (GIVEN - EXCLUDED) + EXCLUDED, after], dim=1)

    def spread(self, grouped: Tensor) -> Tensor:
        """Logits of codes from those of their groups; shapes (rows, group cells) to (rows, cells)."""
        return grouped.index_select(1, self.group_of_code) + self.within_group

    def keep_shares(self, columns: Sequence[npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
        """Set the shares of codes within their groups.

        Args:
            columns: of every column (codes,) shares.

        Returns:
            (group cells,) shares of the groups.
        """
        groups = self.group_of_code.numpy()
        # With very many codes the floor of each is lower, so that the floors together do not exceed what was counted.
        shares = np.concatenate(
            [
                np.maximum(distribution, min(_SMALLEST_SHARE, 1e-2 / len(distribution)))
                for distribution in columns
            ]
        )
        of_groups = sums_of_groups(shares, groups)
        self.within_group.copy_(torch.from_numpy(np.log(shares / of_groups[groups])))
        return of_groups
