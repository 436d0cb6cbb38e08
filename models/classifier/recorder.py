"""The recorder of a classifier's releases, which its certificate quotes; see `models.release_recorder`."""

import json
from collections.abc import Iterable
from typing import Any, Final

from torch import Tensor

from core.artifacts.errors import ExecutionDiffers
from core.artifacts.model_execution import ModelExecuted
from core.plan.model_plan import ModelPlan
from models.dp.count_noise import GRID
from models.dp.noise import grid_bits
from models.randomness import Purpose

_MAGIC: Final = b"understudy.model-attempt/1\n"
_TOLERANCE: Final = 1e-9
"""Relative difference from the plan's sensitivity that rounding alone explains."""


class ModelRecorder:
    """A `models.releases.ReleaseRecorder` that notes each release and checks its noise against the plan.

    Args:
        plan: what was charged.
    """

    def __init__(self, plan: ModelPlan) -> None:
        self.plan = plan
        self._executed = ModelExecuted()

    def exact(
        self,
        purpose: int,
        step: int,
        parts: Iterable[tuple[Tensor, float]],  # noqa: ARG002 - private, and never read
        *,
        sensitivity: float,
    ) -> None:
        """Compare the stated sensitivity with what was charged; the private values are not read.

        Raises:
            ExecutionDiffers: the plan has no such release, or a release with more noise.
        """
        charged = self._charged(purpose, step)
        if charged is None or not sensitivity * charged <= 1 + _TOLERANCE:
            raise ExecutionDiffers

    def noisy(self, purpose: int, step: int, *released: Tensor) -> None:  # noqa: ARG002 - only that it came is noted
        """Note the release."""
        heard = {
            Purpose.MODEL_COMPONENTS_NOISE: self._executed.components,
            Purpose.GRADIENT_NOISE: self._executed.gradients,
            Purpose.MODEL_ACCURACY_NOISE: self._executed.accuracy,
        }
        heard[Purpose(purpose)].add(step)

    def executed(self) -> ModelExecuted:
        """The releases so far, checked against the plan.

        Raises:
            ExecutionDiffers: it is not what was planned.
        """
        self._executed.require_as_planned(self.plan)
        return self._executed

    def beside(self, state: bytes) -> bytes:
        """A checkpoint's state with this record in front of it."""
        return _MAGIC + json.dumps(self._executed.to_json()).encode() + b"\n" + state

    def restored(self, kept: bytes) -> bytes | None:
        """Restore the record stored with a state, and return the state; None for a state without a record."""
        if not kept.startswith(_MAGIC):
            return None
        line, _, state = kept.removeprefix(_MAGIC).partition(b"\n")
        self._executed = ModelExecuted.from_json(json.loads(line))
        return state

    def _charged(self, purpose: int, step: int) -> float | None:
        """The planned noise multiplier of a release; None if the plan has no such release."""
        if purpose == Purpose.GRADIENT_NOISE:
            return self.plan.noise_multiplier if 0 <= step < self.plan.steps else None
        once = {
            Purpose.MODEL_COMPONENTS_NOISE: self.plan.pca_noise_multiplier,
            Purpose.MODEL_ACCURACY_NOISE: self.plan.accuracy_noise_multiplier,
        }
        return once.get(Purpose(purpose)) if step == 0 else None


def model_grids(plan: ModelPlan) -> dict[str, Any]:
    """The public grids that sums and noise were rounded to, for the certificate."""
    return {
        "components": None if plan.pca_noise_multiplier is None else GRID,
        "steps": grid_bits(plan.noise_multiplier, plan.max_sampled_batch),
        "accuracy": None if plan.accuracy_noise_multiplier is None else GRID,
    }
