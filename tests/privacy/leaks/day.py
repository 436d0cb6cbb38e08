"""A training that ends when a test says, under a clock that goes on only while it trains and while the worker waits.

Everything around the stand-in is real: the claim, the heartbeat, the wait, the ledger, the view that polling answers.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

import pytest

from core.clock import FixedClock
from core.jobs.claims import held_claim
from service.jobs.schemas import JobView
from tests.memory_queue import MemoryQueue
from tests.service.world import NOON
from tests.workers.support import Workshop, environment_of
from workers import attempts
from workers.child import Child, Outcome
from workers.training import Trainer

BUCKET = 10.0
HEARTBEAT = 4.0


class Look(NamedTuple):
    """What a reader sees."""

    seconds: float  # since noon, when the job was claimed
    state: str
    step: int


@dataclass
class Day:
    """A clock that goes on only while the stand-in trains and while the worker waits."""

    workshop: Workshop
    clock: FixedClock
    job_id: UUID

    @property
    def seconds(self) -> float:
        return (self.clock.now() - NOON).total_seconds()

    def look(self) -> Look:
        view = JobView.of(self.workshop.job(self.job_id), release_id=None, now=self.clock.now())
        return Look(self.seconds, view.state, view.progress.step)

    def train(
        self,
        monkeypatch: pytest.MonkeyPatch,
        *,
        outcome: Outcome,
        after: float,
        marks: tuple[tuple[float, int], ...] = (),
        cancel_at: float | None = None,
    ) -> list[Look]:
        """One attempt. Returns what a reader saw at every moment at which anything happened.

        Args:
            monkeypatch: Puts the stand-in into place.
            outcome: How the training ends.
            after: How many seconds after the claim it ends.
            marks: Seconds and step of each mark it makes on its way, with a heartbeat after each.
            cancel_at: When a person cancels, if that is while the worker waits.
        """
        seen: list[Look] = []

        def stand_in(child: Child, *, heartbeat: Any, **_: object) -> Outcome:
            child.kill()
            for moment, step in marks:
                self.clock.at = NOON + timedelta(seconds=moment)
                with self.workshop.database.read_only() as session:
                    claim = held_claim(session, self.job_id, fence=1)
                self.workshop.advance(claim, stage="train", step=step)
                seen.append(self.look())
                heartbeat()
                seen.append(self.look())
            self.clock.at = NOON + timedelta(seconds=after)
            seen.append(self.look())
            return outcome

        def sleep(seconds: float) -> None:
            self.clock.advance(seconds=seconds)
            if cancel_at is not None and self.seconds >= cancel_at:
                self.workshop.cancel(self.job_id)
            seen.append(self.look())

        monkeypatch.setattr(attempts, "watch", stand_in)
        # private: the stand-in stages nothing
        monkeypatch.setattr(Trainer, "_staged", lambda *_: {"schema": "a test's", "artefacts": {}})
        Trainer(
            self.workshop.settings,
            database=self.workshop.database,
            store=self.workshop.store,
            queue=MemoryQueue(),
            clock=self.clock,
            environment=environment_of(self.workshop.settings),
            command=lambda *_: ["true"],
            sleep=sleep,
        ).train(self.job_id)
        return [*seen, self.look()]
