"""Dates and times in a draft: format, bounds in whole days, months or years, and calendar patterns."""

import json
from calendar import monthrange
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from math import inf
from typing import Any, Final

from understudy.drafts.bin_costs import BINS, cumulated, quantile
from understudy.drafts.bounds import Bounds, choose_bounds, outermost
from understudy.drafts.categories import NOTE
from understudy.drafts.date_forms import MONTHS, SHORT_YEARS, Dates, has_clock
from understudy.drafts.facts import Facts
from understudy.drafts.numbers import bounds_note
from understudy.drafts.words import names_moment

_FEW_DAYS, _DAYS_OF_MONTH, _DAYS_OF_QUARTER, _DAYS_OF_YEAR = 2, 31, 92, 366
_MONTHS_OF: Final = {"month": 1, "quarter": 3, "year": 12}
_FEWEST_DAYS: Final = {"month": 3, "quarter": 6, "year": 3}
"""Minimum distinct days that show a pattern of first or last days of a month, quarter or year; fewer may agree by chance."""
_END: Final = "_end"
_FEWEST_WEEKS: Final = 6
"""Minimum distinct days that show a pattern of one weekday."""
_DAYS_OF_WEEK: Final = 7
_PARTS = {"seconds": 1, "milliseconds": 1_000}
_EARLIEST, _LATEST = 6e8, 2.6e9
"""Range of seconds since 1970 that count as a moment: 1989 to 2052."""
_SHARE_OF_DATES: Final = 0.99
"""Minimum share of dates in a column that is drafted as dates."""
_EPOCH = date(1970, 1, 1).toordinal()
_SENTINEL_DAYS: Final = frozenset(
    date(*day).toordinal() - _EPOCH
    for day in (
        (1, 1, 1), (1111, 11, 11), (1753, 1, 1), (1800, 1, 1), (1899, 12, 30), (1899, 12, 31), (1900, 1, 1), (1901, 1, 1), (1970, 1, 1),
        (2049, 12, 31), (2050, 12, 31), (2099, 12, 31), (2100, 1, 1), (2100, 12, 31), (2199, 12, 31), (2200, 1, 1), (2222, 2, 22), (2299, 12, 31), (2999, 12, 31),
        (3000, 1, 1), (3000, 12, 31), (4712, 12, 31), (9999, 1, 1), (9999, 12, 30), (9999, 12, 31),
    )
)  # fmt: skip
"""Days that registers write for "unknown" or "open", numbered from 1970-01-01."""
_TAIL, _FAR, _HEAP = 0.01, 0.5, 3
_MOST_OF_A_YEAR: Final = 1 / 3
"""Maximum share of empty bins for bounds in whole years."""
_MOST_OF_MONTHS: Final = 0.5
"""Maximum share of empty bins for bounds in whole months."""
_FEW_BEYOND: Final = 0.001
"""Maximum share of rows just past a month or a year, such as minutes after midnight, that do not extend the bounds by another one."""
_FIRST, _LAST = (date(1900, 1, 1).toordinal() - _EPOCH, date(2100, 12, 31).toordinal() - _EPOCH)
_LAST_SHORT = date(2040, 12, 31).toordinal() - _EPOCH
"""Last plausible day of a two-digit year: later ones are births of the previous century."""


def is_time(fact: Facts) -> bool:
    """Whether one form reads nearly all values of a column as dates or times."""
    return _reads(fact, _SHARE_OF_DATES)


def is_mostly_time(fact: Facts) -> bool:
    """Whether one form reads at least half of a column's values as dates or times."""
    return _reads(fact, 0)


def _reads(fact: Facts, share: float) -> bool:
    forms = _forms(fact)
    return bool(forms) and fact.dates.found[forms[0]].unread <= (1 - share) * fact.present


def _forms(fact: Facts) -> list[str]:
    """The forms that leave the fewest values unread, ISO 8601 first."""
    found = {
        name: dates.unread
        for name, dates in fact.dates.found.items()
        if dates.days and (name not in {"%Y%m%d", *MONTHS, *SHORT_YEARS} or _plausible(fact, name))
    }
    least = [name for name, unread in found.items() if unread == min(found.values())]
    iso = {"date": 0, "datetime": 1}
    return sorted(least, key=lambda name: (iso.get(name, 2), not _are_firsts(fact.dates.found[name]), name))


