"""Gradient descent with momentum on one flat vector (Polyak 1964): post-processing of the noisy gradient."""

from typing import Final

import torch
from torch import Tensor

MOMENTUM: Final = 0.9


class FlatMomentum:
    """Heavy-ball descent whose whole state is one vector.

    Args:
        parameters: flat vector, updated in place.
        learning_rate: positive.
    """

    def __init__(self, parameters: Tensor, *, learning_rate: float) -> None:
        self._parameters = parameters
        self._learning_rate = learning_rate
        self._velocity = torch.zeros_like(parameters)

    @torch.no_grad()
    def step(self, gradient: Tensor, *, share: float = 1.0) -> None:
        """One update at a share of the learning rate."""
        self._velocity.mul_(MOMENTUM).add_(gradient)
        self._parameters.add_(self._velocity, alpha=-share * self._learning_rate)

    def state_dict(self) -> dict[str, Tensor]:
        """The velocity."""
        return {"momentum.velocity": self._velocity.clone()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore the result of `state_dict`; other members are ignored."""
        self._velocity.copy_(state["momentum.velocity"])
