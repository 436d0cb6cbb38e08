"""Structured logs: events with stable names and opaque ids, one JSON object a line on standard error.

House rule 9: no row values, no counts of private rows, no library exception text. Only fixed event names and
values of the simple types below pass; an exception is reduced to the name of its class.
"""

import io
import logging
import re
import sys
from collections.abc import MutableMapping
from contextlib import suppress
from typing import Any, Final, TextIO, cast

import structlog
from structlog.typing import FilteringBoundLogger

_REQUEST_ID: Final = re.compile(r"[0-9a-f]{32}")


def _class_of_exception_only(
    _logger: Any,  # noqa: ANN401 - the signature of a structlog processor
    _method: str,
    event: MutableMapping[str, Any],
) -> MutableMapping[str, Any]:
    """Replace an attached exception by its class name: messages of libraries may quote data."""
    attached = event.pop("exc_info", None)
    error = sys.exc_info()[1] if attached is True else attached
    if isinstance(error, tuple):
        error = error[1]
    if isinstance(error, BaseException):
        event["exception"] = type(error).__name__
    return event


class LossyStream(io.TextIOBase):
    """A text stream that drops what it cannot write: a full disk costs log lines, never the work itself."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str, /) -> int:
        """Write, ignoring errors."""
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush, ignoring errors."""
        with suppress(OSError):
            self._stream.flush()


def configure_logs(*, role: str) -> None:
    """Send this process's events to standard error as JSON lines.

    Args:
        role: Name of the process in the deployment: api, worker, runner, upkeep.
    """
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _class_of_exception_only,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        # One write per line: processes that share the stream must not interleave within a line.
        logger_factory=structlog.WriteLoggerFactory(file=cast("TextIO", LossyStream(sys.stderr))),
        cache_logger_on_first_use=False,
    )
    structlog.contextvars.bind_contextvars(role=role)


def current_request_id() -> str | None:
    """The id of the request that caused this work, in whichever process it runs; None without one."""
    found = structlog.contextvars.get_contextvars().get("request_id")
    return found if isinstance(found, str) else None


def is_request_id(text: object) -> bool:
    """Whether something is a well-formed request id: a value from the broker is untrusted."""
    return isinstance(text, str) and _REQUEST_ID.fullmatch(text) is not None


def get_logger() -> FilteringBoundLogger:
    """Return the logger; call ``.info("event-name", key=value)`` with opaque ids only."""
    logger: FilteringBoundLogger = structlog.get_logger()
    return logger
