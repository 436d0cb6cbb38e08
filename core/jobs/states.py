"""The states of a job and the transitions between them."""

from enum import StrEnum
from typing import Final


class JobState(StrEnum):
    """The state of a job."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Cause(StrEnum):
    """Cause of a failed attempt, as far as the charge depends on it."""

    ROWS = "rows"
    """Could depend on rows."""
    UNKNOWN = "unknown"
    """A process died without a word: perhaps of the memory that its rows took, perhaps of a power cut."""
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
"""Stages that a worker may mark. Without any mark nothing private has begun."""

OPENING: Final = STAGES[0]
"""The stage of the mark that precedes the opening of rows."""

TRAINING: Final = "train"

TRAINING_FAILED: Final = "training-failed"
"""The one code of all failures that could depend on rows, because which of them it was could reveal something about rows. A
job whose workers all fell silent has it too, because the cause is unknown."""

OWNER_WITHDREW: Final = "owner-withdrew"
"""An owner of a job over several datasets froze its ledger or revoked its grant before the job was claimed; it never ran."""

PLAN_ALTERED: Final = "plan-altered"
"""The stored plan is not the reserved one; it never ran."""
