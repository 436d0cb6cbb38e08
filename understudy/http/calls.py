"""One request as a value, without input or output, and how answers of the common forms are read."""

import string
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Generic, TypeVar

from understudy.documents import Json, take
from understudy.errors import InputUnusable

Result = TypeVar("Result")
Read = Callable[[Any], Result]

IN_PATHS = frozenset(string.ascii_letters + string.digits + "-_.~")
"""Characters of ids and of the words around them."""
REPEATABLE = frozenset({"GET", "PUT", "DELETE"})


@dataclass(frozen=True, slots=True)
class Call(Generic[Result]):
    """One request.

    Attributes:
        path: path below the address of the service.
        read: turns the parsed answer into a result.
        body: JSON body, or None.
        headers: headers in addition to the client's own.
        content: raw body, or None.
    """

    method: str
    path: str
    read: Read[Result]
    _: KW_ONLY
    query: Mapping[str, str | int] = field(default_factory=dict)
    body: Json | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Check the path: an id must not turn the request into another one.

        Raises:
            InputUnusable: if an id is empty or holds a character that no id has.
        """
        parts = self.path.removeprefix("/").split("/")
        if any(part in {"", ".", ".."} or not IN_PATHS.issuperset(part) for part in parts):
            message = "an id is empty or holds a character that no id has; ids are letters, digits, hyphens and underscores"
            raise InputUnusable(message)

    @property
    def repeatable(self) -> bool:
        """Whether the request is idempotent, so that it may be sent again."""
        return self.method in REPEATABLE or "Idempotency-Key" in self.headers


def given(members: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the members that are None: the service then uses its defaults."""
    return {name: value for name, value in members.items() if value is not None}


def items(read: Read[Result]) -> Read[tuple[Result, ...]]:
    """Read a list, each item with `read`."""

    def read_items(document: object) -> tuple[Result, ...]:
        return tuple(read(item) for item in take(document, "items")[0])

    return read_items


def page(read: Read[Result]) -> Read[tuple[tuple[Result, ...], str | int | None]]:
    """Read a page of a list: its items, and the cursor of the next page or None."""

    def read_page(document: object) -> tuple[tuple[Result, ...], str | int | None]:
        found, next_before = take(document, "items", "next_before")
        return tuple(read(item) for item in found), next_before

    return read_page


def read_object(document: Any) -> Json:  # noqa: ANN401 - any JSON
    """Read any JSON object."""
    take(document)
    return dict(document)


def read_anything(document: Any) -> Json:  # noqa: ANN401 - any JSON
    """Read an item of a list as it is."""
    item: Json = document
    return item


def read_nothing(_document: object) -> None:
    """Ignore the answer: its status says that the work was done."""
    return
