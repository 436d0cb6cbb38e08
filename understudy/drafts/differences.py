"""Close columns in a draft: the second of two dates or numbers is modelled as its difference from the first.

Week-wide bins lose a stay of days, and half of the synthetic discharges would precede the admission. So the difference is modelled instead of
the second column. It is a proposal: its bounds come from the rows and are marked.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations
from math import inf
from typing import TYPE_CHECKING, Any, Final

from understudy.drafts.bin_costs import BINS, TOLERATED_SHIFT, Spread, cost_of, edges_around_zero, edges_of
from understudy.drafts.bounds import FEWEST_FOR_ENDS, choose_bounds, few_values, special_values
from understudy.drafts.categories import NOTE
from understudy.drafts.numbers import FEWEST_ROWS_OF_A_WORD, plain
from understudy.drafts.row_sample import RowSample
from understudy.table_files import MARK

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

DIFFERENCE: Final = "difference"
_FEWEST_ROWS: Final = 100
IN_ORDER: Final = 0.99
"""Minimum share of the rows in order; the other rows then count as equal."""
_CLOSE, _CLOSE_IN_ORDER = 1 / 8, 1 / 2
"""Maximum spread of the difference relative to the smaller spread of the two columns: without an order, and with one."""
_TAIL: Final = 0.01
_MOST_SHIFT: Final = 0.05
"""Maximum shift of a quartile by even bins of a signed difference, relative to the distance between its neighbours. It is lower than for learnt bins, because bins around 0 take no budget."""
_MOST_UNITS: Final = 92
"""Maximum range of a difference with one bin per unit, such as the days of a quarter."""
_SECONDS: Final = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
_ISO_DATE: Final = len("2024-05-31")
_OF_OWN_VALUES: Final = ("edges", "bins", "spacing", "specials", "patterns", "most", "multiple_of")

Column = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Close:
    """Two close columns.

    Attributes:
        end: The end column, drafted as a difference.
        apart: (rows,) differences, in their unit.
        share_in_order: Share of the rows in which the second value is at least the first.
        closeness: Spread of the difference relative to the smaller spread of the columns.
    """

    start: Column
    end: Column
    apart: "Floats"
    share_in_order: float
    closeness: float


def propose_differences(
    columns: Sequence[Column], sample: RowSample, *, target: str | None, fixed: Sequence[str]
) -> None:
    """Draft a column close to another one as its difference from that column.

    The target, the columns in rules, `fixed`, and those whose difference would have the name of a column keep their own values.
    """
    names = {column["name"] for column in columns}
    values = {str(column["name"]): values_of(column, sample) for column in columns if _is_comparable(column)}
    found = sorted(_close_pairs(columns, values), key=lambda one: one.closeness)
    starts: dict[str, str] = {}
    for one in found:
        start, end = str(one.start["name"]), str(one.end["name"])
        is_taken = end in starts or f"{end}.{DIFFERENCE}" in names
        if is_taken or end == target or end in fixed or _leads_to(start, end, starts):
            continue
        starts[end] = start
        _draft(one)
    hold_starts(columns)


def hold_starts(columns: Sequence[Column]) -> None:
    """Drop differences whose start column is gone; make the rest nullable like their start, with bounds that cover its bounds."""
    by_name = {column.get("name"): column for column in columns}
    for _ in columns:  # a chain of differences has at most one link per column
        for column in columns:
            difference = column.get(DIFFERENCE)
            if not isinstance(difference, dict):
                continue
            start = by_name.get(difference.get("from"), {})
            is_day_of_time = _is_day_of_time(start, column)
            if (start.get("kind") != column.get("kind") and not is_day_of_time) or start is column:
                drop_difference(column)
                continue
            if start.get("null") == "category":
                column["null"] = "category"
            # Whole bounds are integers in a document, even for numbers with decimals.
            if (
                "lower" in start
                and "lower" in column
                and isinstance(start["lower"], str) == isinstance(column["lower"], str)
            ):
                ends = [
                    str(start[key])[:_ISO_DATE] if is_day_of_time else start[key]
                    for key in ("lower", "upper")
                ]
                column["lower"] = min(column["lower"], ends[0])
                column["upper"] = max(column["upper"], ends[1])


def drop_difference(column: Column) -> None:
    """Model a column by its own values, in default bins."""
    column.pop(DIFFERENCE, None)
    if isinstance(marks := column.get(MARK), list) and DIFFERENCE in marks:
        marks.remove(DIFFERENCE)
        if not marks:  # an empty list would mark the whole column
            del column[MARK]


def is_difference(value: Mapping[str, Any]) -> bool:
    """Whether an edited difference names a column and has two finite bounds in order."""
    lower, upper = value.get("lower", 0), value.get("upper", inf)
    has_bounds = isinstance(lower, int | float) and isinstance(upper, int | float)
    return has_bounds and -inf < lower < upper < inf and isinstance(value.get("from"), str)


def _is_comparable(column: Column) -> bool:
    """Whether a column can be an end of a difference: a number or a time."""
    if column["kind"] in {"date", "datetime"}:
        return column["resolution"] in _SECONDS
    return column["kind"] == "numeric" and not _has_few_values(column)


def _has_few_values(column: Column) -> bool:
    """Whether each value has a code of its own, so that pairs are counted exactly."""
    return column.get("bins") == 1 or (
        column["type"] == "integer" and column["upper"] - column["lower"] < BINS
    )


def values_of(column: Column, sample: RowSample) -> "Floats":
    """(rows,) numbers, or times in seconds; NaN for missing values and for values that count as missing because they lie outside the bounds."""
    import numpy as np

    name = str(column["name"])
    if column["kind"] == "numeric":
        return sample.numbers(name)
    seconds = sample.seconds(name, column.get("format"), is_date=column["kind"] == "date")
    if column.get("outside") == "null":
        lower, upper = (
            datetime.fromisoformat(column[key]).replace(tzinfo=UTC).timestamp() for key in ("lower", "upper")
        )
        seconds = np.where((seconds < lower) | (seconds > upper), np.nan, seconds)
    return seconds


def _close_pairs(columns: Sequence[Column], values: Mapping[str, "Floats"]) -> Iterator[_Close]:
    comparable = [column for column in columns if column["name"] in values]
    spreads = {name: _spread(numbers) for name, numbers in values.items()}
    for one, other in combinations(comparable, 2):
        if not _are_alike(one, other):
            continue
        narrow = min(spreads[one["name"]], spreads[other["name"]])
        if narrow > 0 and (found := _compared(one, other, values, narrow)) is not None:
            yield found


def _are_alike(one: Column, other: Column) -> bool:
    """Whether the service supports the difference of two columns."""
    keys = ("kind", "resolution", "type", "decimals")
    if _is_day_of_time(one, other) or _is_day_of_time(other, one):
        return True
    return all(one.get(key) == other.get(key) for key in keys)


def _is_day_of_time(start: Column, end: Column) -> bool:
    """Whether the first column is a time and the second a date, whose difference starts from the day of the time."""
    kinds = (start.get("kind"), end.get("kind"))
    return kinds == ("datetime", "date") and end.get("resolution") == "day"


def _compared(one: Column, other: Column, values: Mapping[str, "Floats"], narrow: float) -> _Close | None:
    """Two columns as a close pair, the usually smaller one first; None if they are not close."""
    import numpy as np

    if _is_day_of_time(other, one):
        one, other = other, one
    unit = _SECONDS[other["resolution"]] if "resolution" in other else 1
    begun = values[one["name"]]
    if _is_day_of_time(one, other):
        begun = np.floor(begun / unit) * unit
    apart = (values[other["name"]] - begun) / unit
    apart = apart[~np.isnan(apart)]
    if len(apart) < _FEWEST_ROWS:
        return None
    start, end = one, other
    if (apart <= 0).mean() >= IN_ORDER and (apart < 0).any() and one["kind"] == other["kind"]:
        start, end, apart = other, one, -apart
    if start.get("specials"):
        return None
    share = float((apart >= 0).mean())
    is_ordered = share >= IN_ORDER
    if is_ordered:
        apart = np.maximum(apart, 0)
    if "resolution" in one or one["type"] == "integer":
        apart = np.floor(apart)
    closeness = _spread(apart) * unit / narrow
    if closeness > (_CLOSE_IN_ORDER if is_ordered else _CLOSE) or (apart == apart[0]).all():
        return None
    return _Close(start=start, end=end, apart=apart, share_in_order=share, closeness=closeness)


def _spread(numbers: "Floats") -> float:
    """The range from the 1 % to the 99 % quantile."""
    import numpy as np

    known = numbers[~np.isnan(numbers)]
    if not len(known):
        return 0.0
    low, high = np.quantile(known, [_TAIL, 1 - _TAIL])
    return float(high - low)


def _leads_to(start: str, end: str, starts: Mapping[str, str]) -> bool:
    """Whether a column depends on another one through one or more differences."""
    while start != end and start in starts:
        start = starts[start]
    return start == end


def _draft(found: _Close) -> None:
    """Turn the second column into a difference from the first."""
    import numpy as np

    column, is_time = found.end, "resolution" in found.end
    is_whole = is_time or column["type"] == "integer"
    decimals = None if is_whole else column.get("decimals")
    apart = found.apart if decimals is None else np.round(found.apart, decimals)
    numbers, counts = np.unique(apart, return_counts=True)
    spread = dict(zip(numbers.tolist(), counts.tolist(), strict=True))
    inside, _ = special_values(spread, spread)
    unit = 1.0 if is_whole else None if decimals is None else 10.0**-decimals
    bounds = choose_bounds(spread, unit=unit, inside=inside)
    lower = 0.0 if found.share_in_order >= IN_ORDER else bounds.lower
    difference: dict[str, Any] = {
        "from": found.start["name"],
        "lower": plain(lower),
        "upper": plain(bounds.upper),
    }
    few = [
        value
        for value in few_values(spread, spread, unit=unit, fewest=FEWEST_ROWS_OF_A_WORD)
        if lower <= value <= bounds.upper
    ]
    if is_whole and bounds.upper - lower < _MOST_UNITS:
        difference["bins"] = int(bounds.upper - lower) + 1
    elif few and unit is not None and len(few) < (bounds.upper - lower) / unit:
        difference |= {"specials": [plain(value) for value in few], "bins": 1}
    else:
        difference |= {"specials": [plain(value) for value in inside]} if inside else {}
        # A domain cannot declare learnt bins of differences; most differences are small.
        if lower >= 0:
            difference |= {"spacing": "log"} if bounds.bins != "linear" else {}
        else:
            ordinary = {value: count for value, count in spread.items() if value not in inside}
            difference |= _signed_bins(ordinary, lower, bounds.upper, unit)
    for key in _OF_OWN_VALUES:
        column.pop(key, None)
    column[DIFFERENCE] = difference
    column[MARK] = [key for key in column[MARK] if key in column] + [DIFFERENCE]
    column[NOTE] = _note(found, column, lower)


def _signed_bins(spread: Spread, lower: float, upper: float, unit: float | None) -> dict[str, Any]:
    """Edges around zero for signed differences that even bins distort; empty if even bins keep the quartiles.

    Bounds cover 99.9 % of the differences; a few outliers, as with proportional noise, make even bins wider than most differences.
    """
    even = cost_of(spread, edges_of(lower, upper, unit, "linear"), unit)
    # With fewer rows noise moves the quartiles farther than bins do.
    tolerated = _MOST_SHIFT if sum(spread.values()) >= FEWEST_FOR_ENDS else TOLERATED_SHIFT
    if upper <= 0 or even.shift <= tolerated or not any(spread):
        return {}
    edges = edges_around_zero(spread, lower, upper, unit)
    shaped = cost_of(spread, [*edges[:-1], edges[-1] + (unit or 0.0)], unit)
    return {"edges": [plain(edge) for edge in edges]} if shaped.shift < even.shift else {}


def _note(found: _Close, column: Column, lower: float) -> str:
    unit = f" {column['resolution']}s" if "resolution" in column else ""
    start, difference = found.start["name"], column[DIFFERENCE]
    if _is_day_of_time(found.start, column):
        start = f"the day of {start}"
    bins = ", in bins that are narrow around 0" if "edges" in difference else ""
    before = "never below" if found.share_in_order == 1 else "hardly ever below"
    order = f" It is {before} {start}, and synthetic rows keep that." if lower >= 0 else ""
    return (
        f"Close to {start}: modelled as its distance from {start}, {difference['lower']} to {difference['upper']}{unit}{bins}, because its own bins"
        f" would be too wide to keep that distance.{order} Distances outside are clamped. Answer 'none' to model the column by its own values."
    )
