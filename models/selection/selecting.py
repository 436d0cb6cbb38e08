"""A selection from beginning to end: candidates on their parts, the choice on its part, the winner on all units.

All randomness comes from keys that the job's key derives for each training, so a selection that is resumed from any
checkpoint, or run again, makes the same candidates, counts the same errors, chooses the same winner and gives the same
bytes. The candidates' generators and their errors stay inside (checkpoints are sealed): only the winner's number leaves,
and the generator that the winner's plan makes of all units.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, Self

from core.synthesis.plan import Plan
from core.synthesis.selection import SelectionPlan
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
"""Of a count of units, in a checkpoint."""
SELECTING: Final = "measure"
"""The stage whose marks tell how many candidates have begun."""
TRAINING: Final = "train"


class Listening(Protocol):
    """Who listens where noise meets private values, training by training."""

    def candidate(self, number: int) -> ReleaseRecorder:
        """Of a candidate's training on its part."""
        ...

    def choosing(self, errors: Sequence[int], *, epsilon: float) -> None:
        """Meet what is about to be chosen by; private."""
        ...

    def chosen(self, number: int) -> int:
        """Meet the winner; returns the one that everything after this will see."""
        ...

    def final(self, number: int) -> ReleaseRecorder:
        """Of the winner's training on all units."""
        ...


class Nobody:
    """Nobody listens."""

    def candidate(self, number: int) -> ReleaseRecorder:  # noqa: ARG002 - to everybody alike
        """NullRecorder."""
        return NullRecorder()

    def choosing(self, errors: Sequence[int], *, epsilon: float) -> None:
        """Leave the private errors alone."""

    def chosen(self, number: int) -> int:
        """Leave the winner as it is."""
        return number

    def final(self, number: int) -> ReleaseRecorder:  # noqa: ARG002 - as above
        """NullRecorder."""
        return NullRecorder()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Selected:
    """All that leaves a selection.

    Args:
        winner: number of the chosen candidate; released by the choice.
        generator: what the winner's plan made of all units.
    """

    winner: int
    generator: TrainedGenerator | TrainedImageGenerator


@dataclass(slots=True, kw_only=True)
class _Progress:
    """How far a selection is; private, because errors are.

    Args:
        errors: of the candidates that are judged, in their order.
        training: the checkpoint of the training that runs; empty at its beginning.
    """

    errors: list[int] = field(default_factory=list)
    training: bytes = b""

    def pack(self) -> bytes:
        # All counts are equally long: how long a sealed checkpoint is can be seen, and must not tell of them.
        counts = [f"{count:0{_DIGITS}d}" for count in self.errors]
        return _MAGIC + json.dumps({"errors": counts}).encode() + b"\n" + self.training

    @classmethod
    def unpack(cls, state: bytes | None) -> Self:
        """The progress kept in a checkpoint; the beginning where there is none of this version."""
        if state is None or not state.startswith(_MAGIC):
            return cls()
        line, _, training = state.removeprefix(_MAGIC).partition(b"\n")
        facts: dict[str, Any] = json.loads(line)
        return cls(errors=[int(count) for count in facts["errors"]], training=training)


class _Stage:
    """The host of one training inside a selection: its checkpoints travel inside the selection's.

    Args:
        host: of the selection.
        progress: of the selection.
        mark: translates a mark of the training into one of the selection.
    """

    def __init__(
        self, host: TrainingHost, progress: _Progress, mark: Callable[[str, int, int], tuple[str, int, int]]
    ) -> None:
        self._host, self._progress, self._mark = host, progress, mark

    def advance(self, *, stage: str, step: int, total: int) -> None:
        """Mark it in the selection's terms."""
        stage, step, total = self._mark(stage, step, total)
        self._host.advance(stage=stage, step=step, total=total)

    def load_checkpoint(self) -> bytes | None:
        """What this training kept, if it had begun."""
        return self._progress.training or None

    def checkpoint_due(self) -> bool:
        """When the selection's is."""
        return self._host.checkpoint_due()

    def save_checkpoint(self, state: bytes) -> None:
        """Keep it inside the selection's."""
        self._progress.training = state
        self._host.save_checkpoint(self._progress.pack())


class Selection:
    """One job of one selection plan.

    Args:
        private: all records, with a target.
        plan: what to do.
        streams: all randomness of the job.
        host: durable progress and checkpoints.
        listening: who listens; nobody where not given.
        make: a synthesizer by name.
    """

    def __init__(
        self,
        private: PrivateTable | PrivateImages,
        plan: SelectionPlan,
        streams: KeyedStreams,
        host: TrainingHost,
        *,
        listening: Listening | None = None,
        make: Callable[[str], Synthesizer] = make_synthesizer,
    ) -> None:
        self._private, self._plan, self._streams, self._host = private, plan, streams, host
        self._listening = listening or Nobody()
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
        """Train each candidate on its part, and count what it gets wrong on the last part."""
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
        """The streams of one training: a key of its own, because every training has a step 0."""
        return KeyedStreams(self._streams.bytes(Purpose.SELECTION_KEY, number, KEY_BYTES), releases=releases)

    def _final_mark(self, stage: str, step: int, total: int) -> tuple[str, int, int]:
        """Steps are told of the longest final plan's, so that marks do not depend on the winner's length."""
        return (stage, step, self._plan.steps) if stage == TRAINING else (stage, step, total)
