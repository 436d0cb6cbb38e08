"""Numbers that are the time between two dates, such as a length of stay or an age: a rule, or a note with the share of the rows where it holds.

Dates, their distance and the number are drawn apart from each other, so without a rule synthetic rows contradict themselves.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any, Final

from understudy.drafts.categories import NOTE
from understudy.drafts.dependencies import DURATION, TIMES, can_last
from understudy.drafts.differences import DIFFERENCE, values_of
from understudy.drafts.row_sample import RowSample
from understudy.table_files import MARK

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

NEARLY_ALL: Final = 0.95
"""Minimum share of the rows for a drafted rule; further rows are mostly errors of the file."""
WORTH_A_NOTE: Final = 0.8
"""Minimum share of the rows for a note."""
_FEWEST_ROWS: Final = 100
_FIRST_ROWS: Final = 256
_FEWEST_DIFFERENT: Final = 3
_MOST_NUMBERS: Final = 60
_DAY: Final = 86400
_ELAPSED: Final = {"hour": 3600, "minute": 60, "second": 1}
_ROUNDING: Final = 1e-6
_HEAP: Final = 0.9
"""Maximum share of the rows with the most common number: durations of any number would hold where nearly all are one."""

Column = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Duration:
    """A number that is the time from one column to another in some share of the rows."""

    start: str
    end: str
    number: str
    unit: str
    share: float


def propose_durations(
    columns: Sequence[Column],
    sample: RowSample,
    *,
    target: str | None,
    fixed: Collection[str],
    apart: Collection[str] = (),
) -> list[Column]:
    """Draft rules for numbers that are the time between two dates in nearly all rows, and note them.

    Args:
        target: The column to be predicted; its note alone says so.
        fixed: Columns that other rules compute or name.
        apart: Times whose distances mean nothing, such as those of different zones.
    """
    by_name = {str(column["name"]): column for column in columns}
    rules = []
    for found in _durations(columns, sample, apart):
        column = by_name[found.number]
        able = (
            found.number not in fixed
            and can_last([by_name[name] for name in (found.start, found.end, found.number)], target=target)
            and not any(other.get(DIFFERENCE, {}).get("from") == found.number for other in columns)
        )
        is_drafted = able and found.share >= NEARLY_ALL
        column[NOTE] = f"{column.get(NOTE, '')} {_note(found, is_drafted=is_drafted)}".strip()
        if is_drafted:
            names = [found.start, found.end, found.number]
            rules.append({"kind": DURATION, "columns": names, "unit": found.unit, MARK: ["columns", "unit"]})
    return rules


def _note(found: _Duration, *, is_drafted: bool) -> str:
    rows = (
        "in every row that was compared"
        if found.share == 1
        else f"in {_percent(found.share)} % of the rows that were compared; the others contradict the dates"
    )
    said = f"Follows from others: the {found.unit}s from {found.start} to {found.end}, {rows}."
    if is_drafted:
        return f"{said} A rule is drafted, so that it is computed in synthetic rows, and none contradicts itself; or ignore this column, which takes budget."
    return (
        f"{said} Synthetic rows would contradict themselves: ignore it, and compute it from synthetic rows."
    )


def _percent(share: float) -> str:
    """A share below 1, never rounded to 100 %."""
    return f"{min(100 * share, 99.9):.1f}"


def _durations(columns: Sequence[Column], sample: RowSample, apart: Collection[str]) -> Iterator[_Duration]:
    """The closest two dates of each number with a share worth a note."""
    times = {
        str(column["name"]): column
        for column in columns
        if column["kind"] in TIMES and column["name"] not in apart
    }
    numbers = {
        str(column["name"]): sample.numbers(str(column["name"]))
        for column in columns
        if column["kind"] == "numeric"
    }
    numbers = {name: found for name, found in numbers.items() if _varies(found)}
    if len(times) < 2 or not numbers or len(numbers) > _MOST_NUMBERS:  # noqa: PLR2004 - a duration takes two
        return
    whole = {str(column["name"]) for column in columns if column.get("type") == "integer"}
    seconds = {name: values_of(column, sample) for name, column in times.items()}
    for name, found in numbers.items():
        shares: list[_Duration] = []
        for start, end in permutations(times, 2):
            units = _units(
                seconds[start],
                seconds[end],
                are_times=_are_times(times[start], times[end]),
                whole=name in whole,
            )
            for unit, lasted in units.items():
                share = _share_equal(found, lasted)
                if share >= WORTH_A_NOTE:
                    shares.append(_Duration(start=start, end=end, number=name, unit=unit, share=share))
        if shares:
            yield max(shares, key=lambda one: one.share)


def _are_times(*columns: Mapping[str, Any]) -> bool:
    return all(column["kind"] == "datetime" for column in columns)


def _units(start: "Floats", end: "Floats", *, are_times: bool, whole: bool) -> dict[str, "Floats"]:
    """The time between two columns in each unit: the whole ones that a rule may have, or those with decimals."""
    import numpy as np

    if not whole:
        return {unit: (end - start) / size for unit, size in {"day": _DAY, **_ELAPSED}.items()}
    first, last = np.floor(start / _DAY), np.floor(end / _DAY)
    found = {"day": last - first, "year": _birthdays(first, last)}
    if are_times:
        found |= {unit: np.floor((end - start) / size) for unit, size in _ELAPSED.items()}
    return found


def _birthdays(start: "Floats", end: "Floats") -> "Floats":
    """Whole years between days numbered from 1970-01-01. As in the rule `duration`: the light client imports nothing of `core`."""
    import numpy as np

    known = ~(np.isnan(start) | np.isnan(end))
    years, of_year = [], []
    for numbers in (start, end):
        days = np.where(known, numbers, 0).astype(np.int64).astype("datetime64[D]")
        months = days.astype("datetime64[M]")
        years.append(days.astype("datetime64[Y]").astype(np.int64))
        of_year.append(
            32 * (months.astype(np.int64) % 12) + (days - months.astype("datetime64[D]")).astype(np.int64)
        )
    return np.where(known, years[1] - years[0] - (of_year[1] < of_year[0]), np.nan)


def _share_equal(one: "Floats", other: "Floats") -> float:
    """The share of equal values among rows that have both; 0 if few have.

    Values that differ in some rows must nearly agree also where one of the two is not its most common number: two columns that are mostly 0
    are mostly equal.
    """
    import numpy as np

    both = np.flatnonzero(~(np.isnan(one) | np.isnan(other)))
    first = both[:_FIRST_ROWS]
    if len(both) < _FEWEST_ROWS or _equal(one[first], other[first]) < WORTH_A_NOTE / 2:
        return 0.0
    share = _equal(one[both], other[both])
    telling = both[(one[both] != _most_common(one[both])) | (other[both] != _most_common(other[both]))]
    if share < 1 and _equal(one[telling], other[telling]) < WORTH_A_NOTE:
        return 0.0
    return share


def _most_common(numbers: "Floats") -> float:
    import numpy as np

    values, counts = np.unique(numbers, return_counts=True)
    return float(values[counts.argmax()])


def _equal(one: "Floats", other: "Floats") -> float:
    import numpy as np

    return float(np.isclose(one, other, rtol=0, atol=_ROUNDING).mean())


def _varies(numbers: "Floats") -> bool:
    """Whether enough rows have a number, with several distinct ones and no dominant one."""
    import numpy as np

    known = numbers[~np.isnan(numbers)]
    if len(known) < _FEWEST_ROWS:
        return False
    counts = np.unique(known, return_counts=True)[1]
    return len(counts) >= _FEWEST_DIFFERENT and counts.max() <= _HEAP * len(known)
