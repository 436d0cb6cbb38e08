"""How an attempt ends: the child's exception, its exit code, and the outcome that the parent concludes.

The codes are constants, so an exit code carries one of a few public facts and never a cause that could hold data. This
module imports no torch, so that every child and its parent can use it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum, StrEnum
from typing import Final

from obstore.exceptions import BaseError as StoreError

from core.data.errors import ObjectMissing
from core.data.objects import is_out_of_memory
from core.errors import Unavailable
from core.jobs.errors import LeaseLost

MACHINERY_FAILED: Final = "infrastructure-failed"
"""Failure code of a job whose attempts were used up by the database or the object store."""

REUSED_COUNTS_MISSING: Final = "reused-counts-missing"
"""Failure code of a job whose plan reuses the counts of a release that is gone or changed."""


class ExitCode(IntEnum):
    """Exit code of a child."""

    DONE = 0
    CANCELLED = 40
    LEASE_LOST = 41
    DATA = 42
    MACHINERY = 43
    REUSED_MISSING = 44


class Outcome(StrEnum):
    """Outcome of an attempt, as the supervising task sees it.

    * DONE: the result is staged.
    * CANCELLED: a person cancelled the job.
    * LEASE_LOST: another worker may hold the job; this one must not touch it again.
    * DATA: a failure that could depend on rows, so the job is charged in full.
    * MACHINERY: database, object store or setup failed where no row could matter; resumed, in the end settled.
    * REUSED_MISSING: counts of an earlier release, which the plan reuses, are gone or changed. No row was read, and no
      further attempt would find them.
    * VANISHED: the child died without a word (killed, or out of the machine's memory). The cause is unknown, so the job is
      resumed with the same randomness; `core.jobs.endings.give_up` ends it when its attempts are used up.
    * STOPPED: the worker was asked to stop, or makes room; the job goes back to the queue and no attempt is counted.
    * FROZEN: the ledger has forgotten something that was noted outside the database. The job waits for an operator, and no
      attempt is counted.
    * TOO_LONG, TOO_LARGE: a public limit was exceeded. Charged in full, because how soon could depend on rows.

    Only the process that watches tells DATA, TOO_LONG and TOO_LARGE apart: which of them it was could tell something about
    rows, also to readers of logs and traces.
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
    def public(self) -> "Outcome":
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
    """Translate a child's return code. A signal or an unknown code means that the child vanished."""
    try:
        return _OF_CODE[ExitCode(returncode)]
    except ValueError:
        return Outcome.VANISHED


class AttemptEnded(Exception):
    """The attempt ends for a reason in which no row had a part.

    Args:
        code: How the child ends.
    """

    def __init__(self, code: ExitCode) -> None:
        super().__init__(code.name)
        self.code = code


@contextmanager
def storage() -> Iterator[None]:
    """Treat failures that the database or the object store reports as public, and worth another attempt.

    Use it where private rows are at hand: there an error of the operating system may be the rows' doing, so it passes.

    Raises:
        AttemptEnded: The lease is lost, or database or object store do not answer.
    """
    try:
        yield
    except LeaseLost:
        raise AttemptEnded(ExitCode.LEASE_LOST) from None
    except (Unavailable, StoreError, ObjectMissing) as error:
        raise AttemptEnded(ExitCode.MACHINERY) from error


@contextmanager
def machinery() -> Iterator[None]:
    """As `storage`, and treat errors of the operating system the same way, except for a lack of memory.

    Raises:
        AttemptEnded: The lease is lost, or database, object store or operating system failed.
    """
    try:
        with storage():
            yield
    except OSError as error:
        if is_out_of_memory(error):
            raise  # how much memory is left may depend on rows
        raise AttemptEnded(ExitCode.MACHINERY) from error
