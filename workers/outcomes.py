"""How a training attempt can end, and the exit codes by which the child tells it.

The codes are constants, so an exit code carries one of a few public facts and never a cause that could hold data.
"""

from enum import IntEnum, StrEnum
from typing import Final

MACHINERY_FAILED: Final = "infrastructure-failed"
"""Failure code of a job whose attempts were used up by the database or the object store."""

REUSED_COUNTS_MISSING: Final = "reused-counts-missing"
"""Failure code of a job whose plan takes over the counts of a release that is gone or changed."""


class ExitCode(IntEnum):
    """What the training child returns."""

    DONE = 0
    CANCELLED = 40
    LEASE_LOST = 41
    DATA = 42
    MACHINERY = 43
    REUSED_MISSING = 44


class Outcome(StrEnum):
    """How an attempt ended, as the supervising task sees it.

    * DONE: the bundle is staged.
    * CANCELLED: a person asked for it.
    * LEASE_LOST: another worker may hold the job; this one must not touch it again.
    * DATA: a failure that could depend on rows, so it is charged in full.
    * MACHINERY: database, object store or setup failed where no row could matter; resumed, at last settled.
    * REUSED_MISSING: counts of an earlier release, which the plan takes over, are gone or changed. No row was read, and no
      further attempt would find them.
    * VANISHED: the child died without a word (killed, or out of the machine's memory). The cause is unknown, so
      it is resumed with the same randomness; when the attempts are used up, see `core.jobs.endings.give_up`.
    * STOPPED: the worker was told to stop, or makes room; the job goes back to the queue and no attempt is counted.
    * FROZEN: the ledger has forgotten something that was noted outside the database. The job waits for an operator, and no
      attempt is counted.
    * TOO_LONG, TOO_LARGE: a public limit was met; charged in full, because how soon could depend on rows.

    DATA, TOO_LONG and TOO_LARGE are told apart nowhere outside the process that watches: which of them it was could tell
    something about rows, to whoever reads logs and traces too.
    """

    DONE = "done"
    CANCELLED = "cancelled"
    LEASE_LOST = "lease-lost"
    DATA = "data"
    MACHINERY = "machinery"
    REUSED_MISSING = "reused-missing"
    VANISHED = "vanished"
    STOPPED = "stopped"
    FROZEN = "frozen"
    TOO_LONG = "too-long"
    TOO_LARGE = "too-large"

    @property
    def told(self) -> "Outcome":
        """The outcome as logs and traces may hold it."""
        return Outcome.DATA if self in CHARGED_IN_FULL else self


CHARGED_IN_FULL: Final = frozenset({Outcome.DATA, Outcome.TOO_LONG, Outcome.TOO_LARGE})


_OF_CODE: Final = {
    ExitCode.DONE: Outcome.DONE,
    ExitCode.CANCELLED: Outcome.CANCELLED,
    ExitCode.LEASE_LOST: Outcome.LEASE_LOST,
    ExitCode.DATA: Outcome.DATA,
    ExitCode.MACHINERY: Outcome.MACHINERY,
    ExitCode.REUSED_MISSING: Outcome.REUSED_MISSING,
}


def outcome_of(returncode: int) -> Outcome:
    """Translate the return code of a child; a signal or a code nobody gave means it vanished."""
    try:
        return _OF_CODE[ExitCode(returncode)]
    except ValueError:
        return Outcome.VANISHED
