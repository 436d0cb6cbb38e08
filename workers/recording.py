"""The record of what a training released, and the report of it that a child stages for the certificate.

A record listens to every release of a training; a selection's listens to every training in it and to the choice. The
report is the same for every attempt of a job, to the byte. The parent holds it against what was claimed
(workers.publishing).
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import core
import models
import workers
from core.artifacts.errors import ExecutionDiffers
from core.artifacts.execution import SCHEMA
from core.artifacts.sampling.generator_check import MEMBER, GeneratorCheck
from core.artifacts.selection_execution import SelectionExecuted
from core.plan.plan import Plan
from core.plan.selection import SelectionPlan
from models.grids import noise_grid
from models.release_recorder import CertificateRecorder
from models.software import software_of
from workers.assignment import Assignment

_MAGIC: Final = b"understudy.selection-attempt/1\n"


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
        return _MAGIC + json.dumps(kept).encode() + b"\n" + state

    def restored(self, kept: bytes) -> bytes | None:
        """Take over the records of a checkpoint. Returns its state.

        Returns None if the checkpoint holds no records: the job starts again and replays the same.
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


def _kept(record: CertificateRecorder) -> str:
    return record.beside(b"").decode()


def _restored(plan: Plan, kept: str) -> CertificateRecorder:
    record = CertificateRecorder(plan)
    record.restored(kept.encode())
    return record


def record_of(plan: Plan | SelectionPlan) -> CertificateRecorder | SelectionRecord:
    """An empty record of what this plan will release."""
    return SelectionRecord(plan) if isinstance(plan, SelectionPlan) else CertificateRecorder(plan)


def report_of(
    work: Assignment, record: CertificateRecorder | SelectionRecord, generator_check: GeneratorCheck
) -> dict[str, Any]:
    """Report what ran to its end; in the staged bundle it stands where the signed certificate will.

    Args:
        work: What was to be done. The report has the order's date (see `Assignment.ordered_at`).
        record: What was released.
        generator_check: What the check of the generator found.

    Raises:
        ExecutionDiffers: the execution is not the plan's.
    """
    grids, synthesizers, executed = _executed(work, record)
    return {
        "schema": SCHEMA,
        "job_id": str(work.claim.job_id),
        "plan_digest": work.claim.plan.digest(),
        "ordered_at": work.ordered_at.isoformat(),
        "executed": executed,
        "noise_grid": grids,
        "software": software(*synthesizers),
        MEMBER: generator_check.to_json(),
    }


def software(*synthesizers: str) -> dict[str, Any]:
    """The certificate's member `software`: versions and hashes (models.software) of what took part.

    Args:
        synthesizers: The synthesizers that ran.
    """
    return software_of(core, models, workers, synthesizers=synthesizers)


def _executed(
    work: Assignment, record: CertificateRecorder | SelectionRecord
) -> tuple[dict[str, Any], list[str], dict[str, Any]]:
    """Noise grids, synthesizers and execution of a training, or of all trainings of a selection."""
    if isinstance(record, CertificateRecorder):
        plan = work.claim.plan
        assert isinstance(plan, Plan), "a selection has a record of its own"
        return noise_grid(plan), [plan.synthesizer], record.executed().to_json()
    executed, selection = record.executed(), record.plan
    grids = {
        "candidates": [noise_grid(one) for one in selection.candidates],
        "final": noise_grid(selection.finals[executed.winner]),
    }
    return grids, [one.synthesizer for one in selection.candidates], executed.to_json()
