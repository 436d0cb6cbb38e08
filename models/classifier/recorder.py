"""The recorder of a classifier's releases, which its certificate quotes; see `models.release_recorder`."""

from typing import Any

from core.artifacts.private_models.execution import ModelExecuted
from core.plan.private_models.plan import ModelPlan
from models.dp.count_noise import GRID
from models.dp.noise import grid_bits
from models.randomness import Purpose
from models.release_recorder import PlanRecorder


class ModelRecorder(PlanRecorder[ModelExecuted]):
    """The recorder of a classifier's training."""

    MAGIC = b"understudy.model-attempt/1\n"
    EXECUTED = ModelExecuted

    def __init__(self, plan: ModelPlan) -> None:
        super().__init__()
        self.plan = plan

    def executed(self) -> ModelExecuted:
        """The releases so far, checked against the plan.

        Raises:
            ExecutionDiffers: it is not what was planned.
        """
        self._executed.require_as_planned(self.plan)
        return self._executed

    def _charged(self, purpose: Purpose, step: int) -> float | None:
        if purpose == Purpose.GRADIENT_NOISE:
            return self.plan.noise_multiplier if 0 <= step < self.plan.noisy_sums else None
        once = {
            Purpose.MODEL_COMPONENTS_NOISE: self.plan.pca_noise_multiplier,
            Purpose.MODEL_ACCURACY_NOISE: self.plan.accuracy_noise_multiplier,
        }
        return once.get(purpose) if step == 0 else None

    def _note(self, purpose: Purpose, step: int) -> None:
        noted = {
            Purpose.MODEL_COMPONENTS_NOISE: self._executed.components,
            Purpose.GRADIENT_NOISE: self._executed.gradients,
            Purpose.MODEL_ACCURACY_NOISE: self._executed.accuracy,
        }
        noted[purpose].add(step)


def model_grids(plan: ModelPlan) -> dict[str, Any]:
    """The public grids that sums and noise were rounded to, for the certificate."""
    return {
        "components": None if plan.pca_noise_multiplier is None else GRID,
        "steps": grid_bits(plan.noise_multiplier, plan.max_sampled_batch),
        "accuracy": None if plan.accuracy_noise_multiplier is None else GRID,
    }
