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
    standing_remedy: ClassVar[str] = "Give the operator the request id."
    """What to do where an error is raised without a remedy of its own."""

    def __init__(self, detail: str, *, remedy: str = "", **facts: object) -> None:
        super().__init__(detail)
        self.detail = detail
        self.remedy = remedy or self.standing_remedy
        self.facts = facts


class InvalidInput(UnderstudyError):
    """What was sent breaks a stated rule."""

    code = "invalid-input"
    status = 422
    title = "Invalid input"
    standing_remedy = "Correct the request; the form is in /v1/openapi.json."


class Unauthenticated(UnderstudyError):
    """No key was sent, or it is not a valid one."""

    code = "unauthenticated"
    status = 401
    title = "A valid API key is needed"
    standing_remedy = "Send a valid key: Authorization: Bearer us_..."


class Forbidden(UnderstudyError):
    """The key is valid but its roles do not allow this."""

    code = "forbidden"
    status = 403
    title = "This key may not do that"
    standing_remedy = "Use a key whose roles allow it."


class NotFound(UnderstudyError):
    """No such thing, or it belongs to somebody else; the answer is the same on purpose."""

    code = "not-found"
    status = 404
    title = "Not found"
    standing_remedy = "Check the id, and that the key may see what it names."


class Conflict(UnderstudyError):
    """The thing is not in a state that allows this."""

    code = "conflict"
    status = 409
    title = "Not possible in the present state"
    standing_remedy = "Look at the present state, then decide again."


class BudgetRefused(Conflict):
    """Admitting the charge would break the cap of the population."""

    code = "budget-refused"
    title = "The privacy budget does not allow this"


class TooLarge(UnderstudyError):
    """More bytes than the service takes."""

    code = "too-large"
    status = 413
    title = "Too large"
    standing_remedy = "Send less at once, or ask the operator to raise the limit."


class Unsupported(UnderstudyError):
    """A format or version this software does not know."""

    code = "unsupported"
    status = 415
    title = "Not supported"
    standing_remedy = "Use a format that the documentation names."


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
    standing_remedy = "Wait as long as Retry-After says."

    def __init__(self, detail: str, *, remedy: str = "", retry_after_seconds: int) -> None:
        super().__init__(detail, remedy=remedy, retry_after_seconds=retry_after_seconds)
        self.retry_after_seconds = retry_after_seconds


class Unavailable(UnderstudyError):
    """A part the request needs (database, broker, object store) does not answer."""

    code = "unavailable"
    status = 503
    title = "Temporarily unavailable"
    standing_remedy = "Try again in a moment."


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
