"""Database errors without the driver's text, which quotes values."""

from typing import Final

from sqlalchemy.exc import DBAPIError

from core.errors import InternalError, Unavailable, UnderstudyError
from core.logs import get_logger

# lock_not_available, deadlock_detected, serialization_failure, query_canceled, idle_in_transaction_session_timeout
_BUSY_STATES: Final = frozenset({"55P03", "40P01", "40001", "57014", "25P03"})
# connection exceptions, operator intervention, insufficient resources, system errors (a broken disk), internal errors
_AWAY_CLASSES: Final = ("08", "57", "53", "58", "XX")


class DatabaseBusy(Unavailable):
    """A lock timed out, or the server aborted this transaction to break a deadlock; nothing was changed."""

    code = "database-busy"
    title = "The database is busy"


class DatabaseUnavailable(Unavailable):
    """The server cannot be reached, does not answer, or closed the connection."""

    code = "database-unavailable"
    title = "The database is unavailable"


class DatabaseRefused(InternalError):
    """A constraint or trigger of the database refused a change that the code should not have tried."""

    code = "database-refused"
    title = "The database refused a change"


class ReadOnlyTransaction(InternalError):
    """An operation that needs a commit was requested in a read-only transaction."""

    code = "read-only-transaction"
    title = "This transaction only reads"


def translated(error: DBAPIError, *, committing: bool = False) -> UnderstudyError:
    """Translate a driver's error. Its SQLSTATE and constraint are logged; its text is dropped.

    Args:
        committing: Whether a commit was under way, whose outcome is then unknown.
    """
    state: str | None = getattr(error.orig, "sqlstate", None)
    constraint: str | None = getattr(getattr(error.orig, "diag", None), "constraint_name", None)
    if state in _BUSY_STATES:
        return DatabaseBusy("The database was too busy to finish this.", remedy="Try again in a moment.")
    if committing and error.connection_invalidated:
        return DatabaseUnavailable(
            "The database became unavailable during a commit; it is not known whether the change was made.",
            remedy="Check whether it was made, or repeat the request with the same Idempotency-Key.",
        )
    if state is None or state.startswith(_AWAY_CLASSES):
        return DatabaseUnavailable("The database does not answer.", remedy="Try again in a moment.")
    get_logger().error("database-refused", sqlstate=state, constraint=constraint)
    return DatabaseRefused()
