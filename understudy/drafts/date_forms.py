"""Dates and times written as text: the forms that fit a column, and reading one form as intake does."""

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any, Final

MONTHS: Final = ("%m/%Y", "%m.%Y", "%Y-%m", "%Y/%m")
"""Formats of months without days."""
SHORT_YEARS: Final = ("%d.%m.%y", "%m/%d/%y", "%d/%m/%y")
"""Formats with two-digit years: 00 to 68 are read as 2000 to 2068."""
_OF_DAYS: Final = ("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y", "%Y.%m.%d")
_NAMED_MONTHS: Final = ("%b %d, %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d. %B %Y")
_CLOCKS_OF_DAYS: Final = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p")
_FORMATS: Final = (
    *_OF_DAYS, "%Y%m%d", *_NAMED_MONTHS, *MONTHS, *SHORT_YEARS, *(f"{day} {clock}" for day in _OF_DAYS for clock in _CLOCKS_OF_DAYS),
)  # fmt: skip
_CLOCK: Final = r"[ ]\d{1,2}:\d{2}"
_SHORT_MONTH: Final = r"(?i)(^|[^a-z])(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)([^a-z]|$)"
_LONG_MONTH: Final = (
    r"(?i)january|february|march|april|may|june|july|august|september|october|november|december"
)
_YEAR_OF_TWO_DIGITS: Final = r"[^0-9][0-9]{2}$"
_YEAR_OF_FOUR_DIGITS: Final = r"^[0-9]{8}$|(^|[^0-9])[0-9]{4}([^0-9]|$)"
_ISO_DATE: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_ISO_TIME: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]+)?)?(Z|[+-][0-9]{2}:?[0-9]{2})?$"
_HAS_ZONE: Final = r"(Z|[+-][0-9]{2}:?[0-9]{2})$"
_BEGINS_AS_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{1,2}:[0-9]{2}(:[0-9.]+)? ?\S{0,32}")
_OPEN_END: Final = r"^[0-9]{2}99-12-31[T ]23:59"
"""The last moment of a century. It is written for "open" and shows nothing of the unit of other times."""
_CLOCKS: Final = ("day", "hour", "minute", "second")
_UNITS: Final = {
    "second": r"^.{10}[T ].{5}:(0[1-9]|[1-5][0-9])",
    "minute": r"^.{10}[T ].{2}:(0[1-9]|[1-5][0-9])|[+-].{2}:?(0[1-9]|[1-5][0-9])$",
    "hour": r"^.{10}[T ](0[1-9]|[12][0-9])|[+-](0[1-9]|1[0-9]):?[0-9]{2}$",
}
"""Times with a unit. Times are converted to UTC, so midnight of another zone is no midnight."""
_SHARE_READ: Final = 0.5
"""Minimum share of the values that a form must read."""
_SHARE_LIKE_TIMES: Final = 0.95
_MOST_EXAMPLES: Final = 3
_LAST_NORMALISED_DAY: Final = 3
_DAY_SECONDS: Final = 86400
_FIRST_SECOND: Final = -62135596800
"""The first second of the year 1. Intake reads no earlier text."""


@dataclass(slots=True)
class Dates:
    """The values of a column, read in one form.

    Attributes:
        days: Counts of the days, numbered from 1970-01-01.
        clock: Finest unit of the times: "day", "hour", "minute" or "second".
        unread: Number of rows with a text that is no date of the form.
        examples: Some of the unread texts.
        zoned: Number of rows with a time zone.
    """

    days: Counter[int] = field(default_factory=Counter)
    clock: str = "day"
    unread: int = 0
    examples: list[str] = field(default_factory=list)
    zoned: int = 0


