"""Clipped sums of per-example gradients, one microbatch at a time: what the closed forms of all critics share.

DP-SGD clips the gradient of every example (here: record) before it adds them up. A closed form computes the norms and
the clipped sum without storing per-example gradients of the whole batch. There are two ways through a batch:

* `sum_and_squares` takes a batch of any size and cuts it into microbatches;
* `fill`, `measure` and `add` process one microbatch with static buffers and the same operations at every call,
  whatever the records and the partition are, so that a CUDA graph can capture `measure` and `add`.

Both give the same bits for a batch of one microbatch.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Generic, TypeVar

import torch
from torch import Tensor

from models.dp.clipping import ClipRule, GraphClipRule, Layout, Partition

Loaded = TypeVar("Loaded")
Factored = TypeVar("Factored")


class ClippedForm(ABC, Generic[Loaded, Factored]):
    """The closed form of one critic.

    A subclass loads a microbatch into its buffers, makes the factors of its per-example gradients, bounds their norms
    and adds the clipped gradients.

    Args:
        max_batch: public cap on the records of one batch, for the rounding allowance.
        microbatch_size: records of a microbatch; public.
        terms: terms of one record in a coordinate of the sum, for the rounding allowance.
        fixed: whether a microbatch takes the same operations whatever is in it, none of which waits for the host, so
            that a CUDA graph can capture them (`models.devices.static_buffers`).
    """

    def __init__(
        self,
        layout: Layout,
        *,
        max_batch: int,
        microbatch_size: int,
        terms: int,
        fixed: bool,
        device: torch.device,
    ) -> None:
        self.microbatch_size = microbatch_size
        self._layout, self._max_batch, self._terms = layout, max_batch, terms
        self._fixed, self._device = fixed, device
        self._total = torch.empty(layout.coordinates, dtype=torch.float64, device=device)
        self._ruled: tuple[Partition, ClipRule] | None = None
        self._graph_rule = GraphClipRule(layout.blocks, max_batch=max_batch, terms=terms, device=device)
        self._bounds = torch.zeros(microbatch_size, layout.blocks, dtype=torch.float64, device=device)
        self._loaded: Loaded
        self._factored: Factored

    @torch.no_grad()
    def sum_and_squares(
        self, real: Tensor, fake: Tensor, mix: Tensor, partition: Partition, *, labels: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The clipped sum and the squared norms of one batch, in one pass.

        Args:
            real: (batch, inputs) vectors, (batch, columns) int64 cells of one-hot records, or (batch, channels, height,
                width) images.
            fake: (batch, inputs) or images, made for the same labels.
            mix: (batch,) in [0, 1): the weight of the real record in the interpolation of the gradient penalty.
            labels: (batch,) int64 where the critic has classes; else None, and a label of a table's record is among its
                cells.

        Returns:
            (coordinates,) float64 sum in flat layout, valid until the next call; (batch, blocks) float64 upper bounds
            of the squared norms, which rounding never lowers; not finite for a record that must not count. A record's
            squared norms are the same to the bit in every batch.
        """
        total = self._total.zero_()
        squares = torch.empty(real.shape[0], self._layout.blocks, dtype=torch.float64, device=self._device)
        rule = self._rule_of(partition)
        for piece, factored in self._microbatches(real, fake, mix, labels):
            bounds = self._measure(factored)
            squares[piece] = bounds[: len(squares[piece])]
            self._add(factored, rule.factors(bounds), total)
        return total, squares

    def clipped_sum(
        self, real: Tensor, fake: Tensor, mix: Tensor, partition: Partition, *, labels: Tensor | None = None
    ) -> Tensor:
        """(coordinates,) float64 sum of the clipped gradients, in flat layout; valid until the next call."""
        return self.sum_and_squares(real, fake, mix, partition, labels=labels)[0]

    @torch.no_grad()
    def fill(self, real: Tensor, fake: Tensor, mix: Tensor, *, labels: Tensor | None = None) -> None:
        """Load one microbatch of at most `microbatch_size` records; see `sum_and_squares` for the shapes."""
        self._loaded = self._load(real, fake, mix, labels)

    @torch.no_grad()
    def measure(self) -> None:
        """Make the factors of the loaded records and upper bounds of their squared norms. A CUDA graph can capture it."""
        self._read_weights()
        self._factored = self._factor(self._loaded)
        self._bounds.copy_(self._measure(self._factored))

    def rule(self, partition: Partition) -> None:
        """Clip by this partition from now on; call before the first `add`."""
        self._graph_rule.adopt(partition)

    @torch.no_grad()
    def add(self) -> None:
        """Make the clipped sum of what was measured. A CUDA graph can capture it.

        Call once after `measure`: the factors are scaled in place.
        """
        self._add(self._factored, self._graph_rule.factors(self._bounds), self._total.zero_())

    @property
    def filled(self) -> tuple[Tensor, Tensor]:
        """(coordinates,) float64 sum and (microbatch_size, blocks) float64 squared norms, valid until the next `fill`."""
        return self._total, self._bounds

    @torch.no_grad()
    def of_records(
        self, real: Tensor, fake: Tensor, mix: Tensor, *, labels: Tensor | None = None
    ) -> Iterator[Tensor]:
        """Everything made for each record alone: tensors (..., n, d) by microbatch, each valid until the next.

        Their bits depend on the record at a place and on nothing else; see `models.critic.placement_invariance`.
        """
        for _, factored in self._microbatches(real, fake, mix, labels):
            yield from self._of_each_record(factored)

    def _microbatches(
        self, real: Tensor, fake: Tensor, mix: Tensor, labels: Tensor | None
    ) -> Iterator[tuple[slice, Factored]]:
        """The factors of a batch, each microbatch with its place in the batch; none of an empty batch."""
        self._read_weights()
        for first in range(0, real.shape[0], self.microbatch_size):
            piece = slice(first, first + self.microbatch_size)
            own = None if labels is None else labels[piece]
            yield piece, self._factor(self._load(real[piece], fake[piece], mix[piece], own))

    def _rule_of(self, partition: Partition) -> ClipRule:
        if self._ruled is None or self._ruled[0] is not partition:
            rule = ClipRule(partition, max_batch=self._max_batch, terms=self._terms, device=self._device)
            self._ruled = (partition, rule)
        return self._ruled[1]

    @abstractmethod
    def _read_weights(self) -> None:
        """Prepare what depends on the critic's weights alone; called once a batch, before its first microbatch."""

    @abstractmethod
    def _load(self, real: Tensor, fake: Tensor, mix: Tensor, labels: Tensor | None) -> Loaded:
        """Copy one microbatch into static buffers and pad it."""

    @abstractmethod
    def _factor(self, loaded: Loaded) -> Factored:
        """Make the factors of the per-example gradients."""

    @abstractmethod
    def _measure(self, factors: Factored) -> Tensor:
        """(n, blocks) float64 upper bounds of the squared norms; NaN where a place must not count."""

    @abstractmethod
    def _add(self, factors: Factored, clips: Tensor, total: Tensor) -> None:
        """Add a microbatch's gradients times (n, blocks) clipping factors to the (coordinates,) sum."""

    @abstractmethod
    def _of_each_record(self, factors: Factored) -> Iterator[Tensor]:
        """See `of_records`."""