def _are_firsts(dates: Dates) -> bool:
    """Whether all days are firsts of several months: if both orders of day and month read all rows, this order is meant."""
    days = list(map(_day, dates.days.keys() - _sentinels(dates.days).keys()))
    return len({day.month for day in days}) > 1 and all(day.day == 1 for day in days)


def has_unclear_years(fact: Facts) -> bool:
    """Whether nearly all values are dates with two-digit years, some of which may be of either century."""
    dates = [fact.dates.found[name] for name in SHORT_YEARS if name in fact.dates.found]
    return not is_time(fact) and any(
        one.days and one.unread <= (1 - _SHARE_OF_DATES) * fact.present for one in dates
    )


def _plausible(fact: Facts, name: str) -> bool:
    """Whether ambiguous values are plausible dates: whole numbers of eight digits, months such as 03/2024."""
    days = fact.dates.found[name].days
    numbers = days.keys() - _sentinels(days).keys()
    if not numbers or min(numbers) < _FIRST or max(numbers) > (_LAST_SHORT if name in SHORT_YEARS else _LAST):
        return False
    if name in SHORT_YEARS:
        return True
    if name == "%Y%m%d":
        return not fact.numeric or fact.decimals == 0
    # A school year such as 2011-12 is no month.
    is_text = not fact.numeric or (name == "%m.%Y" and fact.zero_led and fact.decimals == len("2024"))
    return is_text and any(day.month != (day.year + 1) % 100 for day in map(_day, numbers))


def moments_note(name: str, fact: Facts) -> str:
    """The note on whole numbers that are moments by name and size; empty for other numbers."""
    if not (fact.numeric and fact.whole and names_moment(name)):
        return ""
    for unit, parts in _PARTS.items():
        if parts * _EARLIEST <= fact.lower and fact.upper < parts * _LATEST:
            return f"Looks like {unit} since 1970: if you write dates (2024-05-31T09:30:00), synthetic rows keep weekdays and months."
    return ""


def times(fact: Facts) -> dict[str, Any]:
    """Draft a column of dates or times: kind, bounds, resolution, patterns and format, and a note."""
    names = _forms(fact)
    dates = fact.dates.found[names[0]]
    sentinels = _sentinels(dates.days)
    spread = {float(day): count for day, count in dates.days.items() if day not in sentinels}
    found = choose_bounds(spread, unit=1.0, of_units=outermost(fact.units), are_days=True)
    finest = "month" if names[0] in MONTHS else dates.clock
    resolution = _resolution(list(map(_day, spread)), finest)
    lower, upper = _outer_days(found, spread, resolution)
    if resolution == "week":  # weeks count from the lower bound
        lower -= timedelta(days=(lower - _day(next(iter(spread)))).days % _DAYS_OF_WEEK)
    learn = {"bins": "learn"} if found.bins == "learn" else {}
    notes = [bounds_note(_widened(found, spread, lower, upper))]
    notes += _on_form(names, resolution, lower, upper)
    if has_clock(names[0]):
        column: dict[str, Any] = {
            "kind": "datetime",
            "lower": f"{lower}T00:00:00",
            "upper": f"{upper}T23:59:59",
        }
    else:
        column = {"kind": "date", "lower": str(lower), "upper": str(upper)}
    column |= {"resolution": resolution}
    hidden = _patterns(lower, upper, resolution)
    if patterns := [pattern for pattern in hidden if pattern not in fact.called_after]:
        column["patterns"] = patterns
    notes += [_on_taken(pattern) for pattern in hidden if pattern in fact.called_after]
    if not learn and (bins := _equal_bins(lower, upper, resolution)):
        column["bins"] = bins
    column |= {"format": names[0]} if names[0].startswith("%") else {}
    if sentinels:
        column |= {"outside": "null", "null": "category"}
        notes.append(_on_sentinels({_day(day): count for day, count in sentinels.items()}, fact.present))
    if dates.zoned:
        notes.append(_on_zones(dates, fact.present))
    if dates.unread:
        column |= {"unreadable": "null", "null": "category"}
        notes.append(_on_unread(dates, fact.present))
    return column | learn | {NOTE: " ".join(notes)}


