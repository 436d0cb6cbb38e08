"""What a draft proposes for columns close together: the second of two dates as the first one and a number of days, two numbers likewise.

Of an admission and a discharge a few days later, bins of weeks hold nothing of the stay, and half of the synthetic discharges would come
before the admission. So the distance is modelled in the place of the second column. It is a proposal: its bounds come from the rows and are
marked.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

from understudy.drafts.bin_costs import BINS, TOLERATED_SHIFT, Spread, cost_of, edges_around_zero, edges_of
from understudy.drafts.bounds import FEWEST_FOR_ENDS, choose_bounds, special_values
from understudy.drafts.categories import NOTE
from understudy.drafts.row_sample import RowSample
from understudy.table_files import MARK

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

DIFFERENCE: Final = "difference"
_FEWEST_ROWS: Final = 100
IN_ORDER: Final = 0.99
"""Share of the rows with an order from which on the others count as equal."""
_CLOSE, _CLOSE_IN_ORDER = 1 / 8, 1 / 2
"""Spread of the distance, beside the smaller spread of the two columns, up to which they are close: in no order, or in one."""
_TAIL: Final = 0.01
_MOST_SHIFT: Final = 0.05
"""Move of a quartile by even bins, as a share of the distance between its neighbours, up to which a signed distance has these: less than for learnt bins, because bins around 0 take no budget."""
_MOST_UNITS: Final = 92
"""Units of a distance, such as days of a quarter, up to which each has a bin of its own."""
_SECONDS: Final = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
_ISO_DATE: Final = len("2024-05-31")
_OF_OWN_VALUES: Final = ("edges", "bins", "spacing", "specials", "patterns", "most", "multiple_of")

Column = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Close:
    """Two columns close together.

    Attributes:
        start: The first one.
        end: The second one, which is drafted as a difference.
        apart: (rows,) how far they are apart, in units of the difference.
        share_in_order: Share of the rows whose second value is not below the first.
        closeness: Spread of the distance, beside the smaller one of the columns.
    """

    start: Column
    end: Column
    apart: "Floats"
    share_in_order: float
    closeness: float


def propose_differences(
    columns: Sequence[Column], sample: RowSample, *, target: str | None, fixed: Sequence[str]
) -> None:
    """Draft columns close to another one as their difference from it.

    Args:
        columns: Of the draft; changed.
        sample: Some of the rows.
        target: Name of the column to be predicted, which keeps its own values.
        fixed: Names of columns that rules name, likewise.
    """
    values = {str(column["name"]): values_of(column, sample) for column in columns if _is_comparable(column)}
    found = sorted(_close_pairs(columns, values), key=lambda one: one.closeness)
    starts: dict[str, str] = {}
    for one in found:
        start, end = str(one.start["name"]), str(one.end["name"])
        if end in starts or end == target or end in fixed or _leads_to(start, end, starts):
            continue
        starts[end] = start
        _draft(one)
    hold_starts(columns)


def hold_starts(columns: Sequence[Column]) -> None:
    """Leave out differences from columns that are no longer there; let the others be missing where the column that they start from is, and their bounds hold its bounds.

    Args:
        columns: Of a draft, perhaps edited; changed.
    """
    by_name = {column.get("name"): column for column in columns}
    for _ in columns:  # a chain of differences is at most so long
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
            # Whole bounds are integers in a document, also of numbers with decimals.
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
    """Let a column be modelled by its own values, in default bins."""
    column.pop(DIFFERENCE, None)
    if isinstance(marks := column.get(MARK), list) and DIFFERENCE in marks:
        marks.remove(DIFFERENCE)
        if not marks:  # an empty list would mark the whole column
            del column[MARK]


def is_difference(value: Mapping[str, Any]) -> bool:
    """Whether an edited difference names a column and has two bounds."""
    lower, upper = value.get("lower", 0), value.get("upper")
    has_bounds = isinstance(lower, int | float) and isinstance(upper, int | float)
    return has_bounds and lower < upper and isinstance(value.get("from"), str)


def _is_comparable(column: Column) -> bool:
    """Whether a column is a number or time of which another one can be a distance apart."""
    if column["kind"] in {"date", "datetime"}:
        return column["resolution"] in _SECONDS
    return column["kind"] == "numeric" and not _has_few_values(column)


def _has_few_values(column: Column) -> bool:
    """Whether each of its values has a code of its own, so that pairs are counted as they are."""
    return column.get("bins") == 1 or (
        column["type"] == "integer" and column["upper"] - column["lower"] < BINS
    )


def values_of(column: Column, sample: RowSample) -> "Floats":
    """(rows,) numbers, or times in seconds; NaN where one is missing, or counts as missing because it lies beyond the bounds."""
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
    """Whether the service takes the difference of two columns."""
    keys = ("kind", "resolution", "type", "decimals")
    if _is_day_of_time(one, other) or _is_day_of_time(other, one):
        return True
    return all(one.get(key) == other.get(key) for key in keys)


def _is_day_of_time(start: Column, end: Column) -> bool:
    """Whether the second column is a date and the first one a time, whose day it can start from."""
    kinds = (start.get("kind"), end.get("kind"))
    return kinds == ("datetime", "date") and end.get("resolution") == "day"


def _compared(one: Column, other: Column, values: Mapping[str, "Floats"], narrow: float) -> _Close | None:
    """Two columns, the usually smaller one first, if they are close."""
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
    """The distance between the quantiles that leave out a hundredth on either side."""
    import numpy as np

    known = numbers[~np.isnan(numbers)]
    if not len(known):
        return 0.0
    low, high = np.quantile(known, [_TAIL, 1 - _TAIL])
    return float(high - low)


def _leads_to(start: str, end: str, starts: Mapping[str, str]) -> bool:
    """Whether a column is made of another one, directly or through others."""
    while start != end and start in starts:
        start = starts[start]
    return start == end


def _draft(found: _Close) -> None:
    """Change the second column into a difference from the first."""
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
        "lower": _plain(lower),
        "upper": _plain(bounds.upper),
    }
    if is_whole and bounds.upper - lower < _MOST_UNITS:
        difference["bins"] = int(bounds.upper - lower) + 1
    else:
        difference |= {"specials": [_plain(value) for value in inside]} if inside else {}
        # A learnt law of distances has no place in a domain; most distances are small.
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
    """Edges around zero, of distances that even bins would lose; nothing where these keep the quartiles.

    The bounds of a distance hold all but a thousandth of the rows, so that a few far ones, as where noise is proportional, make even bins wider than most distances.
    """
    even = cost_of(spread, edges_of(lower, upper, unit, "linear"), unit)
    # In fewer rows noise moves the quartiles farther than bins do.
    tolerated = _MOST_SHIFT if sum(spread.values()) >= FEWEST_FOR_ENDS else TOLERATED_SHIFT
    if upper <= 0 or even.shift <= tolerated or not any(spread):
        return {}
    edges = edges_around_zero(spread, lower, upper, unit)
    shaped = cost_of(spread, [*edges[:-1], edges[-1] + (unit or 0.0)], unit)
    return {"edges": [_plain(edge) for edge in edges]} if shaped.shift < even.shift else {}


def _note(found: _Close, column: Column, lower: float) -> str:
    unit = f" {column['resolution']}s" if "resolution" in column else ""
    start, difference = found.start["name"], column[DIFFERENCE]
    if _is_day_of_time(found.start, column):
        start = f"the day of {start}"
    bins = ", in bins that are narrow at 0" if "edges" in difference else ""
    before = "never below" if found.share_in_order == 1 else "hardly ever below"
    order = f" It is {before} {start}, and synthetic rows keep that." if lower >= 0 else ""
    return (
        f"Close to {start}: modelled by its distance from it, {difference['lower']} to {difference['upper']}{unit}{bins}, because bins of its own"
        f" would be too wide to hold that.{order} Distances beyond count as the bound. Answer 'none' to model it by its own values."
    )


def _plain(value: float) -> float | int:
    return int(value) if float(value).is_integer() else value
