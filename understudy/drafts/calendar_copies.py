"""Columns that follow from a date, such as its weekday in any language: they are left out, because synthetic rows would contradict themselves.

A date is counted in bins and drawn inside one. A weekday beside it would be a column of its own, counted and drawn separately: a row could
have the date of a Monday and the word of a Sunday. No rule can declare that dependence.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from understudy.drafts.categories import NOT_MODELLED, NOTE
from understudy.drafts.dependencies import leave_out
from understudy.drafts.differences import values_of
from understudy.drafts.row_sample import RowSample

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_FEWEST_ROWS: Final = 200
_FIRST_ROWS: Final = 512
_ROWS_OF_A_PART: Final = 10
"""Minimum rows per part of the calendar, such as one weekday, and per distinct value, on average; fewer may agree by chance."""
_FEWEST_VALUES: Final = 2
_DAY_SECONDS: Final = 86400
_COARSE: Final = frozenset({"month", "quarter", "year", "month_end", "quarter_end", "year_end"})
_TIMES: Final = frozenset({"date", "datetime"})
_PATTERNS: Final = {"weekday": "weekday", "quarter": "month", "month": "month", "hour": "hour"}
"""For each part, the pattern of a date that keeps its frequencies."""

Column = dict[str, Any]


def leave_parts_of_dates_out(columns: Sequence[Column], sample: RowSample, *, target: str | None) -> None:
    """Draft a column as ignored if the weekday, month, quarter, year, day or hour of a date determines it in every row; the target stays."""
    dates = {str(column["name"]): column for column in columns if column["kind"] in _TIMES}
    parts = {name: _parts(values_of(column, sample), column["kind"]) for name, column in dates.items()}
    # Month and year columns that are dates may follow from finer dates, and other columns may follow from them.
    for column in sorted(columns if dates else (), key=lambda column: column["kind"] not in _TIMES):
        name, is_coarse = str(column["name"]), column.get("resolution") in _COARSE
        if column["kind"] in NOT_MODELLED or (column["kind"] in _TIMES and not is_coarse):
            continue
        codes = _codes(sample.words(name))
        # The coarsest part of the first date that determines the value.
        found = (
            (dates[date], part)
            for date, listed in parts.items()
            if date != name and not (is_coarse and dates[date].get("resolution") in _COARSE)
            for part, of_rows in listed.items()
            if _is_copy(of_rows, codes)
        )
        if (copied := next(found, None)) is None:
            continue
        date, part = copied
        if name == target:
            column[NOTE] += (
                f" WARNING: Follows from the {part} of {date['name']}, in every row that was compared."
            )
            continue
        parts.pop(name, None)
        leave_out(column, _note(date, part))


def _note(date: Mapping[str, Any], part: str) -> str:
    kept = _PATTERNS.get(part)
    frequencies = f" Its pattern '{kept}' keeps the frequencies." if kept in date.get("patterns", ()) else ""
    return (
        f"Follows from the {part} of {date['name']}, in every row that was compared, so it is left out: it would take budget, and synthetic rows"
        f" would contradict themselves. Add it to them afterwards, or give its kind as 'keep'.{frequencies}"
    )


def _parts(seconds: "Floats", kind: str) -> Mapping[str, "Floats"]:
    """The calendar parts of moments, coarsest first; NaN for missing moments."""
    import numpy as np

    known = ~np.isnan(seconds)
    whole = np.where(known, seconds, 0).astype("int64").astype("datetime64[s]")
    days, months = whole.astype("datetime64[D]").astype(int), whole.astype("datetime64[M]").astype(int)
    found = {
        "quarter": months % 12 // 3,
        "weekday": (days + 3) % 7,
        "month": months % 12,
        "year": months // 12,
        "day of the month": days - whole.astype("datetime64[M]").astype("datetime64[D]").astype(int),
        "year and month": months,
    }
    if kind == "datetime":
        found["hour"] = whole.astype("int64") % _DAY_SECONDS // 3600
    return {part: np.where(known, codes, np.nan) for part, codes in found.items()}


def _codes(words: Any) -> "Floats":  # noqa: ANN401 - an Arrow array
    """A number for each row, equal for equal words; NaN for missing values."""
    import numpy as np
    import pyarrow.compute as pc

    indices = pc.dictionary_encode(words).indices
    return np.asarray(indices.cast("float64").fill_null(float("nan")), dtype=np.float64)


def _is_copy(of_rows: "Floats", codes: "Floats") -> bool:
    """Whether a part determines the value in every row that has both, and enough rows have."""
    import numpy as np

    known = ~(np.isnan(of_rows) | np.isnan(codes))
    part, code = of_rows[known], codes[known]
    if not _one_each(part[:_FIRST_ROWS], code[:_FIRST_ROWS]) or not _one_each(part, code):
        return False
    of_parts, of_values = (np.unique(each, return_counts=True)[1] for each in (part, code))
    return (
        len(part) >= max(_FEWEST_ROWS, _ROWS_OF_A_PART * len(of_parts))
        and len(of_values) >= _FEWEST_VALUES
        and int(np.sort(of_values)[-_FEWEST_VALUES]) >= _ROWS_OF_A_PART
    )


def _one_each(part: "Floats", code: "Floats") -> bool:
    """Whether each part goes with one value only."""
    import numpy as np

    different, place = np.unique(part, return_inverse=True)
    _, own = np.unique(code, return_inverse=True)
    return len(np.unique(place * (len(part) + 1) + own)) == len(different)
