"""Shared wire types: storable text, amounts of privacy, documents, coarse times, page parameters."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from fastapi import Query
from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field, JsonValue, StringConstraints
from pydantic_core import PydanticCustomError

from core.dp.guarantee import SMALLEST_DELTA, SMALLEST_EPSILON

MAX_DEPTH = 32
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]", re.ASCII)
DEFAULT_PAGE = 50
MAX_PAGE = 200


def plain_text(text: str) -> str:
    """Check that the database can store a text."""
    # Postgres stores neither NUL nor lone surrogates, and JSON can contain both.
    if "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise PydanticCustomError("plain_text", "NUL and lone surrogates are not accepted")
    return text


def _visible(text: str) -> str:
    # Zero-width and control characters are not blanks that stripping removes, and show nothing.
    if not any(character.isprintable() and not character.isspace() for character in text):
        raise PydanticCustomError("visible_text", "expected at least one visible character")
    return text


def _plain_document(document: dict[str, Any]) -> dict[str, Any]:
    _check(document, 0)
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
    AfterValidator(_visible),
]
"""A display name."""

Prose = Annotated[
    str,
    StringConstraints(min_length=1, max_length=2000, strip_whitespace=True),
    AfterValidator(plain_text),
    AfterValidator(_visible),
]
"""Free text for people: a purpose, reason or note."""

Epsilon = Annotated[float, Field(ge=SMALLEST_EPSILON, le=1000, allow_inf_nan=False, strict=True)]
"""The privacy loss. Large values are allowed, even those that protect nothing."""
Delta = Annotated[float, Field(ge=SMALLEST_DELTA, lt=1, allow_inf_nan=False, strict=True)]
"""The probability with which the epsilon bound may fail."""
DEFAULT_DELTA = (
    "Default: one sixteenth of the delta of the dataset's cap. Where the grant has too little delta left for that: of what is left "
    "the share that the order asks of the grant's epsilon left."
)
DEFAULT_GRANT_DELTA = "Default: the share of the cap's delta that the epsilon is of the cap's epsilon. Under the default rule one job may use half of it."

Document = Annotated[dict[str, JsonValue], AfterValidator(_plain_document)]
"""A JSON object that is validated by the module that owns its format."""


def _written_out(moment: object) -> object:
    # Pydantic would read numbers, even as text, as seconds since 1970: undocumented here, and never intended.
    if not (isinstance(moment, str) and _DATE.match(moment)):
        raise PydanticCustomError("datetime_text", "expected a time with its UTC offset")
    return moment


def _within_utc(moment: datetime) -> datetime:
    # With its offset a time may lie outside the years 1 to 9999 in UTC, where neither Python nor the database follows; the edge is near enough.
    try:
        moment.astimezone(UTC)
    except OverflowError:
        return moment.replace(tzinfo=UTC)
    return moment


Moment = Annotated[AwareDatetime, BeforeValidator(_written_out), AfterValidator(_within_utc)]
"""A time with its offset, such as 2027-01-31T00:00:00Z."""

PageSize = Annotated[int, Query(ge=1, le=MAX_PAGE, description="Maximum number of items.")]
Before = Annotated[UUID | None, Query(description="The `next_before` of the previous page.")]
NextBefore = Annotated[
    UUID | None, Field(description="Pass as `before` to get the next page; null on the last page.")
]


def coarse(moment: datetime) -> datetime:
    """Round a time up to the full minute, so that durations of private work are not revealed more precisely."""
    floor = moment.astimezone(UTC).replace(second=0, microsecond=0)
    return floor if floor == moment else floor + timedelta(minutes=1)
