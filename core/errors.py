"""Every error a person can meet, as one tree.

UnderstudyError
  * InvalidInput          422  what was sent breaks a stated rule
  * Unauthenticated       401  no key, or not a valid one
  * Forbidden             403  a valid key whose roles do not allow this
  * NotFound              404  no such thing, or it belongs to somebody else
  * Conflict              409  the thing is not in a state that allows this
    x BudgetRefused       409  the ledger would exceed a cap
  * TooLarge              413  more bytes than the service takes
  * Unsupported           415  a format or version this software does not know
  * TooManyRequests       429  more requests than one caller may send; says when to come back
  * Unavailable           503  a part the request needs does not answer
  * InternalError         500  a bug or a broken machine; says nothing else

Specific errors subclass one of these in the ``errors.py`` of their domain folder, with their own ``code``. The
code is stable and documented; the detail says what is wrong, the remedy what to do. None of them ever holds a
value of a private row.
"""

from typing import ClassVar


class UnderstudyError(Exception):
    """The root: what is wrong (``detail``), what to do (``remedy``) and public facts about it.

    Args:
        detail: What is wrong, in a full sentence, without any data value.
        remedy: What the reader can do about it.
        **facts: Public, JSON-able values shown next to the error (budget amounts, limits, column names).
    """

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500
    title: ClassVar[str] = "Error"

    def __init__(self, detail: str, *, remedy: str = "", **facts: object) -> None:
        super().__init__(detail)
        self.detail = detail
        self.remedy = remedy
        self.facts = facts


class InvalidInput(UnderstudyError):
    """What was sent breaks a stated rule."""

    code = "invalid-input"
    status = 422
    title = "Invalid input"


class Unauthenticated(UnderstudyError):
    """No key was sent, or it is not a valid one."""

    code = "unauthenticated"
    status = 401
    title = "A valid API key is needed"


class Forbidden(UnderstudyError):
    """The key is valid but its roles do not allow this."""

    code = "forbidden"
    status = 403
    title = "This key may not do that"


class NotFound(UnderstudyError):
    """No such thing, or it belongs to somebody else; the answer is the same on purpose."""

    code = "not-found"
    status = 404
    title = "Not found"


class Conflict(UnderstudyError):
    """The thing is not in a state that allows this."""

    code = "conflict"
    status = 409
    title = "Not possible in the present state"


class BudgetRefused(Conflict):
    """Admitting the charge would break the cap of the population."""

    code = "budget-refused"
    title = "The privacy budget does not allow this"


class TooLarge(UnderstudyError):
    """More bytes than the service takes."""

    code = "too-large"
    status = 413
    title = "Too large"


class Unsupported(UnderstudyError):
    """A format or version this software does not know."""

    code = "unsupported"
    status = 415
    title = "Not supported"


class TooManyRequests(UnderstudyError):
    """More requests than one caller may send.

    Args:
        detail: What there was too much of.
        remedy: What the caller can do.
        retry_after_seconds: When to come back; also sent as ``Retry-After``.
    """

    code = "too-many-requests"
    status = 429
    title = "Too many requests"

    def __init__(self, detail: str, *, remedy: str = "", retry_after_seconds: int) -> None:
        super().__init__(detail, remedy=remedy, retry_after_seconds=retry_after_seconds)
        self.retry_after_seconds = retry_after_seconds


class Unavailable(UnderstudyError):
    """A part the request needs (database, broker, object store) does not answer."""

    code = "unavailable"
    status = 503
    title = "Temporarily unavailable"


class InternalError(UnderstudyError):
    """A bug or a broken machine. The message is constant so that nothing of the cause leaks."""

    code = "internal-error"
    status = 500
    title = "Internal error"

    def __init__(self) -> None:
        super().__init__(
            "Something failed inside the service; the operator's log has the request id.",
            remedy="Try again; if it keeps failing, give the operator the request id.",
        )
