"""The current request's id and trail, for code that does not hold the request."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from uuid import UUID

from core.errors import UnderstudyError
from core.platform.access.roles import Principal


@dataclass(slots=True, kw_only=True)
class Trail:
    """Facts about a request for the audit log. One object shared by all its threads.

    Args:
        client_address: The peer's address, or the one stated by a trusted proxy (`service.edge.proxies`); None for a unix socket.
        object_id: The object, if the path does not contain it.
    """

    client_address: str | None
    principal: Principal | None = None
    object_id: UUID | None = None
    refusal: UnderstudyError | None = None


_id: ContextVar[str] = ContextVar("request_id", default="")
_trail: ContextVar[Trail | None] = ContextVar("trail", default=None)


def current_request_id() -> str:
    """The id of the current request, or an empty string outside of a request."""
    return _id.get()


def current_trail() -> Trail:
    """The trail of the current request, or an empty one outside of a request."""
    return _trail.get() or Trail(client_address=None)


@contextmanager
def numbered_request(request_id: str) -> Iterator[None]:
    """Make this the current request's id."""
    token = _id.set(request_id)
    try:
        yield
    finally:
        _id.reset(token)


@contextmanager
def request_trail(trail: Trail) -> Iterator[None]:
    """Make this the current request's trail."""
    token = _trail.set(trail)
    try:
        yield
    finally:
        _trail.reset(token)
