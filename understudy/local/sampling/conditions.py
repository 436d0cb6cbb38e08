"""Conditions on synthetic rows by values, sets and ranges.

    fitted.sample(1000, where={"ward": {"surgery", "oncology"}, "age": (65, None), "sex": "f"})

The sampler fixes words. It cannot fix one number, date or time, because their codes are bins. So rows are drawn, and those that do not meet the
condition are left out (rejection sampling), which gives the generator's own conditional distribution. It is post-processing and costs nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from core.artifacts.errors import ConditionTooRare, InvalidCondition
from core.artifacts.sampling.conditions import FEWEST_ROWS, TRIED_ROWS, possible_values, table_condition
from core.plan.domain.columns.kinds import LabelColumn, Modelled, NumericColumn, TimeColumn
from core.plan.domain.table import TableDomain
from understudy.local.rows.values import Interval, listed, number_of, or_none, seconds_of, word_of
from understudy.near_names import suggestion

_PAIR: Final = 2
_DAY_SECONDS: Final = 86400

Draw = Callable[[int, Mapping[str, Any]], pa.Table]
"""Draws so many rows in which columns are fixed to values."""
Ordered = NumericColumn | TimeColumn


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """What rows must hold.

    Attributes:
        fixed: values that the sampler fixes itself, by column.
        words: by column the words that it may have; None is a missing value.
        spans: by column of numbers or times the intervals in which it may lie, and whether it may be missing.
        bins: values that name the one bin of such an interval, which the sampler can fix where intervals are rarely met.
    """

    fixed: dict[str, Any] = field(default_factory=dict)
    words: dict[str, frozenset[str | None]] = field(default_factory=dict)
    spans: dict[str, tuple[list[Interval], bool]] = field(default_factory=dict)
    bins: dict[str, Any] = field(default_factory=dict)


def read_conditions(where: object, domain: TableDomain) -> Conditions:
    """Read conditions, and refuse those that no row can meet.

    Args:
        where: conditions by column: a value; a set, list, array or Series of values; a pair (low, high) of bounds that both belong to the
            range, None for an open end. A date of a column of times stands for all times of that day.
        domain: the domain.

    Raises:
        InvalidCondition: it is no mapping, no modelled column is called so, or a column cannot have such values.
    """
    if not isinstance(where, Mapping):
        raise InvalidCondition('Give conditions by column, such as {"age": (65, None), "sex": "f"}.')
    columns = {column.name: column for column in domain.modelled}
    coded = {column.name for column in domain.coded}
    found = Conditions()
    for name, given in where.items():
        value = or_none(given)
        if not isinstance(name, str) or (name not in columns and name not in coded):
            raise InvalidCondition(
                f"There is no modelled column {name!r}{suggestion(str(name), [*columns]) or '.'}"
            )
        if name not in columns:
            if isinstance(value, tuple) or listed(value) is not None:
                raise InvalidCondition(f"The column {name!r} takes one value, not a set or a range.")
            found.fixed[name] = value
        elif isinstance(column := columns[name], LabelColumn):
            _add_words(found, column, value)
        else:
            _add_intervals(found, column, value, domain)
    return found


def _add_words(found: Conditions, column: LabelColumn, value: object) -> None:
    """Add a condition on words: one is fixed, several are compared."""
    values = listed(value)
    if isinstance(value, tuple):
        values = _levels(column, value)
    if values is None:
        found.fixed[column.name] = None if value is None else _known_word(column, value)
        _require_missing(column, wanted=value is None)
        return
    _require_some(column, values)
    found.words[column.name] = frozenset(None if one is None else _known_word(column, one) for one in values)
    _require_missing(column, wanted=None in found.words[column.name])


def _levels(column: LabelColumn, value: tuple[object, ...]) -> list[object]:
    """The levels from one to another."""
    if column.kind != "ordinal":
        raise InvalidCondition(f"The words of column {column.name!r} have no order: give a set, not a range.")
    low, high = _pair(column, value)
    levels = column.labels
    first = 0 if low is None else levels.index(_known_word(column, low))
    last = len(levels) - 1 if high is None else levels.index(_known_word(column, high))
    if first > last:
        raise _reversed(column)
    return list(levels[first : last + 1])


def _known_word(column: LabelColumn, value: object) -> str:
    word = word_of(column, value)
    if word is None or word not in column.words:
        near = suggestion(str(value), column.words)
        raise InvalidCondition(
            f"The column {column.name!r} has no such word{near or f'; {possible_values(column)}.'}"
        )
    return word


def _add_intervals(found: Conditions, column: Ordered, value: object, domain: TableDomain) -> None:
    """Add a condition on numbers or times."""
    values = listed(value)
    is_missing = value is None
    if isinstance(value, tuple):
        low, high = _pair(column, value)
        start = -np.inf if low is None else _end(column, low)[0]
        end = np.inf if high is None else _end(column, high)[1]
        if start > end:
            raise _reversed(column)
        spans = [(start, end)]
        _require_within(column, spans[0], is_range=True)
    else:
        _require_some(column, values)
        several = [value] if values is None else values
        is_missing = None in several
        spans = []
        for one in several:
            if one is not None:
                spans.append(_exact(column, one))
                _require_within(column, spans[-1])
    _require_missing(column, wanted=is_missing)
    if is_missing and not spans:
        found.fixed[column.name] = None
        return
    found.spans[column.name] = (spans, is_missing)
    if len(spans) == 1 and not is_missing:
        span = spans[0]
        if isinstance(column, NumericColumn) and not isinstance(value, tuple):
            # The interval around a number only keeps rounding from telling it from itself.
            span = (sum(span) / 2, sum(span) / 2)
        if (one_bin := _bin_of(column, span, domain)) is not None:
            found.bins[column.name] = one_bin


def _end(column: Ordered, value: object) -> Interval:
    """What one end of a range stands for."""
    try:
        return _interval(column, value)
    except InvalidCondition:
        what, example = ("numbers", "(65, None)")
        if isinstance(column, TimeColumn):
            what, example = ("dates or times without a zone", '("2024-01-31", None)')
        raise InvalidCondition(
            f"The ends of a range of column {column.name!r} are {what}, such as {example}."
        ) from None


def _interval(column: Ordered, value: object) -> Interval:
    """The smallest and largest number, or second since 1970, that a written value stands for."""
    if isinstance(column, NumericColumn):
        number = number_of(column, value)
        return number, number
    return seconds_of(column, value)


def _exact(column: Ordered, value: object) -> Interval:
    """What one written value stands for; it must be one that synthetic rows can have."""
    low, high = _interval(column, value)
    if isinstance(column, NumericColumn):
        scale = column.grid.scale if column.grid is not None else None
        if scale is None or low in column.specials:
            return low, high
        if abs(low * scale - round(low * scale)) > 1e-6 * max(1.0, abs(low * scale)):
            held = "whole numbers" if column.integer else f"numbers of {column.decimals} decimals"
            raise _impossible(column, f"it holds {held} alone")
        return low - 0.25 / scale, high + 0.25 / scale
    if column.kind == "date" and low == high and low % _DAY_SECONDS:
        raise _impossible(column, "it holds dates, which have no time of the day; write a date")
    return low, high


def _require_within(column: Ordered, span: Interval, *, is_range: bool = False) -> None:
    """Refuse what lies wholly beyond the declared bounds; values of a column with a difference may lie a distance beyond them."""
    unit = column.seconds_per_unit if isinstance(column, TimeColumn) else 1
    lower, upper = column.lower * unit, column.upper * unit + (unit - 1)
    if column.difference is not None or (span[0] <= upper and lower <= span[1]):
        return
    if any(span[0] <= special <= span[1] for special in column.specials):
        return
    what = "The range of column" if is_range else "The value of column"
    raise InvalidCondition(f"{what} {column.name!r} is beyond its bounds: {possible_values(column)}.")


def _moment(column: TimeColumn, value: float) -> str:
    """A day or second since 1970 as text of ISO 8601."""
    return str(np.datetime64(int(value), "D") if column.kind == "date" else np.datetime64(int(value), "s"))


def _bin_of(column: Ordered, span: Interval, domain: TableDomain) -> object | None:
    """A value that names the bin of an interval in the sampler's own form; None where it lies in several, or holds a special value."""
    is_special = span[0] == span[1] and span[0] in column.specials
    holds_special = any(span[0] <= special <= span[1] for special in column.specials)
    if column.difference is not None or not np.isfinite(span).all() or (holds_special and not is_special):
        return None
    ends: list[Any]
    if isinstance(column, NumericColumn):
        ends = list(span) if is_special else [float(np.clip(end, column.lower, column.upper)) for end in span]
    else:
        unit = column.seconds_per_unit
        ends = [_moment(column, np.clip(end // unit, column.lower, column.upper)) for end in span]
    try:
        codes = [table_condition(domain, {column.name: end}) for end in ends]
    except InvalidCondition:
        return None
    first: object = ends[0]
    return first if codes[0] == codes[1] else None


def _pair(column: Modelled, value: tuple[object, ...]) -> tuple[object, object]:
    if len(value) != _PAIR:
        raise InvalidCondition(
            f"A range of column {column.name!r} is a pair (low, high); give several values as a set."
        )
    return value[0], value[1]


def _reversed(column: Modelled) -> InvalidCondition:
    return InvalidCondition(f"The range of column {column.name!r} ends before it begins: give (low, high).")


def _require_some(column: Modelled, values: list[Any] | None) -> None:
    if values is not None and not values:
        raise InvalidCondition(f"The condition on column {column.name!r} has no value.")


def _require_missing(column: Modelled, *, wanted: bool) -> None:
    if wanted and column.null_code is None:
        raise _impossible(column, "none of its values is missing")


def _impossible(column: Modelled, why: str) -> InvalidCondition:
    return InvalidCondition(f"The column {column.name!r} cannot have such values: {why.rstrip('.')}.")


def drawn_where(draw: Draw, rows: int, wanted: Conditions) -> pa.Table:
    """Draw rows until enough of them meet the conditions.

    Args:
        draw: see `Draw`.
        rows: number of rows.
        wanted: see `read_conditions`.

    Raises:
        ConditionTooRare: fewer than about one row in a thousand meets them.
    """
    if not wanted.words and not wanted.spans:
        return draw(rows, wanted.fixed)
    try:
        fixed, first = _first_met(draw, wanted)
    except ConditionTooRare as rare:
        if wanted.spans:
            rare.remedy = f"Give a wider range (low, high) in place of a value. {rare.remedy}"
        raise
    kept, count = [first], first.num_rows
    while count < rows:
        kept.append(_met(draw(TRIED_ROWS, fixed), wanted))
        count += kept[-1].num_rows
    return pa.concat_tables(kept, promote_options="permissive").slice(0, rows)


def _first_met(draw: Draw, wanted: Conditions) -> tuple[Mapping[str, Any], pa.Table]:
    """Fixed values under which enough rows meet the conditions, and the first of those rows."""
    for fixed in (wanted.fixed, {**wanted.fixed, **wanted.bins}):
        # Bins are fixed only in the second try: one day of four years is a few rows in ten thousand.
        if (first := _met(draw(TRIED_ROWS, fixed), wanted)).num_rows >= FEWEST_ROWS:
            return fixed, first
        if not wanted.bins:
            break
    raise ConditionTooRare(tried=TRIED_ROWS, fewest=FEWEST_ROWS)


def _met(table: pa.Table, wanted: Conditions) -> pa.Table:
    mask = np.ones(table.num_rows, dtype=np.bool_)
    for name, words in wanted.words.items():
        mask &= _among(table.column(name).combine_chunks(), words)
    for name, (spans, is_missing) in wanted.spans.items():
        mask &= _within(table.column(name).combine_chunks(), spans, is_missing=is_missing)
    return table.filter(pa.array(mask))


def _among(values: Any, words: frozenset[str | None]) -> NDArray[np.bool_]:  # noqa: ANN401 - arrays of Arrow have no types
    """A mask of the values that are one of some words."""
    found = pc.is_in(
        values.cast(pa.string()),
        value_set=pa.array(sorted(word for word in words if word is not None), pa.string()),
    )
    met: NDArray[np.bool_] = found.to_numpy(zero_copy_only=False)
    missing: NDArray[np.bool_] = values.is_null().to_numpy(zero_copy_only=False)
    return met | missing if None in words else met


def _within(values: Any, spans: list[Interval], *, is_missing: bool) -> NDArray[np.bool_]:  # noqa: ANN401 - arrays of Arrow have no types
    """A mask of the values that lie in one of some intervals."""
    missing: NDArray[np.bool_] = values.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_temporal(values.type):
        values = values.cast(pa.timestamp("s")).cast(pa.int64())
    numbers = pc.fill_null(values.cast(pa.float64()), np.nan).to_numpy(zero_copy_only=False)
    starts, ends = np.array(sorted(spans), dtype=np.float64).T
    # The farthest end of all intervals that begin at or before a value decides.
    farthest = np.maximum.accumulate(ends)
    place = np.searchsorted(starts, numbers, side="right") - 1
    met: NDArray[np.bool_] = ~missing & (place >= 0) & (numbers <= farthest[np.maximum(place, 0)])
    return met | missing if is_missing else met
