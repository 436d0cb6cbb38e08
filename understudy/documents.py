"""Fields of the service's JSON documents, and the client behind a result."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from understudy.errors import InputUnusable, UnexpectedAnswer

Json = Mapping[str, Any]
Giver = TypeVar("Giver")


def take(document: object, *names: str) -> tuple[Any, ...]:
    """Take fields out of a JSON object.

    Raises:
        UnexpectedAnswer: if it is not an object or lacks one of them.
    """
    missing = [name for name in names if not isinstance(document, Mapping) or name not in document]
    if missing or not isinstance(document, Mapping):
        message = f"the answer lacks {', '.join(missing)}; is this the address of an understudy service?"
        raise UnexpectedAnswer(message)
    return tuple(document[name] for name in names)


def named(document: object, *names: str) -> dict[str, Any]:
    """Take fields out of a JSON object, by name; see `take`."""
    return dict(zip(names, take(document, *names), strict=True))


def handled(client: Giver | None) -> Giver:
    """Return the client that gave a result, such as a job or a release.

    Raises:
        InputUnusable: if it was read from a document and not returned by a client.
    """
    if client is None:
        message = (
            "this was read from a document; ask a client for it, then it can be waited for or drawn from"
        )
        raise InputUnusable(message)
    return client


def facts(result: Any) -> dict[str, Any]:  # noqa: ANN401 - any result
    """Return what a frozen dataclass such as a job or a release says, by field, without the client that gave it."""
    return {part.name: getattr(result, part.name) for part in fields(result) if part.name != "client"}
