"""The reference: per-record gradients of the WGAN-GP loss by `torch.func`, materialised.

Slow (30 to 80 times the ordinary step) and plain: what the closed form is tested against, and what serves a critic
that is not made of linear layers and piecewise-linear activations.
"""

import torch
from torch import Tensor
from torch.func import functional_call, grad, vmap

from models.critic.network import Critic
from models.dp.clipping import ClipRule, Layout, Partition


class Reference:
    """Per-record gradients for one critic.

    Args:
        critic: read at every call.
        layout: public blocks.
        gp_weight: weight of the gradient penalty.
        max_batch: public cap on the records of one batch, for the rounding allowance.
    """

    def __init__(self, critic: Critic, layout: Layout, *, gp_weight: float, max_batch: int) -> None:
        self._critic = critic
        self._layout = layout
        self._gp_weight = gp_weight
        self._max_batch = max_batch

    def gradients(self, real: Tensor, fake: Tensor, mix: Tensor) -> Tensor:
        """(batch, coordinates) gradients in flat layout, in the critic's precision."""
        if real.shape[0] == 0:
            return real.new_zeros((0, self._layout.coordinates))
        parameters = {name: value.detach() for name, value in self._critic.named_parameters()}
        per_record = vmap(grad(self._loss), in_dims=(None, 0, 0, 0))(
            parameters, real, fake, mix.to(real.dtype)
        )
        layers = range(len(self._layout.shapes))
        ordered = [per_record[f"layers.{layer}.{part}"] for part in ("weight", "bias") for layer in layers]
        return torch.cat([part.flatten(1) for part in ordered], dim=1)

    def block_norms(self, real: Tensor, fake: Tensor, mix: Tensor) -> Tensor:
        """(batch, blocks) float64 norms; NaN or infinite for a record that must not count."""
        return self._squares(self.gradients(real, fake, mix).double()).sqrt()

    def clipped_sum(self, real: Tensor, fake: Tensor, mix: Tensor, partition: Partition) -> Tensor:
        """(coordinates,) float64 sum of the clipped gradients, in flat layout."""
        gradients = self.gradients(real, fake, mix).double()
        factors = ClipRule(partition, max_batch=self._max_batch).factors(self._squares(gradients))
        spread = torch.repeat_interleave(factors, torch.tensor(self._layout.sizes), dim=1)
        return torch.where(spread > 0.0, gradients, 0.0).mul_(spread).sum(dim=0)

    def _squares(self, gradients: Tensor) -> Tensor:
        return torch.stack(
            [gradients[:, piece].square().sum(dim=1) for piece in self._layout.slices()], dim=1
        )

    def _loss(self, parameters: dict[str, Tensor], real: Tensor, fake: Tensor, mix: Tensor) -> Tensor:
        def score(x: Tensor) -> Tensor:
            return torch.as_tensor(functional_call(self._critic, parameters, (x[None],))).squeeze(0)

        between = torch.lerp(fake, real, mix)
        slope = grad(score)(between)
        squared = slope.square().sum()
        norm = torch.where(squared > 0.0, squared, 1.0).sqrt() * (squared > 0.0)
        penalty = self._gp_weight * (norm - 1.0).square()
        return torch.as_tensor(score(fake) - score(real) + penalty)
