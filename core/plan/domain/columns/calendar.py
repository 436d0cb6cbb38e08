"""Dates and times as whole numbers (days, or seconds, since 1970-01-01) and the grids of their resolutions."""

import re
from datetime import UTC, date, datetime
from typing import Final

import numpy as np

from core.plan.domain.columns.bins import Grid

DATE_RESOLUTIONS: Final = ("day", "week", "month", "quarter", "year", "month_end", "quarter_end", "year_end")
DATETIME_RESOLUTIONS: Final = ("second", "minute", "hour", *DATE_RESOLUTIONS)

_SECONDS: Final = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 7 * 86400}
_MONTHS: Final = {"month": 1, "quarter": 3, "year": 12}
_END: Final = "_end"
_DAY: Final = 86400
_SHORT_PARTS: Final = {
    "%F": "%Y-%m-%d",
    "%T": "%H:%M:%S",
    "%R": "%H:%M",
    "%D": "%m/%d/%y",
    "%e": "%d",
    "%h": "%b",
}


def day_number(text: str) -> int:
    """Days since 1970-01-01 of an ISO 8601 date.

    Raises:
        ValueError: the text is not such a date.
    """
    return date.fromisoformat(text).toordinal() - date(1970, 1, 1).toordinal()


def second_number(text: str) -> int:
    """Seconds since 1970-01-01T00:00:00 of an ISO 8601 date or time without a zone.

    Raises:
        ValueError: the text is not such a time, or names a zone.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is not None or moment.microsecond:
        message = "a bound has neither a zone nor fractions of a second"
        raise ValueError(message)
    return int(moment.replace(tzinfo=UTC).timestamp())


def day_text(day: int) -> str:
    """ISO 8601 date of a day number."""
    return date.fromordinal(date(1970, 1, 1).toordinal() + day).isoformat()


def second_text(second: int) -> str:
    """ISO 8601 time of a second number."""
    return datetime.fromtimestamp(second, tz=UTC).replace(tzinfo=None).isoformat()


def python_format(format_: str) -> str:
    """A strptime format in parts that Python reads: `%F` of the C library is `%Y-%m-%d`."""
    return re.sub(r"%.", lambda part: _SHORT_PARTS.get(part[0], part[0]), format_, flags=re.DOTALL)


def unit_of(resolution: str) -> str:
    """The unit of the calendar that the moments of a resolution begin or end."""
    return resolution.removesuffix(_END)


def make_grid(*, lower: int, upper: int, resolution: str, seconds_per_unit: int) -> Grid:
    """Grid of the times from ``lower`` to ``upper`` that a resolution keeps apart.

    Weeks and shorter resolutions count from ``lower``; months, quarters and years begin where the calendar says,
    and the first of them is ``lower`` itself. Ends of them are last days, and the last one is ``upper`` itself.

    Args:
        lower: First unit number (days or seconds).
        upper: Last unit number, not below ``lower``.
        resolution: One of DATETIME_RESOLUTIONS.
        seconds_per_unit: 86400 for dates, 1 for times.
    """
    if resolution in _SECONDS:
        width = _SECONDS[resolution] // seconds_per_unit
        return Grid(offset=lower, width=width, scale=1, ticks=(upper - lower) // width + 1)
    first, last = (
        np.datetime64(unit * seconds_per_unit, "s").astype("datetime64[M]") for unit in (lower, upper)
    )
    months = np.arange(first, last + 1)
    length = _MONTHS[unit_of(resolution)]
    if resolution.endswith(_END):
        months = months[(months.astype(np.int64) + 1) % length == 0]
        ends = ((months + 1).astype("datetime64[s]").astype(np.int64) - _DAY) // seconds_per_unit
        table = np.append(ends[(ends >= lower) & (ends < upper)], np.int64(upper))
    else:
        months = months[months.astype(np.int64) % length == 0]
        starts = months.astype("datetime64[s]").astype(np.int64) // seconds_per_unit
        table = np.append(np.int64(lower), starts[(starts > lower) & (starts <= upper)])
    return Grid(offset=lower, width=1, scale=1, ticks=len(table), table=table)
