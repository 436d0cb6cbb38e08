"""Parse text into numbers and times; a text that does not parse is marked and fails nothing else.

Each parser first tries Arrow's strict, fast cast of the whole array. Only if that fails does it find the
texts that do not parse. Accepted numbers: decimal digits with an optional sign, point and exponent, and inf, infinity, nan
in any case.
Accepted times: ISO 8601 (``2020-12-31``, ``2020-12-31 23:59:00``, also with T, fractions and a zone, which is taken to
UTC), or exactly the declared strptime format. Fractions of a second are cut off.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from core.plan.domain.columns.bins import Floats
from core.plan.domain.columns.calendar import python_format

Mask = NDArray[np.bool_]

_NUMBER: Final = r"^(?i:[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf|infinity|nan))$"
_ISO: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}(:?\d{2})?)?)?", re.ASCII
)
_NO_NUMBER: Final = "_"
_SECONDS: Final = pa.timestamp("s")
_ISO_TYPES: Final = (_SECONDS, pa.timestamp("us"), pa.timestamp("us", "UTC"))
_LAST_NORMALISED_DAY: Final = 3
_FIRST_FULL_YEAR: Final = 1000
_FIRST_SECOND: Final = -62135596800
"""The first second of the year 1, the earliest that `datetime` has."""
_DATE_LENGTH, _COLON_PLACE = 10, 13
_DAY_SECONDS: Final = 86400


def parse_numbers(texts: pa.Array, *, decimal_mark: str = ".") -> tuple[Floats, Mask | None]:
    """float64 values of an array of strings.

    Args:
        texts: Strings, possibly null.
        decimal_mark: The point or comma before decimals; the other one stands in no number, so 1.234 is never taken for 1,234.

    Returns:
        The values, NaN for null, for "nan" and for text that does not parse; and a mask of the latter, None if all parse.
    """
    if decimal_mark == ",":
        texts = pc.replace_substring(pc.replace_substring(texts, ".", _NO_NUMBER), ",", ".")
    try:
        values = pc.cast(texts, pa.float64())
    except pa.ArrowInvalid:
        values = None
    # Arrow takes texts such as "nan(1)" that the expression does not: without it they would be numbers only where all other rows are.
    if values is not None and not pc.any(pc.is_nan(values)).as_py():
        return _floats(values), None
    fine = pc.match_substring_regex(texts, _NUMBER)
    unreadable = pc.invert(pc.fill_null(fine, fill_value=True)).to_numpy(zero_copy_only=False)
    return _floats(
        pc.cast(pc.if_else(fine, texts, None), pa.float64())
    ), unreadable if unreadable.any() else None


def _floats(values: pa.Array) -> Floats:
    found: Floats = values.to_numpy(zero_copy_only=False)
    return found


def parse_times(texts: pa.Array, *, format_: str | None, days: bool) -> tuple[pa.Array, Mask | None]:
    """Seconds (or days) since 1970-01-01 of an array of strings.

    Args:
        texts: Strings, possibly null.
        format_: strptime format, or None for ISO 8601.
        days: Whether days are wanted; a time of day is then cut off.

    Returns:
        int64 values, null for null and for text that does not parse; and a mask of the latter, None if all parse.
    """
    if format_ is None:
        for kind in _ISO_TYPES:
            try:
                seconds = to_seconds(pc.cast(texts, kind))
            except pa.ArrowInvalid:
                continue
            if _all_read_alone(texts, seconds, zoned=kind.tz is not None):
                return _whole(seconds, days=days), None
        return _marked(texts, _apply_to_distinct(texts, _iso_second), days=days)
    seconds = pc.strptime(texts, format=format_, unit="s", error_is_null=True)
    # The C library turns 31 February into 2 or 3 March, and reads 24 as a year: such values are parsed again, strictly.
    doubtful = pc.or_(
        pc.less_equal(pc.day(seconds), _LAST_NORMALISED_DAY), pc.less(pc.year(seconds), _FIRST_FULL_YEAR)
    )
    doubtful = pc.fill_null(doubtful, fill_value=False)
    if pc.any(doubtful).as_py():
        strict = _apply_to_distinct(
            pc.if_else(doubtful, texts, None), partial(_format_second, python_format(format_))
        )
        seconds = pc.if_else(doubtful, strict.cast(_SECONDS), seconds)
    return _marked(texts, seconds.cast(pa.int64()), days=days)


def _all_read_alone(texts: pa.Array, seconds: pa.Array, *, zoned: bool) -> bool:
    """Whether `_iso_second` takes all texts that Arrow takes: not hours without minutes, nor the year 0. Else what the other rows hold would decide on them."""
    first = pc.min(seconds).as_py()
    if (
        first is not None and first < _FIRST_SECOND + _DAY_SECONDS
    ):  # a zone may move the last day of the year 0 into the year 1
        return False
    lengths = pc.binary_length(texts)
    if not zoned:
        return not pc.any(pc.equal(lengths, _COLON_PLACE)).as_py()
    colons = pc.equal(pc.binary_slice(texts.cast(pa.binary()), _COLON_PLACE, _COLON_PLACE + 1), b":")
    return pc.all(pc.or_(colons, pc.equal(lengths, _DATE_LENGTH))).as_py() is not False


def to_seconds(values: pa.Array) -> pa.Array:
    """int64 seconds since 1970-01-01 (UTC where a zone is known) of timestamps; fractions are cut off."""
    unit = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[values.type.unit]
    return _floor_divide(values.cast(pa.int64()), unit)


def _floor_divide(values: pa.Array, divisor: int) -> pa.Array:
    if divisor == 1:
        return values
    numbers = pc.fill_null(values, 0).to_numpy(zero_copy_only=False) // divisor
    return pa.array(numbers, mask=pc.is_null(values).to_numpy(zero_copy_only=False))


def _whole(seconds: pa.Array, *, days: bool) -> pa.Array:
    return _floor_divide(seconds, _DAY_SECONDS) if days else seconds


def _marked(texts: pa.Array, seconds: pa.Array, *, days: bool) -> tuple[pa.Array, Mask]:
    unreadable = pc.and_(pc.is_null(seconds), pc.is_valid(texts)).to_numpy(zero_copy_only=False)
    return _whole(seconds, days=days), unreadable


def _apply_to_distinct(texts: pa.Array, read: Callable[[str], int | None]) -> pa.Array:
    coded = pc.dictionary_encode(texts)
    known = pa.array(
        [None if text is None else read(text) for text in coded.dictionary.to_pylist()], pa.int64()
    )
    return known.take(coded.indices)


def _iso_second(text: str) -> int | None:
    if _ISO.fullmatch(text) is None:
        return None
    try:
        return _second(datetime.fromisoformat(text))
    except ValueError:
        return None


def _format_second(format_: str, text: str) -> int | None:
    try:
        return _second(datetime.strptime(text, format_))  # noqa: DTZ007 (a zone is taken to UTC below)
    except ValueError:
        return None


def _second(moment: datetime) -> int:
    return int(
        (moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment).replace(microsecond=0).timestamp()
    )