@dataclass(slots=True)
class DateForms:
    """The forms that read at least half of the values seen as dates or times: "date" and "datetime" of ISO 8601, or a format of strptime."""

    seen: int = 0
    found: dict[str, Dates] = field(
        default_factory=lambda: {form: Dates() for form in sorted(("date", "datetime", *_FORMATS))}
    )

    def add(self, texts: Any) -> None:  # noqa: ANN401 - an Arrow array; pyarrow is imported lazily
        """Take in the next texts, without missing values and outer blanks."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        self.seen += len(texts)
        fitting = cache(lambda pattern: pc.sum(pc.match_substring_regex(texts, pattern)).as_py() or 0)
        for form, dates in list(self.found.items()):
            # Most columns are no dates. A pattern shared by several forms is matched once.
            fit = min(fitting(pattern) for pattern in _patterns(form))
            if dates.unread + len(texts) - fit > (1 - _SHARE_READ) * self.seen:
                del self.found[form]
                continue
            moments = read_moments(texts, form)
            dates.unread += moments.null_count
            if dates.unread > (1 - _SHARE_READ) * self.seen:
                del self.found[form]
                continue
            if moments.null_count:
                wrong = pc.unique(texts.filter(pc.is_null(moments)))[:_MOST_EXAMPLES].to_pylist()
                dates.examples = list(dict.fromkeys([*dates.examples, *wrong]))[:_MOST_EXAMPLES]
            seconds = np.asarray(moments.drop_null().cast(pa.int64()))
            if form == "datetime":
                known = texts.filter(pc.is_valid(moments))
                dates.zoned += pc.sum(pc.match_substring_regex(known, _HAS_ZONE)).as_py() or 0
            if has_clock(form):
                clock = (
                    _iso_clock(texts.filter(pc.is_valid(moments))) if form == "datetime" else _clock(seconds)
                )
                dates.clock = max(dates.clock, clock, key=_CLOCKS.index)
            found, counts = np.unique(seconds // _DAY_SECONDS, return_counts=True)
            dates.days.update(dict(zip(found.tolist(), counts.tolist(), strict=True)))


def begin_as_times(texts: Collection[str]) -> bool:
    """Whether nearly all texts are times of ISO 8601 with one further word, such as "2024-05-31 09:30:00 UTC"."""
    found = sum(_BEGINS_AS_TIME.fullmatch(text) is not None for text in texts)
    return bool(texts) and found >= _SHARE_LIKE_TIMES * len(texts)


def has_clock(form: str) -> bool:
    """Whether a form, as of `read_moments`, includes a time of day."""
    return form == "datetime" or "%H" in form or "%I" in form


def _iso_clock(texts: Any) -> str:  # noqa: ANN401 - an Arrow array
    """The finest unit of ISO 8601 times."""
    import pyarrow.compute as pc

    texts = texts.filter(pc.invert(pc.match_substring_regex(texts, _OPEN_END)))
    return next(
        (unit for unit, form in _UNITS.items() if pc.any(pc.match_substring_regex(texts, form)).as_py()),
        "day",
    )


def _clock(seconds: Any) -> str:  # noqa: ANN401 - an array of numpy
    """The finest unit of moments."""
    units = {"second": 60, "minute": 3600, "hour": _DAY_SECONDS}
    return next((unit for unit, coarser in units.items() if (seconds % coarser).any()), "day")


def read_moments(texts: Any, form: str) -> Any:  # noqa: ANN401 - Arrow arrays
    """Texts as Arrow timestamps, null if a text does not match the form: "date" or "datetime" of ISO 8601, or a format of strptime.

    Time zones are not read, nor is the year 0.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    moments = _moments(texts, form)
    return pc.if_else(pc.less(moments.cast(pa.int64()), _FIRST_SECOND), None, moments)


def _moments(texts: Any, form: str) -> Any:  # noqa: ANN401 - Arrow arrays
    import pyarrow as pa
    import pyarrow.compute as pc

    def fitting(pattern: str) -> Any:  # noqa: ANN401
        return pc.if_else(pc.match_substring_regex(texts, pattern), texts, None)

    if form == "date":
        try:
            return pc.cast(fitting(_ISO_DATE), pa.date32()).cast(pa.timestamp("s"))
        except pa.ArrowInvalid:
            return _strictly(fitting(_ISO_DATE), "%Y-%m-%d")
    if form == "datetime":
        times = fitting(_ISO_TIME)
        seconds = pc.utf8_slice_codeunits(times, 16, 19)
        seconds = pc.if_else(pc.match_substring_regex(seconds, "^:[0-9]{2}$"), seconds, ":00")
        clock = pc.binary_join_element_wise(
            "1970-01-01T", pc.utf8_slice_codeunits(times, 11, 16), seconds, ""
        )
        days = _moments(pc.utf8_slice_codeunits(times, 0, 10), "date")
        since_midnight = pc.strptime(clock, format="%Y-%m-%dT%H:%M:%S", unit="s").cast(pa.int64())
        return pc.add(days.cast(pa.int64()), since_midnight).cast(pa.timestamp("s"))
    for pattern in _patterns(form):
        texts = fitting(pattern)
    return _strictly(texts, form)


def _patterns(form: str) -> list[str]:
    """The regular expressions that texts of a form match."""
    if form in {"date", "datetime"}:
        return [_ISO_DATE if form == "date" else _ISO_TIME]
    # `%Y` also reads two digits, as a year of the first century. `%b` and `%B` each read the months of both.
    found = [_YEAR_OF_TWO_DIGITS if form in SHORT_YEARS else _YEAR_OF_FOUR_DIGITS]
    return (
        found + [_SHORT_MONTH] * ("%b" in form) + [_LONG_MONTH] * ("%B" in form) + [_CLOCK] * has_clock(form)
    )


def _strictly(texts: Any, form: str) -> Any:  # noqa: ANN401
    """Read texts by strptime. The C library turns 31 February into 2 or 3 March, so such days are read again by Python."""
    import pyarrow as pa
    import pyarrow.compute as pc

    moments = pc.strptime(texts, format=form, unit="s", error_is_null=True)
    doubtful = pc.fill_null(pc.less_equal(pc.day(moments), _LAST_NORMALISED_DAY), fill_value=False)
    if "%d" not in form or not pc.any(doubtful).as_py():
        return moments
    different = pc.unique(texts.filter(doubtful))
    wrong = [text for text in different.to_pylist() if not _is_date(text, form)]
    return pc.if_else(pc.is_in(texts, value_set=pa.array(wrong, texts.type)), None, moments)


def _is_date(text: str, form: str) -> bool:
    try:
        datetime.strptime(text, form)  # noqa: DTZ007 - only whether there is such a day
    except ValueError:
        return False
    return True
