"""Parts of a request shared by both clients, without input or output: reading answers, deciding on retries."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import urlsplit

from understudy.errors import InputUnusable, ServiceUnreachable, UnderstudyError, UnexpectedAnswer, refusal
from understudy.http.calls import Call

if TYPE_CHECKING:
    import httpx

Result = TypeVar("Result")
Seen = Callable[[int], None]
"""Called with the number of bytes of each piece transferred."""

ATTEMPTS = 4
FIRST_PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 10.0
OK = 200
FIRST_ERROR = 400
NO_CONTENT = 204
CONNECT_SECONDS: Final = 10.0
TIMEOUT_SECONDS: Final = 60.0
UPLOAD_TIMEOUT: Final = (CONNECT_SECONDS, 900.0, 900.0, 900.0)
"""Seconds to connect, to read, to write and to wait for a connection that is free."""
PIECE_BYTES = 1 << 20
PAGE_ITEMS = 200
# With these statuses the service did nothing, and a later attempt may succeed.
WORTH_REPEATING = frozenset({429, 502, 503, 504})
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def unseen(_count: int) -> None:
    """Ignore progress."""


@dataclass(frozen=True, slots=True)
class Repetitions:
    """How often and how fast a request is retried.

    Attributes:
        attempts: attempts in all.
        first_pause_seconds: pause after the first failure; doubles with each further one.
    """

    attempts: int = ATTEMPTS
    first_pause_seconds: float = FIRST_PAUSE_SECONDS

    def pause(
        self, call: Call[Result], failure: "httpx.HTTPError | httpx.Response", *, attempt: int
    ) -> float | None:
        """Return the seconds after which to send a call again, or None to accept the outcome; only an idempotent call is retried."""
        if attempt >= self.attempts or not call.repeatable:
            return None
        import httpx

        if isinstance(failure, httpx.HTTPError):
            return self._growing(attempt) if isinstance(failure, httpx.TransportError) else None
        if failure.status_code not in WORTH_REPEATING:
            return None
        asked = failure.headers.get("Retry-After", "")
        wanted = float(asked) if asked.isdecimal() else self._growing(attempt)
        return min(wanted, LONGEST_PAUSE_SECONDS)

    def _growing(self, attempt: int) -> float:
        return min(self.first_pause_seconds * 2.0 ** (attempt - 1), LONGEST_PAUSE_SECONDS)


def address_of(url: str) -> str:
    """Check the address of a service, given without ``/v1``, and return it without a slash at its end.

    Raises:
        InputUnusable: if it is malformed, or holds a password. The message never shows it: it may be a secret put there by mistake.
    """
    import httpx

    try:
        parts = httpx.URL(url)
        # urlsplit rejects unmatched brackets and impossible ports, which httpx accepts.
        _ = urlsplit(url).port
    except (httpx.InvalidURL, ValueError):
        parts = httpx.URL()
    if parts.userinfo:
        message = (
            "the address of the service holds a user name or a password, and messages show addresses; give the address "
            "alone, and the API key as the key"
        )
        raise InputUnusable(message)
    if parts.scheme not in {"http", "https"} or not parts.host:
        message = "the address of the service is none; it looks like https://understudy.example.org"
        raise InputUnusable(message)
    return url.rstrip("/")


def headers_of(key: str) -> Mapping[str, str]:
    """Return the headers that every request of a client carries; the key is empty for what needs none, such as the health check.

    Raises:
        InputUnusable: if the key holds a character that no key has: httpx would show such a key in its error.
    """
    if not (key.isascii() and key.isprintable() and " " not in key):
        message = (
            "the API key holds a blank, a line end or a letter that no key has; give it as it was shown, with nothing "
            "before or after it"
        )
        raise InputUnusable(message)
    try:
        software = version("understudy")
    except PackageNotFoundError:
        software = "source"
    agent = {"User-Agent": f"understudy-client/{software}"}
    return agent | ({"Authorization": f"Bearer {key}"} if key else {})


def trusts_environment(url: str) -> bool:
    """Return whether to use the proxies of the environment; never for a service on this machine."""
    return urlsplit(url).hostname not in LOOPBACK


def result_of(call: Call[Result], response: "httpx.Response") -> Result:
    """Turn an answer that was read to the end into a result.

    Raises:
        Refused: if the service said no.
        UnexpectedAnswer: if the answer is not JSON of the documented form.
    """
    if response.status_code >= FIRST_ERROR:
        raise refused_by(response)
    if response.status_code == NO_CONTENT:
        return call.read(None)
    document = _json(response)
    if document is None:
        message = f"the answer to {call.method} {call.path} is not JSON; is this the address of an understudy service?"
        raise UnexpectedAnswer(message)
    try:
        return call.read(document)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        message = f"the answer to {call.method} {call.path} is not of the documented form; is this an understudy service?"
        raise UnexpectedAnswer(message) from error


def not_a_file(call: Call[None], response: "httpx.Response") -> UnderstudyError:
    """Describe an answer, read to the end, that is not the expected file, such as a redirect."""
    if response.status_code >= FIRST_ERROR:
        return refused_by(response)
    status = f"HTTP status {response.status_code}"
    return UnexpectedAnswer(
        f"the answer to {call.method} {call.path} is no file ({status}); is this the address of an understudy service?"
    )


def refused_by(response: "httpx.Response") -> UnderstudyError:
    """Turn a refusal, read to the end, into an error."""
    document = _json(response)
    return refusal(response.status_code, document if isinstance(document, Mapping) else {})


def unreachable(url: str, error: "httpx.HTTPError") -> ServiceUnreachable:
    """Describe a missing answer."""
    import httpx

    what = (
        "took too long to answer"
        if isinstance(error, httpx.TimeoutException)
        else "did not answer completely"
    )
    what = "cannot be reached" if isinstance(error, httpx.ConnectError) else what
    return ServiceUnreachable(f"the service at {url} {what}; is it running, and is the address right?")


def _json(response: "httpx.Response") -> object:
    try:
        document: object = response.json()
    except (json.JSONDecodeError, UnicodeDecodeError):
        return None
    return document
