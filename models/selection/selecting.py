"""A selection from beginning to end: candidates train on their parts, the last part chooses, the winner trains on all units.

Every training has its own key, derived from the job's key. So a selection that is resumed from any checkpoint, or run
again, makes the same candidates, counts the same errors, chooses the same winner and gives the same bytes. The
candidates' generators and their errors never leave (checkpoints are sealed). Only the winner's number leaves, and the
generator that the winner's plan trains on all units.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, Self

from core.plan.plan import Plan
from core.plan.selections.plan import SelectionPlan
from models.encoding import PrivateImages, PrivateTable
from models.randomness import KEY_BYTES, KeyedStreams, Purpose
from models.registry import make_synthesizer
from models.releases import NullRecorder, ReleaseRecorder
from models.selection.choice import choose
from models.selection.scoring import errors, judged_by
from models.selection.split import part_of, part_of_unit
from models.synthesizer import Synthesizer, TrainedGenerator, TrainedImageGenerator, TrainingHost

_MAGIC: Final = b"understudy.selection/1\n"
_DIGITS: Final = 19
"""Digits of a count of units in a checkpoint."""
SELECTING: Final = "measure"
"""The stage whose marks count the candidates that have begun."""
TRAINING: Final = "train"


class SelectionRecorder(Protocol):
    """Records the releases of a selection, training by training."""

    def candidate(self, number: int) -> ReleaseRecorder:
        """The recorder of a candidate's training on its part."""
        ...

    def choosing(self, errors: Sequence[int], *, epsilon: float) -> None:
        """See the private errors that the choice is about to use."""
        ...

    def chosen(self, number: int) -> int:
        """See the winner; returns the one that everything afterwards uses."""
        ...

    def final(self, number: int) -> ReleaseRecorder:
        """The recorder of the winner's training on all units."""
        ...


class NullSelectionRecorder:
    """Records nothing."""

    def candidate(self, number: int) -> ReleaseRecorder:  # noqa: ARG002 - the same for every candidate
        """A recorder that records nothing."""
        return NullRecorder()

    def choosing(self, errors: Sequence[int], *, epsilon: float) -> None:
        """Leave the private errors alone."""

    def chosen(self, number: int) -> int:
        """Leave the winner as it is."""
        return number

    def final(self, number: int) -> ReleaseRecorder:  # noqa: ARG002 - as above
        """A recorder that records nothing."""
        return NullRecorder()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Selected:
    """All that leaves a selection.

    Args:
        winner: number of the chosen candidate; released by the choice.
        generator: trained by the winner's plan on all units.
    """

    winner: int
    generator: TrainedGenerator | TrainedImageGenerator


@dataclass(slots=True, kw_only=True)
class _Progress:
    """The progress of a selection; private, because the errors are.

    Args:
        errors: of the candidates that are judged, in their order.
        training: the checkpoint of the current training; empty when it begins.
    """

    errors: list[int] = field(default_factory=list)
    training: bytes = b""

    def pack(self) -> bytes:
        # Counts are padded to one length: the size of a sealed checkpoint can be observed and must not depend on them.
        counts = [f"{count:0{_DIGITS}d}" for count in self.errors]
        return _MAGIC + json.dumps({"errors": counts}).encode() + b"\n" + self.training

    @classmethod
    def unpack(cls, state: bytes | None) -> Self:
        """The progress stored in a checkpoint; the beginning if there is no checkpoint of this version."""
        if state is None or not state.startswith(_MAGIC):
            return cls()
        line, _, training = state.removeprefix(_MAGIC).partition(b"\n")
        facts: dict[str, Any] = json.loads(line)
        return cls(errors=[int(count) for count in facts["errors"]], training=training)


class _Stage:
    """The host of one training inside a selection: its checkpoints are stored inside the selection's.

    Args:
        mark: translates a progress mark of the training into one of the selection.
    """

    def __init__(
        self, host: TrainingHost, progress: _Progress, mark: Callable[[str, int, int], tuple[str, int, int]]
    ) -> None:
        self._host, self._progress, self._mark = host, progress, mark

    def advance(self, *, stage: str, step: int, total: int) -> None:
        """Translate the mark and pass it on."""
        stage, step, total = self._mark(stage, step, total)
        self._host.advance(stage=stage, step=step, total=total)

    def load_checkpoint(self) -> bytes | None:
        """This training's checkpoint, if it has one."""
        return self._progress.training or None

    def checkpoint_due(self) -> bool:
        """Whether the selection's checkpoint is due."""
        return self._host.checkpoint_due()

    def save_checkpoint(self, state: bytes) -> None:
        """Store it inside the selection's checkpoint."""
        self._progress.training = state
        self._host.save_checkpoint(self._progress.pack())


class Selection:
    """One job of one selection plan.

    Args:
        private: all records, with a target.
        listening: records the releases; nothing by default.
        make: a synthesizer by name.
    """

    def __init__(
        self,
        private: PrivateTable | PrivateImages,
        plan: SelectionPlan,
        streams: KeyedStreams,
        host: TrainingHost,
        *,
        listening: SelectionRecorder | None = None,
        make: Callable[[str], Synthesizer] = make_synthesizer,
    ) -> None:
        self._private, self._plan, self._streams, self._host = private, plan, streams, host
        self._listening = listening or NullSelectionRecorder()
        self._make = make

    def run(self) -> Selected:
        """Run the plan from the latest checkpoint, or from the start."""
        progress = _Progress.unpack(self._host.load_checkpoint())
        self._judge_candidates(progress)
        epsilon = self._plan.choice.epsilon
        self._listening.choosing(progress.errors, epsilon=epsilon)
        winner = self._listening.chosen(choose(progress.errors, epsilon=epsilon, streams=self._streams))
        streams = self._streams_of(len(self._plan.candidates), self._listening.final(winner))
        host = _Stage(self._host, progress, self._final_mark)
        return Selected(
            winner=winner, generator=self._fit(self._private, self._plan.finals[winner], streams, host)
        )

    def _judge_candidates(self, progress: _Progress) -> None:
        """Train each candidate on its part, and count its errors on the last part."""
        parts = self._plan.parts
        part = part_of_unit(self._private.units, parts=parts, streams=self._streams)
        judged = judged_by(part_of(self._private, part == parts - 1))
        for number in range(len(progress.errors), parts - 1):
            streams = self._streams_of(number, self._listening.candidate(number))
            host = _Stage(self._host, progress, lambda *_, done=number + 1: (SELECTING, done, parts))
            generator = self._fit(
                part_of(self._private, part == number), self._plan.candidates[number], streams, host
            )
            progress.errors.append(errors(generator, judged, streams))
            progress.training = b""
            self._host.save_checkpoint(progress.pack())
        self._host.advance(stage=SELECTING, step=parts, total=parts)

    def _fit(
        self, private: PrivateTable | PrivateImages, plan: Plan, streams: KeyedStreams, host: TrainingHost
    ) -> TrainedGenerator | TrainedImageGenerator:
        return self._make(plan.synthesizer).fit(private, plan, streams, host)

    def _streams_of(self, number: int, releases: ReleaseRecorder) -> KeyedStreams:
        """The streams of one training. Each has its own key, because every training has a step 0."""
        return KeyedStreams(self._streams.bytes(Purpose.SELECTION_KEY, number, KEY_BYTES), releases=releases)

    def _final_mark(self, stage: str, step: int, total: int) -> tuple[str, int, int]:
        """Count steps of the longest final plan, so that marks do not depend on the winner's length."""
        return (stage, step, self._plan.steps) if stage == TRAINING else (stage, step, total)
