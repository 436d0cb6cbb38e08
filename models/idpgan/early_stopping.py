"""Early stopping of the generator's training on noisy counts, by validation counts (`models.idpgan.noise_split`).

Steps are counted from one. The generator is evaluated after step `FIRST_EVALUATION` and after each growth of the number of steps
by `EVALUATION_RATIO`. It replaces the best one if it is nearer to the validation counts by more than one standard deviation of
the difference. Training ends after `PATIENCE` evaluations without a new best, or after `TRAINING_SHARE` of all steps. A
cooldown follows: the best generator trains on all counts, with a falling rate, for `COOLDOWN_SHARE` of the steps it had taken.
At last it trains for `SHRINKAGE_STEPS` on the counts shrunk towards its own (`models.idpgan.shrinkage`).
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor

FIRST_EVALUATION, EVALUATION_RATIO = 50, 2**0.5
PATIENCE = 3
TRAINING_SHARE, COOLDOWN_SHARE = 0.8, 0.25
SHRINKAGE_STEPS = 300
_FEWEST_COOLDOWN_STEPS = 10


@dataclass(kw_only=True)
class EarlyStopping:
    """The state of early stopping.

    Args:
        total: most steps of all three parts.
        best_step: step of the best evaluation; 0 before the first.
        without_improvement: evaluations since.
        cooldown_from: steps before the cooldown; 0 until it begins.
        best: state of the best generator; empty before the first evaluation and in the cooldown.
    """

    total: int
    best_step: int = 0
    without_improvement: int = 0
    cooldown_from: int = 0
    best: dict[str, Tensor] = field(default_factory=dict)

    @staticmethod
    def evaluates_at(step: int) -> bool:
        """Return whether the generator is evaluated after a step."""
        evaluation = float(FIRST_EVALUATION)
        while round(evaluation) < step:
            evaluation *= EVALUATION_RATIO
        return round(evaluation) == step

    def record(self, step: int, state: dict[str, Tensor], *, improvement: float, deviation: float) -> None:
        """Take an evaluation into account; copies the state if it is the new best.

        Args:
            step: after which the generator was evaluated.
            state: of the generator.
            improvement: decrease of the squared distance to the validation counts, against the best.
            deviation: standard deviation of `improvement`.
        """
        if not self.best or improvement > deviation:
            self.best = {name: tensor.detach().clone() for name, tensor in state.items()}
            self.best_step, self.without_improvement = step, 0
        else:
            self.without_improvement += 1

    def stops(self, step: int) -> bool:
        """Return whether training on the training counts ends after a step."""
        return self.without_improvement >= PATIENCE or step >= TRAINING_SHARE * self.total

    def begin_cooldown(self, step: int) -> dict[str, Tensor]:
        """Begin the cooldown after a step. Returns the best state, empty if there was no evaluation."""
        self.cooldown_from, self.best_step = step, self.best_step or step
        best, self.best = self.best, {}
        return best

    @property
    def cooldown_steps(self) -> int:
        """Length of the cooldown."""
        wanted, left = round(COOLDOWN_SHARE * self.best_step), self.total - self.cooldown_from
        return min(max(_FEWEST_COOLDOWN_STEPS, wanted), left - min(SHRINKAGE_STEPS, left // 2))

    @property
    def shrinkage_from(self) -> int:
        """Steps before training on shrunken counts, once the cooldown has begun."""
        return self.cooldown_from + self.cooldown_steps

    @property
    def shrinkage_steps(self) -> int:
        """Length of the training on shrunken counts."""
        return min(SHRINKAGE_STEPS, self.total - self.shrinkage_from)

    def shrinks(self, step: int) -> bool:
        """Return whether a step is on shrunken counts."""
        return self.cooldown_from > 0 and step >= self.shrinkage_from

    def finished(self, step: int) -> bool:
        """Return whether all three parts have ended after a step."""
        return step >= self.total or self.shrinks(step - self.shrinkage_steps)

    def tensors(self) -> dict[str, Tensor]:
        """Return the state for a checkpoint."""
        counts = [self.best_step, self.without_improvement, self.cooldown_from]
        return {"counts": torch.tensor(counts), **self.best}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Read what `tensors` returned."""
        self.best = {name: tensor for name, tensor in tensors.items() if name != "counts"}
        self.best_step, self.without_improvement, self.cooldown_from = (int(one) for one in tensors["counts"])
