"""Critic steps per generator step: fixed, or raised when the critic lags behind, judged on fakes only.

The adaptive rule (Bie, Kamath and Zhang 2023) reads the critic's accuracy on fakes. A WGAN critic has no absolute
threshold, so the accuracy is the share of the fakes at hand that the critic scores lower after its steps than the
fakes of the last generator step were scored on average before them: a critic that has learnt to detect fakes scores
them lower. When its running average stays at or below 0.7 after a grace period, the next rung is taken.
"""

from typing import Literal

import torch
from torch import Tensor

LADDER = (1, 2, 5, 10, 20, 50, 100, 200, 500)
FIRST_RUNG = 1
ENOUGH = 0.7
GRACE = 10
SMOOTHING = 0.9


class Pace:
    """Decides after which critic steps the generator moves.

    Args:
        critic_steps: the number, or "adaptive".
    """

    def __init__(self, critic_steps: int | Literal["adaptive"]) -> None:
        self._fixed = None if critic_steps == "adaptive" else critic_steps
        self._rung = FIRST_RUNG
        self._since = 0
        self._moves_on_rung = 0
        self._accuracy = 1.0
        self._reference = 0.0

    @property
    def steps(self) -> int:
        """Critic steps per generator step at present."""
        return self._fixed if self._fixed is not None else LADDER[self._rung]

    def tick(self) -> bool:
        """Count one critic step; whether the generator moves now."""
        self._since += 1
        if self._since < self.steps:
            return False
        self._since = 0
        return True

    def observe(self, scores: Tensor) -> None:
        """Update the accuracy from the critic's scores of the generator step's records; a fixed pace ignores it."""
        accuracy = float((scores < self._reference).double().mean())
        self._reference = float(scores.double().mean())
        self._accuracy = SMOOTHING * self._accuracy + (1.0 - SMOOTHING) * accuracy
        self._moves_on_rung += 1
        if self._moves_on_rung > GRACE and self._accuracy <= ENOUGH and self._rung + 1 < len(LADDER):
            self._rung += 1
            self._moves_on_rung = 0
            self._accuracy = 1.0

    def state(self) -> Tensor:
        """All state, (5,) float64. Its size is constant, so that the size of a checkpoint reveals nothing."""
        numbers = (self._rung, self._since, self._moves_on_rung, self._accuracy, self._reference)
        return torch.tensor(numbers, dtype=torch.float64)

    def restore(self, state: Tensor) -> None:
        """Restore the result of `state`."""
        rung, since, moves_on_rung, self._accuracy, self._reference = state.tolist()
        self._rung, self._since, self._moves_on_rung = int(rung), int(since), int(moves_on_rung)
