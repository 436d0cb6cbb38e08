"""The recorder of a job's releases, which the certificate quotes.

It keeps public facts only: which release, at which step, with how much noise. It never reads the private values that pass
the seam. Its record is stored inside the sealed checkpoints, so a resumed job knows what earlier attempts released.
"""

import json
import math
from collections.abc import Iterable
from typing import Final

from torch import Tensor

from core.artifacts.errors import ExecutionDiffers
from core.artifacts.execution import Executed, require_as_planned
from core.plan.image_anchor import ImageAnchorPlan
from core.plan.marginals import MarginalsPlan
from core.plan.plan import Plan
from core.plan.stages import AnchorPlan
from models.anchor import place_of, sensitivity_of
from models.randomness import Purpose

_MAGIC: Final = b"understudy.attempt/1\n"
_TOLERANCE: Final = 1e-9
"""Relative difference by rounding that is allowed between a sensitivity computed from thresholds and the plan's."""


class CertificateRecorder:
    """A `models.releases.ReleaseRecorder` that notes each release and checks its noise against the plan.

    Args:
        plan: what was charged.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._executed = Executed()

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
        learns = purpose == Purpose.LEARNING_NOISE
        charged = self._charged_for_learning(step) if learns else self._charged(Purpose(purpose), step)
        if charged is None or not sensitivity * charged <= 1 + _TOLERANCE:
            raise ExecutionDiffers

    def noisy(self, purpose: int, step: int, *released: Tensor) -> None:  # noqa: ARG002 - only that it came is noted
        """Note the release."""
        self._note(Purpose(purpose), step)

    def executed(self) -> Executed:
        """The releases so far, checked against the plan.

        Raises:
            ExecutionDiffers: it is not what was planned.
        """
        require_as_planned(self._executed, self._plan)
        return self._executed

    def beside(self, state: bytes) -> bytes:
        """A checkpoint's state with this record in front of it."""
        return _MAGIC + json.dumps(self._executed.to_json()).encode() + b"\n" + state

    def restored(self, kept: bytes) -> bytes | None:
        """Restore the record stored with a state, and return the state.

        Returns None for a state without a record, which an older version wrote: the job then starts again and replays
        the same releases.
        """
        if not kept.startswith(_MAGIC):
            return None
        line, _, state = kept.removeprefix(_MAGIC).partition(b"\n")
        self._executed = Executed.from_json(json.loads(line))
        return state

    def _charged(self, purpose: Purpose, step: int) -> float | None:
        """The planned noise multiplier of a release; None if the plan has no such release."""
        plan = self._plan
        match purpose:
            case Purpose.GRADIENT_NOISE if 0 <= step < plan.steps:
                return plan.noise_multiplier_at(step)
            case Purpose.ACTS_NOISE if plan.acts is not None and plan.is_refresh(step):
                return plan.acts.noise_multiplier / math.sqrt(plan.acts.groups)
            case Purpose.ANCHOR_NOISE if isinstance(plan.anchor, AnchorPlan):
                sensitivity = sensitivity_of(step, plan.anchor)
                return plan.anchor.noise_std / sensitivity if sensitivity else None
            case _ if isinstance(plan.anchor, ImageAnchorPlan | MarginalsPlan):
                place = _place(purpose, step, plan.anchor)
                return None if place is None else plan.anchor.parts[place].noise_multiplier
            case Purpose.LABEL_NOISE if plan.label_histogram is not None:
                return plan.label_histogram.noise_multiplier
            case _:
                return None

    def _charged_for_learning(self, step: int) -> float | None:
        learning = self._plan.learning
        return None if learning is None or step >= len(learning.releases) else learning.noise_multiplier

    def _note(self, purpose: Purpose, step: int) -> None:
        match purpose:
            case Purpose.LEARNING_NOISE:
                self._executed.learning.add(step)
            case Purpose.GRADIENT_NOISE:
                self._executed.gradients.add(step)
            case Purpose.ACTS_NOISE:
                self._executed.histograms.add(step)
            case Purpose.ANCHOR_NOISE if isinstance(self._plan.anchor, AnchorPlan):
                self._executed.anchor.add(place_of(step, self._plan.anchor))
            case Purpose.LABEL_NOISE:
                self._executed.label_histogram.add(step)
            case _:
                anchor = self._plan.anchor
                place = None
                if isinstance(anchor, ImageAnchorPlan | MarginalsPlan):
                    place = _place(purpose, step, anchor)
                if place is None:
                    raise ExecutionDiffers
                self._executed.anchor.add(place)


def _place(purpose: Purpose, step: int, anchor: ImageAnchorPlan | MarginalsPlan) -> int | None:
    """The index of a release among the Gaussians of its plan; None if the plan has no such release."""
    if isinstance(anchor, MarginalsPlan):
        rounds = range(anchor.rounds)
        return (
            {(Purpose.ONE_WAY_NOISE, 0): 0}
            | {(Purpose.SCORE_NOISE, number): 1 + 2 * number for number in rounds}
            | {(Purpose.MARGINAL_NOISE, number): 2 + 2 * number for number in rounds}
        ).get((purpose, step))
    places = {
        (Purpose.IMAGE_MEANS_NOISE, 0): 0,
        (Purpose.IMAGE_BASIS_NOISE, 0): 1,
        (Purpose.IMAGE_MOMENTS_NOISE, 0): 2 + anchor.rounds,
    } | {(Purpose.IMAGE_CELLS_NOISE, number): 2 + number for number in range(anchor.rounds)}
    return places.get((purpose, step))
