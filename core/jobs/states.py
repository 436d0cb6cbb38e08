"""The states of a job and the ways between them."""

from enum import StrEnum
from typing import Final


class JobState(StrEnum):
    """Where a job is."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Cause(StrEnum):
    """What made an attempt fail, as far as the charge depends on it."""

    ROWS = "rows"
    """It could depend on rows."""
    UNKNOWN = "unknown"
    """A process died without a word: perhaps of the memory that rows took, perhaps of a power cut."""
    MACHINERY = "machinery"
    """The database or the object store did not answer; rows had no part in it."""


SUCCESSORS: Final[dict[JobState, frozenset[JobState]]] = {
    JobState.QUEUED: frozenset({JobState.RUNNING, JobState.CANCELLED, JobState.FAILED}),
    # running again: another worker takes over after the lease has expired
    JobState.RUNNING: frozenset(JobState),
    JobState.SUCCEEDED: frozenset(),
    JobState.FAILED: frozenset(),
    JobState.CANCELLED: frozenset(),
}

ENDED: Final = frozenset(state for state, successors in SUCCESSORS.items() if not successors)

STAGES: Final = ("measure", "pretrain", "train", "export")
"""Stages a worker may mark. No mark at all means that nothing private has begun."""

TRAINING: Final = "train"

TRAINING_FAILED: Final = "training-failed"
"""The one code of every failure that could depend on rows: which of them it was could tell something. Also of a job whose
every attempt's worker fell silent, because the cause of that is unknown."""

PLAN_ALTERED: Final = "plan-altered"
"""The stored plan is not the one that was reserved; it was never run."""
