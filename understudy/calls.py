"""A request of the client as a value, without any input or output: the two clients send the same ones.

Those about the service itself stand here; the others with what they are about, such as `understudy.datasets.calls`.
"""

import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from understudy.documents import Json, take
from understudy.errors import InputUnusable

Result = TypeVar("Result")
Read = Callable[[Any], Result]

IN_PATHS = frozenset(string.ascii_letters + string.digits + "-_.~")
"""What ids and the words around them are written in."""
REPEATABLE = frozenset({"GET", "PUT", "DELETE"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[Result]):
    """One request.

    Attributes:
        method: HTTP method.
        path: path below the address of the service.
        read: turns the parsed answer into a result.
        query: query parameters.
        body: JSON body, or None.
        headers: headers beside the client's own.
        content: raw body, or None.
    """

    method: str
    path: str
    read: Read[Result]
    query: Mapping[str, str | int] = field(default_factory=dict)
    body: Json | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """See that ids in the path lead nowhere else.

        Raises:
            InputUnusable: if one is empty, or holds what would make the request another one.
        """
        parts = self.path.removeprefix("/").split("/")
        if any(part in {"", ".", ".."} or not IN_PATHS.issuperset(part) for part in parts):
            message = "an id is empty or holds a character that no id has; ids are letters, digits, hyphens and underscores"
            raise InputUnusable(message)

    @property
    def repeatable(self) -> bool:
        """Whether sending it twice does what sending it once does."""
        return self.method in REPEATABLE or "Idempotency-Key" in self.headers


def items(read: Read[Result]) -> Read[tuple[Result, ...]]:
    """Read a list of which each item is read alike."""

    def read_items(document: object) -> tuple[Result, ...]:
        return tuple(read(item) for item in take(document, "items")[0])

    return read_items


def check_health() -> Call[Json]:
    """Ask whether the service lives."""
    return Call(method="GET", path="/v1/health", read=read_object)


def read_health_report() -> Call[Json]:
    """Ask for the doctor's report."""
    return Call(method="GET", path="/v1/health/report", read=read_object)


def read_object(document: Any) -> Json:  # noqa: ANN401 - any JSON
    """Read any JSON object."""
    take(document)
    return dict(document)


def read_nothing(_document: object) -> None:
    """Read an answer that says nothing more than that it was done."""
    return
