"""Values of conditions as programs write them: numbers of any kind, dates and times, sets and arrays of several libraries."""

import re
from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time
from decimal import Decimal
from numbers import Real
from typing import Any, Final

import numpy as np

from core.artifacts.errors import InvalidCondition
from core.plan.domain.columns.kinds import LabelColumn, NumericColumn, TimeColumn

_LISTING: Final = ("tolist", "to_list", "to_pylist")
"""Methods of numpy arrays, of pandas and polars Series and of Arrow arrays that return their values as a list."""
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - synthetic times have no zone
_DAY_SECONDS: Final = 86400
_LAST_SECOND: Final = 86399
_PERIOD: Final = re.compile(r"[1-8][0-9]{3}(-(0[1-9]|1[0-2]))?")

Interval = tuple[float, float]
"""Both ends belong to it."""


def listed(value: Any) -> list[Any] | None:  # noqa: ANN401 - of any library
    """The values of a set, list, array or Series, missing ones as None; None where it is one value, or a pair."""
    if value is None or isinstance(value, str | bytes | tuple | Mapping | np.generic | date):
        return None
    if isinstance(value, np.ndarray) and value.dtype.kind == "M":
        value = value.astype("datetime64[us]")
    if isinstance(value, AbstractSet | list | range):
        items: Collection[Any] = value
    elif isinstance(value, Collection) or hasattr(value, "to_pylist"):
        way = next((name for name in _LISTING if hasattr(value, name)), None)
        items = list(value) if way is None else getattr(value, way)()
    else:
        return None
    return [or_none(item) for item in items]


def or_none(item: Any) -> Any:  # noqa: ANN401 - a value of any library
    """A value with the missing ones of all libraries as None."""
    is_number = isinstance(item, float | np.floating | np.datetime64)
    is_nothing = type(item).__name__ in {"NaTType", "NAType"} or (is_number and item != item)  # noqa: PLR0124 - a NaN
    return None if is_nothing else item


def word_of(column: LabelColumn, value: object) -> str | None:
    """The word that a value stands for: a truth value that of a boolean, a whole number its digits; None for anything else."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool):
        return column.labels[int(value)] if column.kind == "boolean" else None
    if isinstance(value, int):
        return str(value)
    return value if isinstance(value, str) else None


def number_of(column: NumericColumn, value: object) -> float:
    """A number as a program writes it: an int, a float, a Decimal, a number of numpy, or the text of one.

    Raises:
        InvalidCondition: it is no finite number.
    """
    is_real = isinstance(value, Real | Decimal | str) and not isinstance(value, bool | np.bool_)
    try:
        number = float(value) if is_real else np.nan  # type: ignore[arg-type]
    except (OverflowError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise _impossible(column.name, "it holds finite numbers alone")
    return number


def seconds_of(column: TimeColumn, value: object) -> Interval:
    """The first and the last second since 1970 of a date or a time.

    Args:
        value: as a program wrote it: a date, a datetime, a moment of numpy or pandas, or text of ISO 8601. A date is all its day, a month
            (2024-01) and a year (2024) all their days.

    Raises:
        InvalidCondition: it is neither, or has a zone.
    """
    example = "'2024-05-31'" if column.kind == "date" else "'2024-05-31T17:30'"
    if is_period(value):
        first, last = _days_of(str(value))
        return float(first) * _DAY_SECONDS, float(last) * _DAY_SECONDS + _LAST_SECOND
    value = read_moment(str(value) if type(value) is int else value)
    if isinstance(value, datetime):
        if value.tzinfo is not None:
            raise _impossible(column.name, "its times have no zone; write them without one")
        second = (value - _EPOCH).total_seconds()
        return second, second
    if isinstance(value, date):
        second = (datetime.combine(value, time()) - _EPOCH).total_seconds()
        return second, second + _LAST_SECOND
    raise _impossible(
        column.name, f"it holds {column.kind}s; write a date, a datetime, or a text such as {example}"
    )


def is_period(value: object) -> bool:
    """Whether a value is a month, such as 2024-01, or a year of four digits."""
    return isinstance(value, str | int) and bool(_PERIOD.fullmatch(str(value)))


def _days_of(period: str) -> tuple[int, int]:
    """The first and the last day since 1970 of a month or a year."""
    year, month = int(period[:4]), int(period[5:] or 0)
    if not month:
        first, after = date(year, 1, 1), date(year + 1, 1, 1)
    else:
        first, after = date(year, month, 1), date(year + month // 12, month % 12 + 1, 1)
    start = _EPOCH.toordinal()
    return first.toordinal() - start, after.toordinal() - start - 1


def read_moment(value: object) -> date | datetime | None:
    """The date or time that a date, a datetime, a moment of numpy or pandas, or text of ISO 8601 stands for; None for anything else."""
    if isinstance(value, np.datetime64):
        is_day = np.datetime_data(value)[0] in {"Y", "M", "W", "D"}
        value = value.astype("datetime64[D]" if is_day else "datetime64[us]").item()
    if isinstance(value, str):
        for kind in (date, datetime):
            try:
                return kind.fromisoformat(value.strip())
            except ValueError:
                continue
    return value if isinstance(value, date) else None


def _impossible(name: str, why: str) -> InvalidCondition:
    return InvalidCondition(f"The column {name!r} cannot have such values: {why}.")
