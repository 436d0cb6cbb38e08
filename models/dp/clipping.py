"""Groups of coordinates: public blocks, their merging into groups, and the clipping factors.

Coordinates are laid out flat as `W_1, ..., W_L, b_1, ..., b_L` (weights by rows), so that every block is one contiguous
piece. ACTS and weight clustering work on blocks. A group is a union of blocks that is clipped and noised together, with
one clipping threshold. Every coordinate is in exactly one block and every block in exactly one group; both are asserted.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

GROUPINGS = ("flat", "layers", "rows")

# A group's norm is bounded above by its computed norm plus this share of the sum of the norms of the three rank-one
# terms, squared. It covers the rounding of the Gram products (about 2**-40) with room, and keeps the terms of a
# clipped record below 2**14 thresholds when they nearly cancel, which bounds the rounding of the sum.
CANCELLATION_SHARE = 2.0**-28
_UNIT_ROUNDOFF = 2.0**-53


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Public blocks of the coordinates of a critic.

    Args:
        shapes: (outputs, inputs) of every linear layer.
        grouping: "flat" (one block), "layers" (one per weight matrix, all biases one) or "rows" (consecutive rows of a
            weight matrix gathered into at most `row_blocks` blocks, all biases one).
        row_blocks: most blocks of one layer; used by "rows" alone.
    """

    shapes: tuple[tuple[int, int], ...]
    grouping: str
    row_blocks: int = 1

    def __post_init__(self) -> None:
        """Refuse an unknown grouping and assert that the blocks cover all coordinates."""
        if self.grouping not in GROUPINGS:
            raise ValueError(f"a grouping is one of {GROUPINGS}")
        if self.row_blocks < 1:
            raise ValueError("a layer has at least one row block")
        assert sum(self.sizes) == self.coordinates

    @property
    def coordinates(self) -> int:
        """Number of all coordinates."""
        return sum(outputs * inputs + outputs for outputs, inputs in self.shapes)

    @property
    def rows_of_blocks(self) -> tuple[tuple[int, ...], ...]:
        """For every layer, the number of rows of each of its blocks."""
        return tuple(_split(outputs, self._blocks_of(outputs)) for outputs, _ in self.shapes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Coordinates of every block, in flat order."""
        if self.grouping == "flat":
            return (self.coordinates,)
        weights = (
            rows * inputs
            for (_, inputs), blocks in zip(self.shapes, self.rows_of_blocks, strict=True)
            for rows in blocks
        )
        return (*weights, sum(outputs for outputs, _ in self.shapes))

    @property
    def blocks(self) -> int:
        """Number of public blocks."""
        return len(self.sizes)

    def block_of_row(self, layer: int) -> Tensor:
        """The block of every row of a weight matrix, (outputs,) int64."""
        outputs = self.shapes[layer][0]
        if self.grouping == "flat":
            return torch.zeros(outputs, dtype=torch.int64)
        first = sum(len(blocks) for blocks in self.rows_of_blocks[:layer])
        counts = torch.tensor(self.rows_of_blocks[layer])
        return torch.repeat_interleave(torch.arange(first, first + len(counts)), counts)

    @property
    def bias_block(self) -> int:
        """The block that holds all biases: the last."""
        return self.blocks - 1

    def slices(self) -> tuple[slice, ...]:
        """The contiguous piece of every block in the flat layout."""
        ends = tuple(itertools.accumulate(self.sizes))
        return tuple(slice(end - size, end) for end, size in zip(ends, self.sizes, strict=True))

    def _blocks_of(self, outputs: int) -> int:
        return min(outputs, self.row_blocks) if self.grouping == "rows" else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """Blocks merged into groups, each with a clipping threshold.

    Args:
        sizes: coordinates of every block.
        group_of_block: group of every block; the groups are 0..K-1 and none is empty.
        thresholds: clipping threshold of every group, positive and finite.
    """

    sizes: tuple[int, ...]
    group_of_block: tuple[int, ...]
    thresholds: tuple[float, ...]

    def __post_init__(self) -> None:
        """Assert that the groups cover all blocks."""
        assert len(self.group_of_block) == len(self.sizes), "every block has a group"
        assert set(self.group_of_block) == set(range(len(self.thresholds))), (
            "every group has a block and a threshold"
        )
        assert all(0.0 < c < float("inf") for c in self.thresholds), "thresholds are positive and finite"

    @property
    def dimensions(self) -> tuple[int, ...]:
        """Coordinates of every group."""
        totals = [0] * len(self.thresholds)
        for group, size in zip(self.group_of_block, self.sizes, strict=True):
            totals[group] += size
        return tuple(totals)


def each_block_alone(sizes: Sequence[int], thresholds: Sequence[float]) -> Partition:
    """The partition whose groups are the blocks themselves."""
    return Partition(
        sizes=tuple(sizes),
        group_of_block=tuple(range(len(sizes))),
        thresholds=tuple(float(c) for c in thresholds),
    )


def rounding_allowance(max_batch: int, terms: int = 3) -> float:
    """Relative room left below a threshold for the floating point of the whole sum.

    With at most `n` records, `t` terms each and float64 accumulation in any order, the computed sum differs from
    the exact sum of the clipped records by at most `gamma(t n)` times the sum of the norms of the terms (Higham 2002,
    section 3.1), and those are below `2**14` thresholds a record. Two neighbours differ by at most twice that:

        2 * t n * 2**-53 * n * 2**14   (7e-5 for 2,500 records of three terms)

    Args:
        max_batch: public cap on the records of one batch.
        terms: of one record in a coordinate; three in a critic of linear layers.
    """
    return 2.0 * terms * max_batch**2 * _UNIT_ROUNDOFF / math.sqrt(CANCELLATION_SHARE) + 2.0**-30


class ClipRule:
    """Clipping factors of one partition.

    Args:
        max_batch: public cap on the records of one batch, for the rounding allowance.
        terms: of one record in a coordinate of the sum, for the same.
    """

    def __init__(
        self, partition: Partition, *, max_batch: int, terms: int = 3, device: torch.device | None = None
    ) -> None:
        groups = torch.tensor(partition.group_of_block, device=device)
        self._alone = len(partition.thresholds) == len(groups)
        self._groups = groups
        self._allowed = _allowed(partition, max_batch, terms).to(device)

    def factors(self, bounds: Tensor) -> Tensor:
        """The factor of every record and block, at most one, rounded down.

        Only elementwise operations and sums in the order of the blocks are used, so a record's factors are the same to
        the bit in every batch.

        Args:
            bounds: (batch, blocks) float64 upper bounds of squared norms; not finite for a record that must not count.

        Returns:
            (batch, blocks) float64: `min(1, c_j (1 - allowance) / norm)`, zero for every block of a record that has any
            bound that is not finite.
        """
        counts = torch.isfinite(bounds).all(dim=1, keepdim=True)
        norms = torch.where(counts, bounds, 0.0)
        if not self._alone:
            merged = torch.zeros(norms.shape[0], len(self._allowed), dtype=torch.float64, device=norms.device)
            norms = merged.index_add_(1, self._groups, norms)
        # a zero norm gives infinity, then one
        factors = torch.div(self._allowed, norms.sqrt_()).clamp_(max=1.0).mul_(counts)
        return factors if self._alone else factors[:, self._groups]


class GraphClipRule:
    """The factors of `ClipRule`, to the bit, by the same operations on the same memory for every partition.

    So a CUDA graph can capture them and replay them after groups and thresholds have changed.

    Args:
        blocks: of the layout.
    """

    def __init__(
        self, blocks: int, *, max_batch: int, terms: int = 3, device: torch.device | None = None
    ) -> None:
        self._max_batch, self._terms = max_batch, terms
        # Thresholds of zero until a partition is adopted: every factor is zero.
        self._allowed = torch.zeros(blocks, dtype=torch.float64, device=device)
        self._groups = torch.zeros(blocks, dtype=torch.int64, device=device)
        self._members = torch.eye(blocks, dtype=torch.float64, device=device)

    def adopt(self, partition: Partition) -> None:
        """Clip by this partition from now on."""
        groups = torch.tensor(partition.group_of_block)
        # Pad to one group per block; unused groups get an infinite threshold and no member.
        allowed = torch.full_like(self._allowed, torch.inf, device="cpu")
        allowed[: len(partition.thresholds)] = _allowed(partition, self._max_batch, self._terms)
        self._allowed.copy_(allowed)
        self._groups.copy_(groups)
        self._members.copy_(groups[:, None] == torch.arange(len(groups)))

    def factors(self, bounds: Tensor) -> Tensor:
        """See `ClipRule.factors`."""
        counts = torch.isfinite(bounds).all(dim=1, keepdim=True)
        norms = torch.where(counts, bounds, 0.0)
        merged = torch.zeros_like(norms)
        for block, members in enumerate(self._members):
            # Each norm is multiplied by one for its group and by zero for the others: sums in the order of the blocks, no scatter.
            merged.addcmul_(norms[:, block, None], members)
        of_groups = torch.div(self._allowed, merged.sqrt_()).clamp_(max=1.0)
        return of_groups.mul_(counts).index_select(1, self._groups)


def _allowed(partition: Partition, max_batch: int, terms: int) -> Tensor:
    """(groups,) float64 thresholds, lowered by the rounding allowance."""
    allowance = rounding_allowance(max_batch, terms)
    assert allowance < 1.0, "rounding leaves room for the gradients"
    return torch.tensor(partition.thresholds, dtype=torch.float64) * (1.0 - allowance)


def _split(rows: int, parts: int) -> tuple[int, ...]:
    """`rows` as `parts` nearly equal consecutive pieces, larger first."""
    small, larger = divmod(rows, parts)
    return (small + 1,) * larger + (small,) * (parts - larger)
