"""The tree of all errors that users can see.

UnderstudyError
  * InvalidInput          422  the request breaks a documented rule
  * Unauthenticated       401  no valid key
  * Forbidden             403  a valid key whose roles do not allow this
  * NotFound              404  no such thing, or it belongs to somebody else
  * Conflict              409  the present state does not allow this
    x BudgetRefused       409  the ledger would exceed a cap
  * TooLarge              413  more bytes than the service accepts
  * Unsupported           415  a format or version this software does not know
  * TooManyRequests       429  more requests than one caller may send; says when to retry
  * Unavailable           503  a required component does not answer
  * InternalError         500  a bug or a broken machine; reveals nothing else

Specific errors subclass one of these in the ``errors.py`` of their domain folder, with their own ``code``.
The code is stable and documented; the detail says what is wrong, the remedy what to do. No error ever
contains a value of a private row.
"""

from typing import ClassVar


class UnderstudyError(Exception):
    """The root: what is wrong (``detail``), what to do (``remedy``) and public facts about it.

    Args:
        detail: What is wrong, in a full sentence, without any data value; omitted for errors that always say the same.
        remedy: What the reader can do about it; omitted for the default remedy.
        **facts: Public, JSON-serialisable values shown with the error (budget amounts, limits, column names).
    """

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500
    title: ClassVar[str] = "Error"
    default_detail: ClassVar[str]
    """The detail of errors that always say the same; others have none, and are raised with one."""
    default_remedy: ClassVar[str] = "Give the operator the request id."
    """The default remedy, for errors raised without one."""

    def __init__(self, detail: str = "", *, remedy: str = "", **facts: object) -> None:
        self.detail = detail or self.default_detail
        super().__init__(self.detail)
        self.remedy = remedy or self.default_remedy
        self.facts = facts


class InvalidInput(UnderstudyError):
    """The request breaks a documented rule."""

    code = "invalid-input"
    status = 422
    title = "Invalid input"
    default_remedy = "Correct the request; the form is in /v1/openapi.json."


class Unauthenticated(UnderstudyError):
    """No valid key was sent."""

    code = "unauthenticated"
    status = 401
    title = "A valid API key is needed"
    default_remedy = "Send a valid key: Authorization: Bearer us_..."


class Forbidden(UnderstudyError):
    """The key is valid but its roles do not allow this."""

    code = "forbidden"
    status = 403
    title = "This key may not do that"
    default_remedy = "Use a key whose roles allow it."


class NotFound(UnderstudyError):
    """No such thing, or it belongs to somebody else; the answer is the same on purpose."""

    code = "not-found"
    status = 404
    title = "Not found"
    default_remedy = "Check the id, and that the key may see the object."


class Conflict(UnderstudyError):
    """The present state does not allow this."""

    code = "conflict"
    status = 409
    title = "Not possible in the present state"
    default_remedy = "Check the present state, then decide again."


class BudgetRefused(Conflict):
    """Admitting the charge would break the cap of the population."""

    code = "budget-refused"
    title = "The privacy budget does not allow this"


class TooLarge(UnderstudyError):
    """More bytes than the service accepts."""

    code = "too-large"
    status = 413
    title = "Too large"
    default_remedy = "Send less at a time, or ask the operator to raise the limit."


class Unsupported(UnderstudyError):
    """A format or version this software does not know."""

    code = "unsupported"
    status = 415
    title = "Not supported"
    default_remedy = "Use a format that the documentation names."


class TooManyRequests(UnderstudyError):
    """More requests than one caller may send.

    Args:
        retry_after_seconds: When to retry; also sent as ``Retry-After``.
    """

    code = "too-many-requests"
    status = 429
    title = "Too many requests"
    default_remedy = "Wait as long as Retry-After says."

    def __init__(self, detail: str, *, remedy: str = "", retry_after_seconds: int) -> None:
        super().__init__(detail, remedy=remedy, retry_after_seconds=retry_after_seconds)
        self.retry_after_seconds = retry_after_seconds


class Unavailable(UnderstudyError):
    """A required component (database, broker, object store) does not answer."""

    code = "unavailable"
    status = 503
    title = "Temporarily unavailable"
    default_remedy = "Try again in a moment."


class InternalError(UnderstudyError):
    """A bug or a broken machine. The message is constant so that nothing of the cause leaks."""

    code = "internal-error"
    status = 500
    title = "Internal error"
    default_detail = "Something failed inside the service; the operator's log has the request id."
    default_remedy = "Try again; if it keeps failing, give the operator the request id."
