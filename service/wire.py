"""What the wire types of all domains share: text that the database can hold, documents, coarse times, pages."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from fastapi import Query
from pydantic import AfterValidator, AwareDatetime, BeforeValidator, JsonValue, StringConstraints
from pydantic_core import PydanticCustomError

MAX_DEPTH = 32
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]", re.ASCII)
DEFAULT_PAGE = 50
MAX_PAGE = 200


def plain_text(text: str) -> str:
    """Text that the database can hold."""
    # Postgres holds neither NUL nor halves of surrogate pairs, and JSON can carry both.
    if "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise PydanticCustomError("plain_text", "NUL and lone surrogates are not accepted")
    return text


def _plain_document(document: dict[str, Any], depth: int = 0) -> dict[str, Any]:
    _check(document, depth)
    return document


def _check(value: object, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise PydanticCustomError("nested_too_deeply", "nested too deeply")
    if isinstance(value, str):
        plain_text(value)
    elif isinstance(value, dict):
        for key, entry in value.items():
            plain_text(key)
            _check(entry, depth + 1)
    elif isinstance(value, list):
        for entry in value:
            _check(entry, depth + 1)


Name = Annotated[
    str,
    StringConstraints(min_length=1, max_length=200, strip_whitespace=True),
    AfterValidator(plain_text),
]
"""What people call a thing."""

Prose = Annotated[
    str,
    StringConstraints(min_length=1, max_length=2000, strip_whitespace=True),
    AfterValidator(plain_text),
]
"""A purpose, a reason, a note: what people write for people."""

Document = Annotated[dict[str, JsonValue], AfterValidator(_plain_document)]
"""A JSON object that is read further inside, by the part that owns its form."""


def _written_out(moment: object) -> object:
    # Numbers, as text too, would be read as seconds since 1970, which nobody documents and nobody means.
    if not (isinstance(moment, str) and _DATE.match(moment)):
        raise PydanticCustomError("datetime_text", "a time is written out, with its offset")
    return moment


Moment = Annotated[AwareDatetime, BeforeValidator(_written_out)]
"""A time with its offset, such as 2027-01-31T00:00:00Z."""

PageSize = Annotated[int, Query(ge=1, le=MAX_PAGE, description="How many items at most.")]
Before = Annotated[UUID | None, Query(description="The `next_before` of the page before this one.")]


def coarse(moment: datetime) -> datetime:
    """Round a time up to the full minute: how long private work took is told no finer than that."""
    floor = moment.astimezone(UTC).replace(second=0, microsecond=0)
    return floor if floor == moment else floor + timedelta(minutes=1)
