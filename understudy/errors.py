"""Everything that can go wrong for a user of the client, as one tree.

::

  * UnderstudyError
    x ServiceUnreachable    no answer: refused, broken off, timed out
    x UnexpectedAnswer      an answer, but not in the documented form
    x NoService             no service is named, and none runs on this machine
    x NoKey                 no API key for the needed role
    x InputUnusable         a file or value given to a command cannot be used
      + NotABundle            a file that should be a bundle is none
      + DraftNotAccepted      a domain was drafted from rows, and nobody has accepted it yet
    x VerificationFailed    a ledger or the audit log is not what it was, or a bundle not what it states
    x NotInstalled          an extra of the distribution is needed and missing
    x JobEnded              a job that was waited for ended without a release
      + JobFailed
      + JobCancelled
    x ApprovalPending       a budget request was filed and waits for another person
    x JobDoesNotFit         a quote says that no grant would admit the job
    x Refused               the service said no; code, detail, remedy and facts say why
      + InvalidInput        400, 422
      + Unauthenticated     401
      + Forbidden           403
      + NotFound            404
      + Conflict            409
        - BudgetRefused       the ledger would exceed a cap or a grant
      + TooLarge            413
      + Unsupported         415
      + ServiceFailed       5xx
    x EmbeddedError         the embedded stack; see understudy/embedded/errors.py
"""

from collections.abc import Mapping
from typing import Any

from understudy.extras import how_to_install


class UnderstudyError(Exception):
    """The root; the message says what is wrong and what to do."""


class DegenerateGenerator(UserWarning):
    """The records of a new generator vary too little; the message says how, and what to change."""


class HiddenByNoise(UserWarning):
    """The noise of the counts hides what is asked for, or much of a column; the message says what, and what to change."""


class UnitChanged(UserWarning):
    """Another privacy unit than the draft's was accepted; the message says what follows from it."""


class ServiceUnreachable(UnderstudyError):
    """The service gave no answer."""


class UnexpectedAnswer(UnderstudyError):
    """The answer is not in the documented form: another program, or another version, listens there."""


class NoService(UnderstudyError):
    """No service is named, and none runs here."""


class NoKey(UnderstudyError):
    """There is no API key for the needed role."""


class InputUnusable(UnderstudyError):
    """A file or value given to a command cannot be used."""


class NotABundle(InputUnusable):
    """A file that should be a bundle is none: damaged, hostile, or something else."""


class DraftNotAccepted(InputUnusable):
    """A domain was drafted from private rows, and nobody has said yet that it may be public."""


class VerificationFailed(UnderstudyError):
    """A ledger or the audit log was changed, cut or replaced, or a bundle is not what it states."""


class NotInstalled(UnderstudyError):
    """An extra of the distribution is needed and missing."""


def library_missing(purpose: str, library: str | None, *, extra: str = "all") -> NotInstalled:
    """Return the refusal of what needs a library that is not installed.

    Args:
        purpose: What needs it, as the beginning of a sentence.
        library: The library's name, as its import failed.
        extra: The smallest extra that has it.
    """
    smaller = "" if extra == "all" else f"; for this alone the extra `{extra}` is enough"
    return NotInstalled(f"{purpose} needs {library}: {how_to_install('all')}{smaller}")


class JobEnded(UnderstudyError):
    """A job that was waited for ended without a release."""


class JobFailed(JobEnded):
    """The job failed; the ledger says what it was charged."""


class JobCancelled(JobEnded):
    """The job was cancelled; the ledger says what it was charged."""


class ApprovalPending(UnderstudyError):
    """A budget request was filed, and none of the keys at hand may approve it."""


class JobDoesNotFit(UnderstudyError):
    """The dataset's remaining budget does not admit the job, regardless of grants."""


class Refused(UnderstudyError):
    """The service refused the request.

    Attributes:
        code: stable name of the reason.
        title: the kind of refusal.
        remedy: what to do; may be empty.
        facts: public values, such as the remaining budget.
        request_id: what to report to the operator; may be empty.
    """

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        """Read a problem document (RFC 9457)."""
        self.status = status
        self.code = str(problem.get("code", f"http-{status}"))
        self.title = str(problem.get("title", ""))
        self.detail = str(problem.get("detail", "")) or self.title or f"HTTP status {status}"
        self.remedy = str(problem.get("remedy", ""))
        self.facts: Mapping[str, Any] = problem.get("facts") or {}
        self.request_id = str(problem.get("request_id", ""))
        # Not every detail ends as a sentence; without a separator it would run into the remedy.
        between = " " if self.detail.endswith((".", "!", "?")) else "; "
        message = f"{self.detail}{between}{self.remedy}" if self.remedy else self.detail
        super().__init__(f"{message} [{self.code}]")


class InvalidInput(Refused):
    """The request breaks a stated rule."""


class Unauthenticated(Refused):
    """No key was sent, or it is not a valid one."""


class Forbidden(Refused):
    """The key is valid but its roles do not allow this."""


class NotFound(Refused):
    """The object does not exist, or it belongs to another principal."""


class Conflict(Refused):
    """The thing is not in a state that allows this."""


class BudgetRefused(Conflict):
    """The ledger would exceed a cap or a grant; ``facts`` says by how much."""


class TooLarge(Refused):
    """More bytes than the service takes."""


class Unsupported(Refused):
    """A format or version the service does not know."""


class ServiceFailed(Refused):
    """The service failed; give the operator the request id."""


BY_CODE: Mapping[str, type[Refused]] = {"budget-refused": BudgetRefused, "grant-refused": BudgetRefused}
BY_STATUS: Mapping[int, type[Refused]] = {
    400: InvalidInput,
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    413: TooLarge,
    415: Unsupported,
    422: InvalidInput,
}
FIRST_SERVER_ERROR = 500


def refusal(status: int, problem: Mapping[str, Any]) -> Refused:
    """Choose the class of a refusal: by the code of its problem document, which may be empty, else by its status."""
    fallback = ServiceFailed if status >= FIRST_SERVER_ERROR else Refused
    kind = BY_CODE.get(str(problem.get("code")), BY_STATUS.get(status, fallback))
    return kind(status, problem)
