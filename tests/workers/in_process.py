"""A worker that does its child's work itself: these processes hold torch already, and a child imports it for two seconds.

Real children are met daily in test_training_child.py, test_image_job.py and test_graphical.py. Weekly one of every other kind of job is
done by a child too, by `here_and_in_a_child`.
"""

import contextvars
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from uuid import UUID

import pytest
import torch

from workers.child import AttemptEnded, Outcome, outcome_of
from workers.training import Trainer
from workers.training_child import attempt

here_and_in_a_child = pytest.mark.parametrize(
    "in_child", [False, pytest.param(True, marks=pytest.mark.long)], ids=["here", "in a child"]
)
"""Runs a test of one kind of job daily in this process, and weekly in a child."""


class InProcessTrainer(Trainer):
    """Attempts a job as its child would. Nobody renews its lease meanwhile."""

    def _run_child(
        self,
        command: list[str],
        environment: Mapping[str, str],
        *,
        seconds: float,
        heartbeat: Callable[[], Outcome | None],
    ) -> Outcome:
        job_id, fence = command
        attempted = partial(
            attempt,
            self._settings,
            database=self._database,
            store=self._store,
            job_id=UUID(job_id),
            fence=int(fence),
        )
        try:
            with _repeatable():
                contextvars.copy_context().run(attempted)
        except AttemptEnded as end:
            return outcome_of(end.code)
        return Outcome.DONE


def words_of(job_id: UUID, fence: int) -> list[str]:
    """The command line that this trainer reads."""
    return [str(job_id), str(fence)]


@contextmanager
def _repeatable() -> Iterator[None]:
    """Refuse operations that are not repeatable, as a child does."""
    mode = torch.get_deterministic_debug_mode()
    torch.set_deterministic_debug_mode("error")
    try:
        yield
    finally:
        torch.set_deterministic_debug_mode(mode)
