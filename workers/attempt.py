"""How an attempt of a child ends for a reason that no row had a part in; imports no torch, so that every child can use it."""

from collections.abc import Iterator
from contextlib import contextmanager

from obstore.exceptions import BaseError as StoreError

from core.errors import Unavailable
from core.jobs.errors import LeaseLost
from core.storage.errors import ObjectMissing
from workers.outcomes import ExitCode


class AttemptEnded(Exception):
    """The attempt ends for a reason that no row had a part in.

    Args:
        code: How the child ends.
    """

    def __init__(self, code: ExitCode) -> None:
        super().__init__(code.name)
        self.code = code


@contextmanager
def machinery() -> Iterator[None]:
    """Failures inside are the database's or the object store's: public, and worth another attempt.

    Raises:
        AttemptEnded: The lease is lost, or a part does not answer.
    """
    try:
        yield
    except LeaseLost:
        raise AttemptEnded(ExitCode.LEASE_LOST) from None
    except (Unavailable, StoreError, ObjectMissing, OSError) as error:
        raise AttemptEnded(ExitCode.MACHINERY) from error
