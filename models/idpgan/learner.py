"""Training of a generator: optimiser, learning rates, exponential average. Reads no private record."""

import copy
import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from core.plan.options import IdpganOptions
from models.checkpoint import inside, load_module, under
from models.devices.placement import CPU
from models.dp.flat_adam import ordered_betas
from models.idpgan.adam import Adam

GENERATOR_BETAS = (0.5, 0.99)
"""Adam's betas, where neither the options nor the kind of generator sets others."""
LOWEST_RATE = 0.02
"""Share of the learning rate at the end of its cosine schedule."""


class Learner(ABC):
    """The generator with its optimiser and exponential average.

    Args:
        learning_rate: the highest; the options' if None.
        betas: of Adam, where the options set none.
    """

    def __init__(
        self,
        generator: nn.Module,
        options: IdpganOptions,
        *,
        learning_rate: float | None = None,
        betas: tuple[float, float] = GENERATOR_BETAS,
    ) -> None:
        self.average = copy.deepcopy(generator)
        self._module = generator
        self._options = options
        self._device = CPU
        self._updates = 0
        self._learning_rate = options.generator_learning_rate if learning_rate is None else learning_rate
        self._adam = Adam(generator.parameters(), betas=ordered_betas(options, betas))

    def move(self, device: torch.device) -> None:
        """Move to a device; call before the first step, and before `restore`."""
        self._device = device
        self._module.to(device)
        self.average.to(device)

    @abstractmethod
    def pretrain(self, step: int) -> None:
        """One step towards the moments alone."""

    def tensors(self) -> dict[str, Tensor]:
        """All state but the number of updates."""
        return {
            **under("generator", self._module.state_dict()),
            **under("average", self.average.state_dict()),
            **under("adam", self._adam.tensors()),
        }

    @property
    def updates(self) -> int:
        """Steps taken so far."""
        return self._updates

    def restore(self, tensors: dict[str, Tensor], *, updates: int) -> None:
        """Restore the results of `tensors` and `updates`."""
        load_module(self._module, "generator", tensors)
        load_module(self.average, "average", tensors)
        self._adam.restore(inside("adam", tensors))
        self._updates = updates

    def _update(self, loss: Tensor, rate: float) -> None:
        self._adam.descend(loss, rate=self._learning_rate * rate)
        self._updates += 1
        decay = min(self._options.ema_decay, self._updates / (self._updates + 9))
        with torch.no_grad():
            torch._foreach_lerp_(
                list(self.average.parameters()), list(self._module.parameters()), 1.0 - decay
            )


class Refiner(Learner):
    """A generator that is also trained against a critic."""

    @abstractmethod
    def refine(self, step: int, critic: nn.Module, *, progress: float) -> Tensor:
        """One step against the critic. Returns its scores of generated records, (rows,)."""


def cosine(progress: float) -> float:
    """The cosine schedule: the share of the learning rate at a share of the training."""
    return LOWEST_RATE + (1.0 - LOWEST_RATE) * 0.5 * (1.0 + math.cos(math.pi * min(progress, 1.0)))
