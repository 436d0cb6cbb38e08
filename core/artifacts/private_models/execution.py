"""The recorded releases of a classifier's training."""

from dataclasses import dataclass, field
from typing import Self

from core.artifacts.errors import ExecutionDiffers, InvalidCertificate
from core.artifacts.execution import RecordedSteps, Steps
from core.plan.private_models.plan import ModelPlan
from core.values import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelExecuted(Value):
    """All releases of one training.

    Attributes:
        components: Steps of the noisy second moments: one, the first, or none.
        gradients: Steps of the noisy clipped sums; where weights are averaged, by round, owner and step of the round.
        accuracy: Steps of the noisy number of wrong answers: one, the first, or none.
    """

    UNREADABLE = InvalidCertificate, "the record of releases lacks a kind or has one of the wrong form"

    components: Steps = field(default_factory=RecordedSteps)
    gradients: Steps = field(default_factory=RecordedSteps)
    accuracy: Steps = field(default_factory=RecordedSteps)

    @classmethod
    def planned(cls, plan: ModelPlan) -> Self:
        """The releases of a plan that runs to its end."""
        return cls(
            components=RecordedSteps.of(every=1, count=int(plan.pca_noise_multiplier is not None)),
            gradients=RecordedSteps.of(every=1, count=plan.noisy_sums),
            accuracy=RecordedSteps.of(every=1, count=int(plan.accuracy_noise_multiplier is not None)),
        )

    def require_as_planned(self, plan: ModelPlan) -> None:
        """Compare the recorded releases with the plan that was charged.

        Raises:
            ExecutionDiffers: a release is missing, came twice or out of order, or was never planned.
        """
        if self != ModelExecuted.planned(plan):
            raise ExecutionDiffers
