"""The closed-form private step of a critic of images: norms and clipped sums, a chunk of public size at a time."""

import itertools
from collections.abc import Iterator
from typing import Final

import torch
from torch import Tensor

from models.critic.conv_factors import ConvFactoring, ConvFactors
from models.critic.conv_network import ConvCritic
from models.critic.factors import PLANES
from models.critic.layer_sums import layer_sum
from models.critic.unit import Unit
from models.dp.clipping import CANCELLATION_SHARE, ClipRule, Layout, Partition

CHUNK_NUMBERS: Final = 1 << 24
"""Numbers of the patches and gradients of one chunk at most: 64 MiB of float32."""
FEWEST, MOST = 4, 64
"""Records of a chunk at least and at most."""


class ConvForm:
    """The closed form for one critic of images. The methods are those of `models.critic.closed_form.ClosedForm`.

    Args:
        critic: read at every call; never changed here.
        layout: public blocks.
        gp_weight: weight of the gradient penalty.
        max_batch: public cap on the records of one batch, for the rounding allowance.
        at_once: records of a chunk; public. `records_at_once` unless told.
        fixed: see `models.critic.closed_form.ClosedForm`.
    """

    def __init__(
        self,
        critic: ConvCritic,
        layout: Layout,
        *,
        gp_weight: float,
        max_batch: int,
        at_once: int | None = None,
        fixed: bool = False,
    ) -> None:
        self.at_once = at_once or records_at_once(critic)
        self._fixed = fixed
        weight = critic.linear_layers()[0].weight
        dtype, self._device = weight.dtype, weight.device
        self._layout, self._max_batch = layout, max_batch
        self._factors_of = ConvFactoring(critic, gp_weight=gp_weight, at_once=self.at_once)
        rows_of_blocks = layout.rows_of_blocks
        self._sums = tuple(
            layer_sum(geometry, rows, self.at_once, dtype, device=self._device)
            for geometry, rows in zip(critic.geometries, rows_of_blocks[:-1], strict=True)
        )
        firsts = (int(layout.block_of_row(layer)[0]) for layer in range(len(self._sums)))
        self._blocks = tuple(
            slice(first, first + len(rows)) for first, rows in zip(firsts, rows_of_blocks, strict=False)
        )
        self._block_of_class = layout.block_of_row(len(self._sums)).to(self._device)
        self._numbers_of_blocks = torch.arange(layout.blocks, device=self._device)
        ends = tuple(itertools.accumulate((outputs * inputs for outputs, inputs in layout.shapes), initial=0))
        self._weights = tuple(slice(first, end) for first, end in itertools.pairwise(ends))
        self._first_bias = ends[-1]
        self._ruled: tuple[Partition, ClipRule] | None = None
        self._total = torch.empty(layout.coordinates, dtype=torch.float64, device=self._device)
        self._terms = max(PLANES, *(part.terms for part in self._sums))
        self._unit: Unit[int, ConvFactors] = Unit(
            self.at_once, layout.blocks, max_batch=max_batch, terms=self._terms, device=self._device
        )

    def block_norms(self, real: Tensor, fake: Tensor, mix: Tensor, *, labels: Tensor | None = None) -> Tensor:
        """(batch, blocks) float64 norms, see `sum_and_squares`; not finite for a record that must not count."""
        return self._pass(real, fake, mix, labels, None)[1].sqrt_()

    def clipped_sum(
        self, real: Tensor, fake: Tensor, mix: Tensor, partition: Partition, *, labels: Tensor | None = None
    ) -> Tensor:
        """(coordinates,) float64 sum of the clipped gradients, in flat layout; valid until the next call."""
        return self._pass(real, fake, mix, labels, partition)[0]

    def sum_and_squares(
        self, real: Tensor, fake: Tensor, mix: Tensor, partition: Partition, *, labels: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The clipped sum and the squared norms of one batch, in one pass.

        Args:
            real: (batch, channels, height, width).
            fake: alike, made for the same labels.
            mix: (batch,) in [0, 1): the weight of the real record in the interpolation.
            partition: groups and thresholds.
            labels: (batch,) int64, or None where the critic has no classes.

        Returns:
            (coordinates,) float64, valid until the next call; (batch, blocks) float64 squared norms that rounding
            never lowers; not finite for a record that must not count. A record's squared norms are the same to the
            bit in every batch.
        """
        return self._pass(real, fake, mix, labels, partition)

    def fill(self, real: Tensor, fake: Tensor, mix: Tensor, *, labels: Tensor | None = None) -> None:
        """See `models.critic.unit.UnitForm.fill`."""
        self._unit.given = self._factors_of.filled(real, fake, mix, labels)

    @torch.no_grad()
    def measure(self) -> None:
        """See `models.critic.unit.UnitForm.measure`."""
        self._unit.made = self._factors_of.of(self._unit.given)
        self._unit.bounds.copy_(self._measure(self._unit.made))

    def rule(self, partition: Partition) -> None:
        """See `models.critic.unit.UnitForm.rule`."""
        self._unit.rule.adopt(partition)

    @torch.no_grad()
    def add(self) -> None:
        """See `models.critic.unit.UnitForm.add`."""
        self._add(self._unit.made, self._unit.clips(), self._total.zero_())

    @property
    def filled(self) -> tuple[Tensor, Tensor]:
        """See `models.critic.unit.UnitForm.filled`."""
        return self._total, self._unit.bounds

    @torch.no_grad()
    def of_records(
        self, real: Tensor, fake: Tensor, mix: Tensor, *, labels: Tensor | None = None
    ) -> Iterator[Tensor]:
        """Whatever is made for each record alone, as tensors (n, d) chunk by chunk, each valid until the next.

        Their bits depend on the record at a place and on nothing else; see `models.critic.evenness`.
        """
        for factors in self._factors_of(real, fake, mix, labels):
            made = [*factors.left, *factors.right, *factors.biases, factors.features, self._measure(factors)]
            made.extend(numbers for part in self._sums for numbers in part.made())
            yield from (numbers.flatten(1) for numbers in made)

    @torch.no_grad()
    def _pass(
        self, real: Tensor, fake: Tensor, mix: Tensor, labels: Tensor | None, partition: Partition | None
    ) -> tuple[Tensor, Tensor]:
        total = self._total.zero_()
        squares = torch.empty(real.shape[0], self._layout.blocks, dtype=torch.float64, device=self._device)
        rule = None if partition is None else self._rule_of(partition)
        for number, factors in enumerate(self._factors_of(real, fake, mix, labels)):
            bounds = self._measure(factors)
            squares[number * self.at_once :][: factors.records] = bounds[: factors.records]
            if rule is not None:
                self._add(factors, rule.factors(bounds), total)
        return total, squares

    def _rule_of(self, partition: Partition) -> ClipRule:
        if self._ruled is None or self._ruled[0] is not partition:
            self._ruled = (
                partition,
                ClipRule(partition, max_batch=self._max_batch, terms=self._terms, device=self._device),
            )
        return self._ruled[1]

    def _measure(self, factors: ConvFactors) -> Tensor:
        """(n, blocks) float64 squared norms; NaN where a place must not count."""
        squares = torch.zeros(self.at_once, self._layout.blocks, dtype=torch.float64, device=self._device)
        for part, S, A, blocks in zip(self._sums, factors.left, factors.right, self._blocks, strict=True):
            part.measure(S, A, squares[:, blocks])
        own = self._block_of_class[factors.labels][:, None]
        # Not scattered: on a GPU torch holds that to be unrepeatable.
        squares += torch.where(self._numbers_of_blocks == own, squared_norms(factors.features)[:, None], 0.0)
        for bias in factors.biases:
            squares[:, self._layout.bias_block] += squared_norms(bias)
        return squares.masked_fill_(~factors.counts[:, None], torch.nan)

    def _add(self, factors: ConvFactors, clips: Tensor, total: Tensor) -> None:
        """Add a chunk's clipped gradients to the sum."""
        bad = clips[:, 0].eq(0.0)
        spoiled = bad if self._fixed or bool(bad.any()) else None
        for layer, part in enumerate(self._sums):
            weights = total[self._weights[layer]].view(self._layout.shapes[layer])
            part.add(clips[:, self._blocks[layer]], spoiled, weights)
        own = clips.gather(1, self._block_of_class[factors.labels][:, None])
        weights = total[self._weights[-1]].view(self._layout.shapes[-1])
        features = counted(factors.features, spoiled).mul_(own)
        if self._fixed:
            weights.addmm_(chosen(factors.labels, len(weights), torch.float64).T, features)
        else:
            weights.index_add_(0, factors.labels, features)
        first, clip = self._first_bias, clips[:, self._layout.bias_block]
        for bias in factors.biases:
            total[first : first + bias.shape[1]] += clip @ counted(bias, spoiled)
            first += bias.shape[1]  # the last layer has biases too, their gradient is zero


def records_at_once(critic: ConvCritic) -> int:
    """Records of a chunk, public: a power of two, so many that what is made of them stays below `CHUNK_NUMBERS`.

    More make fewer calls of larger products, measured to be faster up to here; and more places of the last chunk idle.
    """
    numbers = sum(
        PLANES * geometry.positions * geometry.inputs + geometry.inputs * geometry.outputs
        for geometry in critic.geometries
    )
    at_once = MOST
    while at_once > FEWEST and at_once * numbers > CHUNK_NUMBERS:
        at_once //= 2
    return at_once


def chosen(labels: Tensor, classes: int, dtype: torch.dtype) -> Tensor:
    """(n, classes), one at every label of (n,), else zero."""
    return (labels[:, None] == torch.arange(classes, device=labels.device)).to(dtype)


def squared_norms(numbers: Tensor) -> Tensor:
    """(n,) float64 squared norms of (n, d), raised by more than their rounding in float64."""
    norms: Tensor = torch.linalg.vector_norm(numbers.double(), dim=1)
    return norms.square_().mul_(1.0 + CANCELLATION_SHARE)


def counted(numbers: Tensor, spoiled: Tensor | None) -> Tensor:
    """(n, d) in float64, rows of spoiled records zero."""
    wide: Tensor = numbers.double()
    return wide if spoiled is None else wide.masked_fill_(spoiled[:, None], 0.0)
