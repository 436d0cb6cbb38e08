"""Per-record gradients of the WGAN-GP loss by `torch.func`, materialised: the reference for the closed forms.

Slow, because it keeps a float64 copy of every gradient. Each record is processed alone, in freshly allocated memory, so
that its gradient is the same to the bit in every batch.
"""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.func import functional_call, grad, vmap

from models.critic.conv_network import ConvCritic
from models.critic.network import Critic
from models.dp.clipping import ClipRule, Layout, Partition


class Reference:
    """Per-record gradients for one critic.

    Args:
        critic: read at every call.
        layout: public blocks.
        gp_weight: weight of the gradient penalty.
        max_batch: public cap on the records of one batch, for the rounding allowance.
        at_once: records worked through together. More than one is faster, and then the last bits of a gradient
            may depend on the other records: for measurements only.
    """

    def __init__(
        self,
        critic: Critic | ConvCritic,
        layout: Layout,
        *,
        gp_weight: float,
        max_batch: int,
        at_once: int = 1,
    ) -> None:
        self._critic = critic
        self._layout = layout
        self._gp_weight = gp_weight
        self._max_batch = max_batch
        self._at_once = at_once

    def gradients(self, real: Tensor, fake: Tensor, mix: Tensor, *, labels: Tensor | None = None) -> Tensor:
        """(batch, coordinates) gradients in flat layout, in the critic's precision."""
        empty = torch.zeros((0, self._layout.coordinates), dtype=fake.dtype)
        return torch.cat([empty, *(some for some, _ in self.of_records(real, fake, mix, labels))])

    def block_norms(self, real: Tensor, fake: Tensor, mix: Tensor, *, labels: Tensor | None = None) -> Tensor:
        """(batch, blocks) float64 norms; NaN or infinite for a record that must not count."""
        return self.of_batch(real, fake, mix, labels)[1].sqrt()

    def clipped_sum(
        self, real: Tensor, fake: Tensor, mix: Tensor, partition: Partition, *, labels: Tensor | None = None
    ) -> Tensor:
        """(coordinates,) float64 sum of the clipped gradients, in flat layout."""
        return self.sum_and_squares(real, fake, mix, partition, labels=labels)[0]

    def sum_and_squares(
        self, real: Tensor, fake: Tensor, mix: Tensor, partition: Partition, *, labels: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """(coordinates,) float64 sum of the clipped gradients and (batch, blocks) float64 squared norms."""
        gradients, squares = self.of_batch(real, fake, mix, labels)
        factors = ClipRule(partition, max_batch=self._max_batch).factors(squares)
        spread = torch.repeat_interleave(factors, torch.tensor(self._layout.sizes), dim=1)
        return torch.where(spread > 0.0, gradients, 0.0).mul_(spread).sum(dim=0), squares

    def of_batch(
        self, real: Tensor, fake: Tensor, mix: Tensor, labels: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """(batch, coordinates) float64 unclipped gradients and (batch, blocks) float64 squared norms."""
        gradients = [torch.zeros((0, self._layout.coordinates), dtype=torch.float64)]
        squares = [torch.zeros((0, self._layout.blocks), dtype=torch.float64)]
        for some, their_squares in self.of_records(real, fake, mix, labels):
            gradients.append(some.double())
            squares.append(their_squares)
        return torch.cat(gradients), torch.cat(squares)

    def of_records(
        self, real: Tensor, fake: Tensor, mix: Tensor, labels: Tensor | None = None
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Gradients and squared norms of the records, `at_once` at a time."""
        parameters = {name: value.detach() for name, value in self._critic.named_parameters()}
        layers = range(len(self._layout.shapes))
        for first in range(0, real.shape[0], self._at_once):
            # indexing by numbers copies, so what follows begins where an allocation does, whichever records these are
            some = torch.arange(first, min(first + self._at_once, real.shape[0]))
            per_record = vmap(grad(self._loss), in_dims=(None, 0, 0, 0, None if labels is None else 0))(
                parameters,
                real[some],
                fake[some],
                mix[some].to(real.dtype),
                None if labels is None else labels[some],
            )
            ordered = [
                per_record[f"layers.{layer}.{part}"] for part in ("weight", "bias") for layer in layers
            ]
            gradients = torch.cat([part.flatten(1) for part in ordered], dim=1)
            exact = gradients.double()
            squares = [exact[:, piece].square().sum(dim=1) for piece in self._layout.slices()]
            yield gradients, torch.stack(squares, dim=1)

    def _loss(
        self,
        parameters: dict[str, Tensor],
        real: Tensor,
        fake: Tensor,
        mix: Tensor,
        label: Tensor | None = None,
    ) -> Tensor:
        given = () if label is None else (label[None],)

        def score(x: Tensor) -> Tensor:
            return torch.as_tensor(functional_call(self._critic, parameters, (x[None], *given))).squeeze(0)

        between = torch.lerp(fake, real, mix)
        slope = grad(score)(between)
        squared = slope.square().sum()
        norm = torch.where(squared > 0.0, squared, 1.0).sqrt() * (squared > 0.0)
        penalty = self._gp_weight * (norm - 1.0).square()
        return torch.as_tensor(score(fake) - score(real) + penalty)
