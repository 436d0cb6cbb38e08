"""The closed-form private step of a critic of images: norms and clipped sums, a microbatch at a time."""

import itertools
from abc import abstractmethod
from collections.abc import Iterator
from typing import Final

import torch
from torch import Tensor

from models.critic.clipped_form import ClippedForm
from models.critic.conv_factors import ConvFactoring, LayerFactors
from models.critic.conv_network import ConvCritic
from models.critic.factors import PLANES
from models.critic.layer_sums import layer_sum
from models.dp.clipping import CANCELLATION_SHARE, Layout

MICROBATCH_NUMBERS: Final = 1 << 24
"""Largest number of patch and gradient entries of one microbatch: 64 MiB of float32."""
FEWEST, MOST = 4, 64
"""Records of a microbatch at least and at most."""
SMALLEST_NORM: Final = 2.0**-500
"""Least bound on a norm in float64: squares of smaller numbers lose digits or all of their value, and the other factor of a product may be huge."""


class ImageForm(ClippedForm[None, LayerFactors]):
    """Shared parts of the closed forms of convolutional critics: all layers but the last, and the biases.

    Args:
        critic: read at every call; never changed here.
        planes: factor pairs of a record at every position.
        microbatch_size: records of a microbatch, written n in shapes; public. `conv_microbatch_size` if None.
    """

    def __init__(
        self,
        critic: ConvCritic,
        layout: Layout,
        *,
        planes: int,
        max_batch: int,
        microbatch_size: int | None,
        fixed: bool,
    ) -> None:
        weight = critic.linear_layers()[0].weight
        size = microbatch_size or conv_microbatch_size(critic)
        rows_of_blocks = layout.rows_of_blocks
        self._sums = tuple(
            layer_sum(geometry, rows, size, weight.dtype, planes=planes, device=weight.device)
            for geometry, rows in zip(critic.geometries, rows_of_blocks[:-1], strict=True)
        )
        super().__init__(
            layout,
            max_batch=max_batch,
            microbatch_size=size,
            terms=max(planes, *(part.terms for part in self._sums)),
            fixed=fixed,
            device=weight.device,
        )
        firsts = (int(layout.block_of_row(layer)[0]) for layer in range(len(self._sums)))
        self._blocks = tuple(
            slice(first, first + len(rows)) for first, rows in zip(firsts, rows_of_blocks, strict=False)
        )
        self._block_of_class = layout.block_of_row(len(self._sums)).to(self._device)
        ends = tuple(itertools.accumulate((outputs * inputs for outputs, inputs in layout.shapes), initial=0))
        self._weights = tuple(slice(first, end) for first, end in itertools.pairwise(ends))
        self._first_bias = ends[-1]

    def _read_weights(self) -> None:
        """Nothing: the weights are read where they lie."""

    def _measure(self, factors: LayerFactors) -> Tensor:
        """(n, blocks) float64 squared norms; NaN where a place must not count."""
        squares = torch.zeros(
            self.microbatch_size, self._layout.blocks, dtype=torch.float64, device=self._device
        )
        for part, S, A, blocks in zip(self._sums, factors.left, factors.right, self._blocks, strict=True):
            part.measure(S, A, squares[:, blocks])
        self._measure_last(factors, squares)
        for bias in factors.biases:
            squares[:, self._layout.bias_block] += squared_norms(bias)
        return squares.masked_fill_(~factors.counts[:, None], torch.nan)

    def _add(self, factors: LayerFactors, clips: Tensor, total: Tensor) -> None:
        """Add a microbatch's clipped gradients to the sum."""
        bad = clips[:, 0].eq(0.0)
        spoiled = bad if self._fixed or bool(bad.any()) else None
        for layer, part in enumerate(self._sums):
            weights = total[self._weights[layer]].view(self._layout.shapes[layer])
            part.add(clips[:, self._blocks[layer]], spoiled, weights)
        self._add_last(factors, clips, spoiled, total[self._weights[-1]].view(self._layout.shapes[-1]))
        first, clip = self._first_bias, clips[:, self._layout.bias_block]
        for bias in factors.biases:
            total[first : first + bias.shape[1]] += clip @ counted(bias, spoiled)
            first += bias.shape[1]  # a last layer without bias factors has biases too; their gradient is zero

    def _of_each_record(self, factors: LayerFactors) -> Iterator[Tensor]:
        made = [*factors.left, *factors.right, *factors.biases, factors.features, self._measure(factors)]
        made.extend(numbers for part in self._sums for numbers in part.made())
        yield from (numbers.flatten(1) for numbers in made)

    @abstractmethod
    def _measure_last(self, factors: LayerFactors, squares: Tensor) -> None:
        """Add the squared norms of the last layer's weights to (n, blocks)."""

    @abstractmethod
    def _add_last(
        self, factors: LayerFactors, clips: Tensor, spoiled: Tensor | None, weights: Tensor
    ) -> None:
        """Add the clipped gradients of the last layer's (rows, features) weights.

        Args:
            clips: (n, blocks) clipping factors.
            spoiled: (n,) bool, records whose numbers may not be finite and that count nothing; None if there are none.
            weights: added to.
        """


