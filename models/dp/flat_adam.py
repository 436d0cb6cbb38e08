"""Adam on one flat vector (Kingma and Ba 2015): post-processing of the noisy gradient."""

import math
from typing import Final

import torch
from torch import Tensor

from core.plan.options import IdpganOptions

EPSILON = 1e-8


def ordered_betas(options: IdpganOptions, usual: tuple[float, float]) -> tuple[float, float]:
    """Return Adam's decays: those that the options set, the usual ones for the rest."""
    first, second = usual
    return (
        first if options.adam_beta1 is None else options.adam_beta1,
        second if options.adam_beta2 is None else options.adam_beta2,
    )


SQUARE: Final = "adam.square"
"""Name of the second moments in a state; they are not negative."""


class FlatAdam:
    """Adam whose whole state is three plain values.

    Args:
        parameters: flat vector, updated in place.
        betas: decay of the first and second moments.
    """

    def __init__(self, parameters: Tensor, *, learning_rate: float, betas: tuple[float, float]) -> None:
        self._parameters = parameters
        self._learning_rate = learning_rate
        self._betas = betas
        self._steps = 0
        self._mean = torch.zeros_like(parameters)
        self._square = torch.zeros_like(parameters)
        self._scratch = torch.empty_like(parameters)

    @torch.no_grad()
    def step(self, gradient: Tensor, *, share: float = 1.0) -> None:
        """One update at a share of the learning rate."""
        first, second = self._betas
        self._steps += 1
        self._mean.lerp_(gradient, 1.0 - first)
        self._square.mul_(second).addcmul_(gradient, gradient, value=1.0 - second)
        correction = math.sqrt(1.0 - second**self._steps)
        # m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + e) = m correction / (1 - b1^t) / (sqrt(v) + e correction)
        torch.sqrt(self._square, out=self._scratch).add_(EPSILON * correction)
        rate = share * self._learning_rate * correction / (1.0 - first**self._steps)
        self._parameters.addcdiv_(self._mean, self._scratch, value=-rate)

    def state_dict(self) -> dict[str, Tensor]:
        """The number of steps, and the moments."""
        return {
            "adam.steps": torch.tensor(self._steps),
            "adam.mean": self._mean.clone(),
            SQUARE: self._square.clone(),
        }

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore the result of `state_dict`; other members are ignored."""
        self._steps = int(state["adam.steps"])
        self._mean.copy_(state["adam.mean"])
        self._square.copy_(state[SQUARE])
