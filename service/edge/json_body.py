"""A stricter JSON parser than Python's (RFC 8259 and 7493), so that a document has only one meaning.

It refuses bytes that are not UTF-8, duplicate names in an object, ``NaN`` and ``Infinity``, numbers outside the range of
a double, integers that do not fit 64 bits, and nesting that would exhaust the parser's stack. Errors inside a document
name the location and never echo the value.
"""

import json
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NoReturn

from fastapi.exceptions import RequestValidationError

from service.problem import MalformedRequest

# Longer integers do not fit 64 bits, and parsing them would take time quadratic in the number of digits.
_MAX_DIGITS: Final = 20
_MAX_INTEGER: Final = 2**63

Place = tuple[str | int, ...]


def read_json(body: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """Parse a document.

    Raises:
        MalformedRequest: Not JSON in UTF-8.
        RequestValidationError: A location in the document holds a refused value.
    """
    reader = _Reader()
    try:
        document = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=reader.members,
            parse_constant=reader.number,
            parse_float=reader.number,
            parse_int=reader.integer,
        )
    except RecursionError:
        _refuse("nested_too_deeply", ())
    except ValueError:
        raise MalformedRequest(
            "The body is not JSON in UTF-8.",
            remedy="Send one JSON document, encoded in UTF-8 without a byte order mark.",
        ) from None
    if reader.met_refused:
        for place, number in _numbers(document):
            if not math.isfinite(number):
                _refuse("finite_number", place)
            if isinstance(number, int) and abs(number) >= _MAX_INTEGER:
                _refuse("integer_too_large", place)
    return document


class _Reader:
    met_refused = False

    def members(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            times = Counter(name for name, _ in pairs)
            _refuse("duplicate_name", (next(name for name, count in times.items() if count > 1),))
        return found

    def number(self, text: str) -> float:
        found = float(text)
        self.met_refused = self.met_refused or not math.isfinite(found)
        return found

    def integer(self, text: str) -> int:
        found = int(text) if len(text) <= _MAX_DIGITS else _MAX_INTEGER
        self.met_refused = self.met_refused or abs(found) >= _MAX_INTEGER
        return found


def _numbers(document: object) -> Iterator[tuple[Place, int | float]]:
    rest: list[tuple[Place, object]] = [((), document)]
    while rest:
        place, value = rest.pop()
        if isinstance(value, int | float):
            yield place, value
        elif isinstance(value, dict):
            rest += [((*place, name), entry) for name, entry in value.items()]
        elif isinstance(value, list):
            rest += [((*place, position), entry) for position, entry in enumerate(value)]


def _refuse(kind: str, place: Place) -> NoReturn:
    raise RequestValidationError([{"type": kind, "loc": ("body", *place)}])
