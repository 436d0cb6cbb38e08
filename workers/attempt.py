"""How an attempt of a child ends for a reason that no row had a part in; imports no torch, so that every child can use it."""

from collections.abc import Iterator
from contextlib import contextmanager

from obstore.exceptions import BaseError as StoreError

from core.errors import Unavailable
from core.jobs.errors import LeaseLost
from core.storage.errors import ObjectMissing
from core.storage.objects import is_out_of_memory
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
def storage() -> Iterator[None]:
    """Failures inside that the database or the object store owns up to are public, and worth another attempt.

    Use it where private rows are at hand: an error of the operating system may then be the rows' doing, and passes.

    Raises:
        AttemptEnded: The lease is lost, or a part does not answer.
    """
    try:
        yield
    except LeaseLost:
        raise AttemptEnded(ExitCode.LEASE_LOST) from None
    except (Unavailable, StoreError, ObjectMissing) as error:
        raise AttemptEnded(ExitCode.MACHINERY) from error


@contextmanager
def machinery() -> Iterator[None]:
    """As `storage`; errors of the operating system count as the machinery's too, but for a lack of memory.

    Raises:
        AttemptEnded: The lease is lost, or a part does not answer.
    """
    try:
        with storage():
            yield
    except OSError as error:
        if is_out_of_memory(error):
            raise  # how much memory is left may depend on rows
        raise AttemptEnded(ExitCode.MACHINERY) from error
