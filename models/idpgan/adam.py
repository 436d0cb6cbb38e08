"""Adam (Kingma and Ba 2015) on the tensors of a network: torch's own operations in its order, so the same bits.

Torch's own Adam imports the compiler in its first step, which costs every training a second.
"""

import math
from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

EPSILON = 1e-8


class Adam:
    """Adam whose state is moments by the position of their parameter.

    Args:
        parameters: updated in place, on the device where they are at the first step.
        betas: decay of the first and second moments.
    """

    def __init__(self, parameters: Iterable[Tensor], *, betas: tuple[float, float] = (0.9, 0.999)) -> None:
        self._parameters = list(parameters)
        self._betas = betas
        self._steps = 0
        self._means: list[Tensor] = []
        self._squares: list[Tensor] = []

    @torch.no_grad()
    def descend(self, loss: Tensor, *, rate: float) -> None:
        """One update down a loss at a learning rate."""
        with torch.enable_grad():
            gradients = torch.autograd.grad(loss, self._parameters)
        if not self._means:
            self._means, self._squares = self._zeros(), self._zeros()
        first, second = self._betas
        self._steps += 1
        torch._foreach_lerp_(self._means, gradients, 1.0 - first)
        torch._foreach_mul_(self._squares, second)
        torch._foreach_addcmul_(self._squares, gradients, gradients, value=1.0 - second)
        scales = [square.sqrt() for square in self._squares]
        torch._foreach_div_(scales, math.sqrt(1.0 - second**self._steps))
        torch._foreach_add_(scales, EPSILON)
        torch._foreach_addcdiv_(
            self._parameters, self._means, scales, value=-rate / (1.0 - first**self._steps)
        )

    def tensors(self) -> dict[str, Tensor]:
        """Moments and step counts; nothing before the first step."""
        moments = zip(self._means, self._squares, strict=True)
        named = [
            {"step": torch.tensor(float(self._steps)), "exp_avg": mean, "exp_avg_sq": square}
            for mean, square in moments
        ]
        return {
            f"{index}.{name}": value for index, entry in enumerate(named) for name, value in entry.items()
        }

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore the result of `tensors`."""
        self._steps, self._means, self._squares = 0, [], []
        if tensors:
            self._steps = int(tensors["0.step"])
            self._means, self._squares = self._zeros(), self._zeros()
            for index, (mean, square) in enumerate(zip(self._means, self._squares, strict=True)):
                mean.copy_(tensors[f"{index}.exp_avg"])
                square.copy_(tensors[f"{index}.exp_avg_sq"])

    def _zeros(self) -> list[Tensor]:
        return [torch.zeros_like(parameter, requires_grad=False) for parameter in self._parameters]
