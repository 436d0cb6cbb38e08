"""Listening, in a selection's job, to what every training in it releases, and to who wins."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from core.releases.errors import ExecutionDiffers
from core.releases.selection_execution import SelectionExecuted
from core.synthesis.plan import Plan
from core.synthesis.selection import SelectionPlan
from models.recording import Record

_MAGIC: Final = b"understudy.selection-attempt/1\n"


class SelectionRecord:
    """A `models.selection.selecting.Listening` that keeps a record of each training.

    Args:
        plan: what was charged.
    """

    def __init__(self, plan: SelectionPlan) -> None:
        self.plan = plan
        self._candidates: dict[int, Record] = {}
        self._final: Record | None = None
        self._winner = -1

    def candidate(self, number: int) -> Record:
        """The record of a candidate's training, kept on where it was begun."""
        return self._candidates.setdefault(number, Record(self.plan.candidates[number]))

    def choosing(self, errors: Sequence[int], *, epsilon: float) -> None:  # noqa: ARG002 - errors are private
        """Leave the private errors alone, and compare the choice with what was charged.

        Raises:
            ExecutionDiffers: it is made with another epsilon.
        """
        if epsilon != self.plan.choice.epsilon:
            raise ExecutionDiffers

    def chosen(self, number: int) -> int:
        """Note the winner."""
        self._winner = number
        return number

    def final(self, number: int) -> Record:
        """The record of the winner's training, kept on where it was begun."""
        if self._final is None:
            self._final = Record(self.plan.finals[number])
        return self._final

    def executed(self) -> SelectionExecuted:
        """What was released, held against the plan.

        Raises:
            ExecutionDiffers: it is something else.
        """
        if self._final is None or sorted(self._candidates) != list(range(len(self.plan.candidates))):
            raise ExecutionDiffers
        return SelectionExecuted(
            winner=self._winner,
            candidates=tuple(self._candidates[number].executed() for number in sorted(self._candidates)),
            final=self._final.executed(),
        )

    def beside(self, state: bytes) -> bytes:
        """A checkpoint's state together with the records so far."""
        kept: dict[str, Any] = {
            "candidates": {str(number): _kept(record) for number, record in self._candidates.items()},
            "winner": self._winner,
            "final": None if self._final is None else _kept(self._final),
        }
        return _MAGIC + json.dumps(kept).encode() + b"\n" + state

    def restored(self, kept: bytes) -> bytes | None:
        """Take over the records kept beside a state; returns the state.

        None where nothing was kept beside it: then the job starts again and replays the same.
        """
        if not kept.startswith(_MAGIC):
            return None
        line, _, state = kept.removeprefix(_MAGIC).partition(b"\n")
        document: Mapping[str, Any] = json.loads(line)
        self._candidates = {
            int(number): _restored(self.plan.candidates[int(number)], text)
            for number, text in document["candidates"].items()
        }
        self._winner = int(document["winner"])
        if document["final"] is not None:
            self._final = _restored(self.plan.finals[self._winner], document["final"])
        return state


def _kept(record: Record) -> str:
    return record.beside(b"").decode()


def _restored(plan: Plan, kept: str) -> Record:
    record = Record(plan)
    record.restored(kept.encode())
    return record