def _on_form(names: Sequence[str], resolution: str, lower: date, upper: date) -> list[str]:
    """Notes on the format of the dates and their calendar pattern."""
    notes = []
    if len(names) > 1 and names[0].startswith("%"):
        notes.append(_on_order(names))
    if names[0] in SHORT_YEARS:
        notes.append("Years of two digits: 00 to 68 are read as 2000 to 2068, 69 to 99 as 1969 to 1999.")
    if _months(resolution) and names[0] not in MONTHS:
        unit, ends = resolution.removesuffix(_END), resolution.endswith(_END)
        notes.append(f"All dates are the {'last' if ends else 'first'} day of a {unit}.")
    if resolution == "week":
        notes.append(f"All dates are {lower:%A}s.")
    if names[0].startswith("%"):
        notes.append(
            f"CSV files of synthetic rows use the same format: {upper} is {upper.strftime(names[0])}."
        )
    return notes


def _on_order(names: Sequence[str]) -> str:
    """The note on several forms that read the rows equally well."""
    others = " or ".join(map(repr, names[1:]))
    if names[0].replace("%d", "%m") != names[1].replace("%d", "%m"):
        return f"Could also be {others}."
    first, second = ("day", "month") if names[0].index("%d") < names[0].index("%m") else ("month", "day")
    return (
        f"No row shows whether the day or the month comes first: read with the {first} first. If the {second} comes first, give the format"
        f" {others}, and bounds that fit it."
    )


def _on_zones(dates: Dates, rows: int) -> str:
    some = "" if dates.zoned == rows else f" in {100 * dates.zoned / rows:.2g} % of the values"
    return (
        f"Its times have a zone{some}: they are converted to UTC, so hours, weekdays and days are those of UTC, and synthetic rows have times in UTC without"
        " a zone. To keep local times, write them without a zone and draft again."
    )


def _on_unread(dates: Dates, rows: int) -> str:
    listed = ", ".join(json.dumps(text, ensure_ascii=False) for text in dates.examples)
    return (
        f"{dates.unread:,} values ({100 * dates.unread / rows:.2g} %) are no dates of this form, such as {listed}: they count as missing. To keep them, correct them"
        " and draft again."
    )


def on_many_unread(fact: Facts) -> str:
    """The note on a column with too few dates to be drafted as dates."""
    form = _forms(fact)[0]
    dates = fact.dates.found[form]
    kind = "datetime" if has_clock(form) else "date"
    return (
        f"{100 - 100 * dates.unread / fact.present:.2g} % of the values are dates: give its kind as '{kind}' to model these, and count the others, such as"
        f" {json.dumps(dates.examples[0], ensure_ascii=False)}, as missing."
    )


def _sentinels(days: Mapping[int, int]) -> dict[int, int]:
    """Counts of sentinel dates, such as 9999-12-31 for "open": far from all other dates, or with far more rows."""
    ordinary = {day: count for day, count in days.items() if day not in _SENTINEL_DAYS}
    if not ordinary:
        return {}
    values, sums = cumulated({float(day): count for day, count in ordinary.items()})
    span = quantile(values, sums, 1 - _TAIL) - quantile(values, sums, _TAIL)
    most = max(ordinary.values())
    found = {}
    for day in days.keys() & _SENTINEL_DAYS:
        apart = max(values[0] - day, day - values[-1])
        is_far = apart > max(span * _FAR, _DAYS_OF_YEAR)
        is_heap = apart > _DAYS_OF_YEAR and days[day] > _HEAP * most
        if is_far or is_heap:
            found[day] = days[day]
    return found


def _on_sentinels(days: Mapping[date, int], rows: int) -> str:
    listed = " and ".join(map(str, sorted(days)))
    share = 100 * sum(days.values()) / rows
    return (
        f"Dates outside the bounds count as missing, such as the sentinel dates {listed} ({share:.2g} % of the values), which lie far from all"
        " others."
    )


def _widened(found: Bounds, spread: Mapping[float, int], lower: date, upper: date) -> Bounds:
    """The bounds found, with the cost of whole months or years in their place."""
    beyond = sum(count for day, count in spread.items() if not lower <= _day(day) <= upper)
    return replace(found, cost=replace(found.cost, clamped=beyond / sum(spread.values())))