class ConvForm(ImageForm):
    """The closed form of one WGAN-GP critic of images.

    Args:
        critic: read at every call; never changed here.
    """

    def __init__(
        self,
        critic: ConvCritic,
        layout: Layout,
        *,
        gp_weight: float,
        max_batch: int,
        microbatch_size: int | None = None,
        fixed: bool = False,
    ) -> None:
        super().__init__(
            critic, layout, planes=PLANES, max_batch=max_batch, microbatch_size=microbatch_size, fixed=fixed
        )
        self._factoring = ConvFactoring(critic, gp_weight=gp_weight, microbatch_size=self.microbatch_size)
        self._numbers_of_blocks = torch.arange(layout.blocks, device=self._device)

    def _load(self, real: Tensor, fake: Tensor, mix: Tensor, labels: Tensor | None) -> None:
        self._factoring.load(real, fake, mix, labels)

    def _factor(self, loaded: None) -> LayerFactors:
        del loaded
        return self._factoring.of()

    def _measure_last(self, factors: LayerFactors, squares: Tensor) -> None:
        own = self._block_of_class[factors.labels][:, None]
        # Not a scatter: torch refuses it on a GPU as not deterministic.
        squares += torch.where(self._numbers_of_blocks == own, squared_norms(factors.features)[:, None], 0.0)

    def _add_last(
        self, factors: LayerFactors, clips: Tensor, spoiled: Tensor | None, weights: Tensor
    ) -> None:
        own = clips.gather(1, self._block_of_class[factors.labels][:, None])
        features = counted(factors.features, spoiled).mul_(own)
        if self._fixed:
            weights.addmm_(one_hot(factors.labels, len(weights), torch.float64).T, features)
        else:
            weights.index_add_(0, factors.labels, features)


def conv_microbatch_size(critic: ConvCritic) -> int:
    """Records of a microbatch, public: the largest power of two that keeps its tensors below `MICROBATCH_NUMBERS`.

    More records make fewer calls of larger products, measured to be faster up to here, but more padding.
    """
    numbers = sum(
        PLANES * geometry.positions * geometry.inputs + geometry.inputs * geometry.outputs
        for geometry in critic.geometries
    )
    size = MOST
    while size > FEWEST and size * numbers > MICROBATCH_NUMBERS:
        size //= 2
    return size


def one_hot(labels: Tensor, classes: int, dtype: torch.dtype) -> Tensor:
    """(n, classes), one at every label of (n,), else zero; unlike torch's it never waits for the device."""
    return (labels[:, None] == torch.arange(classes, device=labels.device)).to(dtype)


def squared_norms(numbers: Tensor) -> Tensor:
    """(n,) float64 squared norms of (n, d), raised by more than their rounding in float64 and to at least `SMALLEST_NORM` squared."""
    norms: Tensor = torch.linalg.vector_norm(numbers.double(), dim=1).clamp_(min=SMALLEST_NORM)
    return norms.square_().mul_(1.0 + CANCELLATION_SHARE)


def counted(numbers: Tensor, spoiled: Tensor | None) -> Tensor:
    """(n, d) in float64, rows of spoiled records zero."""
    wide: Tensor = numbers.double()
    return wide if spoiled is None else wide.masked_fill_(spoiled[:, None], 0.0)
