"""The recorders of a job's releases, which the certificate quotes: of a training, and of a selection among trainings.

They keep public facts only: which release, at which step, with how much noise. They never read the private values that
pass the seam. Their records are stored inside the sealed checkpoints, so a resumed job knows what earlier attempts released.
"""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, Generic, TypeVar

from torch import Tensor

from core.artifacts.errors import ExecutionDiffers
from core.artifacts.execution import Executed, require_as_planned
from core.artifacts.private_models.execution import ModelExecuted
from core.artifacts.selection_execution import SelectionExecuted
from core.plan.graphical import MarginalsPlan
from core.plan.images.anchor import ImageAnchorPlan
from core.plan.plan import Plan
from core.plan.selections.plan import SelectionPlan
from core.plan.stages import AnchorPlan
from models.randomness import Purpose
from models.tables.anchor import place_of, sensitivity_of

ExecutedT = TypeVar("ExecutedT", Executed, ModelExecuted)

_SELECTION_MAGIC: Final = b"understudy.selection-attempt/1\n"
_TOLERANCE: Final = 1e-9
"""Relative difference by rounding that is allowed between a sensitivity computed from thresholds and the plan's."""


class PlanRecorder(ABC, Generic[ExecutedT]):
    """A `models.releases.ReleaseRecorder` that notes each release and checks its noise against the plan.

    Attributes:
        MAGIC: begins a checkpoint that holds the record.
        EXECUTED: the record's class.
    """

    MAGIC: ClassVar[bytes]
    EXECUTED: type[ExecutedT]

    def __init__(self) -> None:
        self._executed: ExecutedT = self.EXECUTED()

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
        charged = self._charged(Purpose(purpose), step)
        if charged is None or not sensitivity * charged <= 1 + _TOLERANCE:
            raise ExecutionDiffers

    def noisy(self, purpose: int, step: int, *released: Tensor) -> None:  # noqa: ARG002 - only that it came is noted
        """Note the release."""
        self._note(Purpose(purpose), step)

    def beside(self, state: bytes) -> bytes:
        """A checkpoint's state with this record in front of it."""
        return self.MAGIC + json.dumps(self._executed.to_json()).encode() + b"\n" + state

    def restored(self, kept: bytes) -> bytes | None:
        """Restore the record stored with a state, and return the state.

        Returns None for a state without a record, which an older version wrote: the job then starts again and replays
        the same releases.
        """
        if not kept.startswith(self.MAGIC):
            return None
        line, _, state = kept.removeprefix(self.MAGIC).partition(b"\n")
        self._executed = self.EXECUTED.from_json(json.loads(line))
        return state

    @abstractmethod
    def _charged(self, purpose: Purpose, step: int) -> float | None:
        """The planned noise multiplier of a release; None if the plan has no such release."""

    @abstractmethod
    def _note(self, purpose: Purpose, step: int) -> None:
        """Note a release.

        Raises:
            ExecutionDiffers: the plan has no such release.
        """


class CertificateRecorder(PlanRecorder[Executed]):
    """The recorder of a training."""

    MAGIC = b"understudy.attempt/1\n"
    EXECUTED = Executed

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self._plan = plan

    def executed(self) -> Executed:
        """The releases so far, checked against the plan.

        Raises:
            ExecutionDiffers: it is not what was planned.
        """
        require_as_planned(self._executed, self._plan)
        return self._executed

    def _charged(self, purpose: Purpose, step: int) -> float | None:
        learns = purpose == Purpose.LEARNING_NOISE
        return self._charged_for_learning(step) if learns else self._charged_for_training(purpose, step)

    def _charged_for_training(self, purpose: Purpose, step: int) -> float | None:
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


