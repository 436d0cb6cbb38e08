"""The dates and times that a declared resolution keeps apart: those that a release can hold.

Weeks and shorter units count from the lower bound. Months, quarters and years begin where the calendar says, and the first of them is the
lower bound itself. Ends of them are last days, and the last one is the upper bound itself.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from understudy.documents import Json

WRITABLE: Final = re.compile(r"(?:[^%]|%[aAbBdDeFHIjmMpRSTyY%])*", re.DOTALL)
"""Formats of dates and times that a service writes; others are ISO 8601."""
_UNITS: Final = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 7 * 86400}
"""Seconds of the units that are all equally long."""
_MONTHS: Final = {"month": 1, "quarter": 3, "year": 12}
_END: Final = "_end"
_YEAR: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeGrid:
    """The moments of a column, increasing; those of dates are at midnight.

    Attributes:
        first: the lower bound.
        width: the time between two moments, where all are equally far apart.
        starts: all moments, where they are not.
    """

    first: datetime
    width: timedelta
    count: int
    starts: tuple[datetime, ...] = ()

    def moment(self, place: int) -> datetime:
        """Return a moment by its place."""
        return self.starts[place] if self.starts else self.first + place * self.width

    def from_then_on(self, moment: datetime) -> datetime:
        """Return the first moment that is not earlier than another, or the last moment. All are equally far apart."""
        place = -((self.first - moment) // self.width)
        return self.moment(min(max(place, 0), self.count - 1))


def seconds_of(column: Json) -> int:
    """Return the seconds of a unit in which the distance of a date or time is counted."""
    return _UNITS["day"] if column["kind"] == "date" else _UNITS[column.get("resolution", "second")]


def time_grid(column: Json, ends: tuple[str, str]) -> TimeGrid:
    """Return the moments of a column of dates or times between two bounds.

    Raises:
        ValueError: the bounds are reversed or no times, or there is no such resolution.
    """
    first, last = (moment_of(text) for text in ends)
    resolution = column.get("resolution", "day" if column["kind"] == "date" else "second")
    length = _MONTHS.get(resolution.removesuffix(_END))
    if first > last or (resolution not in _UNITS and length is None):
        raise ValueError
    if length is None:
        width = timedelta(seconds=_UNITS[resolution])
        return TimeGrid(first=first, width=width, count=(last - first) // width + 1)
    begun = [month for month in range(_month(first) + 1, _month(last) + 1) if month % length == 0]
    starts: tuple[datetime, ...]
    if resolution.endswith(_END):
        last_days = (_begin(month) - timedelta(days=1) for month in begun)
        starts = (*(day for day in last_days if first <= day < last), last)
    else:
        starts = (first, *(start for start in map(_begin, begun) if first < start <= last))
    return TimeGrid(first=starts[0], width=timedelta(), count=len(starts), starts=starts)


def _month(moment: datetime) -> int:
    """Months since the year 0."""
    return moment.year * _YEAR + moment.month - 1


def _begin(month: int) -> datetime:
    return datetime(month // _YEAR, month % _YEAR + 1, 1)  # noqa: DTZ001 - like those of the domain


def moment_of(text: str) -> datetime:
    """Return the moment of a text in ISO 8601 without a zone, like those of the domain."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC).replace(tzinfo=None)
