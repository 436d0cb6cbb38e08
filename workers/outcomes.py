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


MEMBER_VANISHED: Final = "member-vanished"
"""Failure code of a job in a federation, another member of which missed the deadline of a round."""

FEDERATION_ENDED: Final = "federation-ended"
"""Failure code of a job whose federation the analyst ended."""

FEDERATION_DIFFERS: Final = "federation-differs"
"""Failure code of a job whose board has another plan, another token or another address than may be called."""

STATE_REFUSED: Final = "federation-state-refused"
"""Failure code of a job that was handed a state which is not one of its training."""

CHECKPOINT_LOST: Final = "federation-checkpoint-lost"
"""Failure code of a job in a federation whose last round cannot be resumed."""


class ExitCode(IntEnum):
    """Exit code of a child."""

    DONE = 0
    CANCELLED = 40
    LEASE_LOST = 41
    DATA = 42
    MACHINERY = 43
    REUSED_MISSING = 44
    MEMBER_VANISHED = 45
    FEDERATION_ENDED = 46
    FEDERATION_DIFFERS = 47
    STATE_REFUSED = 48
    CHECKPOINT_LOST = 49


class Outcome(StrEnum):
    """Outcome of an attempt, as the supervising task sees it.

    * DONE: the result is staged.
    * CANCELLED: a person cancelled the job.
    * LEASE_LOST: another worker may hold the job; this one must not touch it again.
    * DATA: a failure that could depend on rows, so the job is charged in full.
    * MACHINERY: database, object store or setup failed where no row could matter; resumed, in the end settled.
    * REUSED_MISSING: counts of an earlier release, which the plan reuses, are gone or changed. No row was read, and no
      further attempt would find them.
    * MEMBER_VANISHED, FEDERATION_ENDED, FEDERATION_DIFFERS, STATE_REFUSED, CHECKPOINT_LOST: the job's federation does not go on.
      What others answered decides that, never own rows; the steps that have begun are charged.
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
    MEMBER_VANISHED = MEMBER_VANISHED
    FEDERATION_ENDED = FEDERATION_ENDED
    FEDERATION_DIFFERS = FEDERATION_DIFFERS
    STATE_REFUSED = STATE_REFUSED
    CHECKPOINT_LOST = CHECKPOINT_LOST
    VANISHED = "vanished"
    STOPPED = "stopped"
    FROZEN = "frozen"
    TOO_LONG = "too-long"
    TOO_LARGE = "too-large"

    @property
    def public(self) -> "Outcome":
        """The outcome as logs and traces may hold it."""
        return Outcome.DATA if self in CHARGED_IN_FULL else self


FINAL_CODES: Final = {
    Outcome.REUSED_MISSING: REUSED_COUNTS_MISSING,
    Outcome.MEMBER_VANISHED: MEMBER_VANISHED,
    Outcome.FEDERATION_ENDED: FEDERATION_ENDED,
    Outcome.FEDERATION_DIFFERS: FEDERATION_DIFFERS,
    Outcome.STATE_REFUSED: STATE_REFUSED,
    Outcome.CHECKPOINT_LOST: CHECKPOINT_LOST,
}
"""Failure codes of outcomes in which rows had no part, and which no further attempt would change."""

CHARGED_IN_FULL: Final = frozenset({Outcome.DATA, Outcome.TOO_LONG, Outcome.TOO_LARGE})


_OF_CODE: Final = {
    ExitCode.DONE: Outcome.DONE,
    ExitCode.CANCELLED: Outcome.CANCELLED,
    ExitCode.LEASE_LOST: Outcome.LEASE_LOST,
    ExitCode.DATA: Outcome.DATA,
    ExitCode.MACHINERY: Outcome.MACHINERY,
    ExitCode.REUSED_MISSING: Outcome.REUSED_MISSING,
    ExitCode.MEMBER_VANISHED: Outcome.MEMBER_VANISHED,
    ExitCode.FEDERATION_ENDED: Outcome.FEDERATION_ENDED,
    ExitCode.FEDERATION_DIFFERS: Outcome.FEDERATION_DIFFERS,
    ExitCode.STATE_REFUSED: Outcome.STATE_REFUSED,
    ExitCode.CHECKPOINT_LOST: Outcome.CHECKPOINT_LOST,
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