def _outer_days(found: Bounds, spread: Mapping[float, int], resolution: str) -> tuple[date, date]:
    """The first and last day of the bounds: in whole years for ranges above a quarter, in whole months, or in days, whichever is the coarsest without too many empty bins."""
    first, last = _without_few_beyond(spread, _day(found.lower), _day(found.upper))
    lower, upper = first.replace(day=1), _month_end(last)
    year_end = last.replace(month=12, day=31)
    if _months(resolution) > 1:
        return lower, year_end
    empty = (year_end - upper).days / (year_end - lower).days
    if (last - lower).days > _DAYS_OF_QUARTER and empty <= _MOST_OF_A_YEAR:
        return lower, year_end
    days, held = (upper - lower).days + 1, (last - first).days + 1
    if _months(resolution) or held > _MOST_OF_MONTHS * days or (first == last and resolution == "day"):
        return lower, upper
    return first, last


def _without_few_beyond(spread: Mapping[float, int], first: date, last: date) -> tuple[date, date]:
    """The first and last day without an end month or year that only a few rows reach, by less than a bin."""
    # Numbers of days, because no date follows the last possible month.
    begin, end = _number(_month_end(first)) + 1, _number(last.replace(day=1)) - 1
    if begin >= end:
        return first, last
    few, bin_days = _FEW_BEYOND * sum(spread.values()), ((last - first).days + 1) / BINS
    is_long, opens_year = bin_days < _DAYS_OF_MONTH, _day(end).year < last.year
    if is_long and begin - _number(first) <= bin_days and _rows(spread, -inf, begin - 1) <= few:
        first = _day(begin)
    if (is_long or opens_year) and _number(last) - end <= bin_days and _rows(spread, end + 1, inf) <= few:
        last = _day(end)
    return first, last


def _rows(spread: Mapping[float, int], low: float, high: float) -> int:
    return sum(count for day, count in spread.items() if low <= day <= high)


def _number(day: date) -> int:
    return day.toordinal() - _EPOCH


def _day(number: float) -> date:
    return date.fromordinal(_EPOCH + int(number))


def _month_end(day: date) -> date:
    return day.replace(day=monthrange(day.year, day.month)[1])


def _resolution(days: Collection[date], finest: str) -> str:
    """The coarsest calendar unit that all days begin or end, else weeks of one weekday, else a given unit."""
    if finest not in {"day", "month"}:
        return finest
    if all(day.day == 1 for day in days):
        return _coarsest(days) or finest
    if all(day == _month_end(day) for day in days):
        coarsest = _coarsest([day.replace(day=1) for day in days], last=True)
        return coarsest + _END if coarsest else finest
    is_weekly = len(days) >= _FEWEST_WEEKS and len({day.weekday() for day in days}) == 1
    return "week" if is_weekly else finest


def _coarsest(months: Collection[date], *, last: bool = False) -> str:
    """The coarsest unit that all months begin or end; empty if there are too few months to decide."""
    found = [
        unit
        for unit, length in _MONTHS_OF.items()
        if len(months) >= _FEWEST_DAYS[unit]
        and all((month.month - 1 + last) % length == 0 for month in months)
    ]
    return found[-1] if found else ""


def _months(resolution: str) -> int:
    """Months in a resolution; 0 for shorter resolutions."""
    return _MONTHS_OF.get(resolution.removesuffix(_END), 0)


def _equal_bins(lower: date, upper: date, resolution: str) -> int | None:
    """The largest number of bins with equally many months, quarters or years, if the default is unequal and this number is at least half of it."""
    if not _months(resolution):
        return None
    months = 12 * (upper.year - lower.year) + upper.month - lower.month + 1
    units = -(-months // _months(resolution))
    if units <= BINS:
        return None
    return next((bins for bins in range(BINS, BINS // 2 - 1, -1) if units % bins == 0), None)


def _on_taken(pattern: str) -> str:
    return f"It has no pattern '{pattern}', because another column has the name of that pattern: rename that column and draft again to have it."


def _patterns(lower: date, upper: date, resolution: str) -> list[str]:
    """The calendar patterns that default bins between two days hide."""
    bin_days = ((upper - lower).days + 1) / BINS
    hidden = {
        "hour": resolution in {"second", "minute", "hour"},
        "weekday": bin_days > _FEW_DAYS and resolution != "week" and not _months(resolution),
        "month": bin_days > _DAYS_OF_MONTH and _months(resolution) <= 1,
    }
    return [pattern for pattern, is_hidden in hidden.items() if is_hidden]