class SelectionRecord:
    """A `models.selection.selecting.SelectionRecorder` that keeps a record of each training; ``plan`` is what was charged."""

    def __init__(self, plan: SelectionPlan) -> None:
        self.plan = plan
        self._candidates: dict[int, CertificateRecorder] = {}
        self._final: CertificateRecorder | None = None
        self._winner = -1

    def candidate(self, number: int) -> CertificateRecorder:
        """The record of a candidate's training, continued if it was begun."""
        return self._candidates.setdefault(number, CertificateRecorder(self.plan.candidates[number]))

    def choosing(self, errors: Sequence[int], *, epsilon: float) -> None:  # noqa: ARG002 - errors are private
        """Compare the choice with what was charged; the private errors are not read.

        Raises:
            ExecutionDiffers: the choice is made with another epsilon.
        """
        if epsilon != self.plan.choice.epsilon:
            raise ExecutionDiffers

    def chosen(self, number: int) -> int:
        """Note the winner."""
        self._winner = number
        return number

    def final(self, number: int) -> CertificateRecorder:
        """The record of the winner's training, continued if it was begun."""
        if self._final is None:
            self._final = CertificateRecorder(self.plan.finals[number])
        return self._final

    def executed(self) -> SelectionExecuted:
        """The releases so far, checked against the plan.

        Raises:
            ExecutionDiffers: it is not what was planned.
        """
        if self._final is None or sorted(self._candidates) != list(range(len(self.plan.candidates))):
            raise ExecutionDiffers
        return SelectionExecuted(
            winner=self._winner,
            candidates=tuple(self._candidates[number].executed() for number in sorted(self._candidates)),
            final=self._final.executed(),
        )

    def beside(self, state: bytes) -> bytes:
        """A checkpoint: the records so far, followed by the state."""
        kept: dict[str, Any] = {
            "candidates": {str(number): _kept(record) for number, record in self._candidates.items()},
            "winner": self._winner,
            "final": None if self._final is None else _kept(self._final),
        }
        return _SELECTION_MAGIC + json.dumps(kept).encode() + b"\n" + state

    def restored(self, kept: bytes) -> bytes | None:
        """Take over the records of a checkpoint. Returns its state.

        Returns None if the checkpoint holds no records: the job starts again and replays the same.
        """
        if not kept.startswith(_SELECTION_MAGIC):
            return None
        line, _, state = kept.removeprefix(_SELECTION_MAGIC).partition(b"\n")
        document: Mapping[str, Any] = json.loads(line)
        self._candidates = {
            int(number): _restored(self.plan.candidates[int(number)], text)
            for number, text in document["candidates"].items()
        }
        self._winner = int(document["winner"])
        if document["final"] is not None:
            self._final = _restored(self.plan.finals[self._winner], document["final"])
        return state


def _kept(record: CertificateRecorder) -> str:
    return record.beside(b"").decode()


def _restored(plan: Plan, kept: str) -> CertificateRecorder:
    record = CertificateRecorder(plan)
    record.restored(kept.encode())
    return record


def record_of(plan: Plan | SelectionPlan) -> CertificateRecorder | SelectionRecord:
    """An empty record of what this plan will release."""
    return SelectionRecord(plan) if isinstance(plan, SelectionPlan) else CertificateRecorder(plan)


def _place(purpose: Purpose, step: int, anchor: ImageAnchorPlan | MarginalsPlan) -> int | None:
    """The index of a release among the Gaussians of its plan; None if the plan has no such release."""
    if isinstance(anchor, MarginalsPlan):
        rounds = range(anchor.rounds)
        return (
            {(Purpose.ONE_WAY_NOISE, 0): 0}
            | {(Purpose.SCORE_NOISE, number): 1 + 2 * number for number in rounds}
            | {(Purpose.MARGINAL_NOISE, number): 2 + 2 * number for number in rounds}
        ).get((purpose, step))
    brightness = [] if anchor.brightness_noise_multiplier is None else [(Purpose.IMAGE_BRIGHTNESS_NOISE, 0)]
    releases = [
        *brightness,
        (Purpose.IMAGE_MEANS_NOISE, 0),
        (Purpose.IMAGE_BASIS_NOISE, 0),
        *((Purpose.IMAGE_CELLS_NOISE, number) for number in range(anchor.rounds)),
        (Purpose.IMAGE_MOMENTS_NOISE, 0),
    ]
    return releases.index((purpose, step)) if (purpose, step) in releases else None
