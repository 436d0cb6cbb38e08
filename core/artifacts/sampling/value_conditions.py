"""Conditions on synthetic rows by values, sets and ranges.

    fitted.sample(1000, where={"ward": {"surgery", "oncology"}, "age": (65, None), "sex": "f"})
    GET /v1/releases/{id}/samples?where={"ward": ["surgery", "oncology"], "age": {"from": 65}, "sex": "f"}

The sampler fixes words. It cannot fix one number, date or time, because their codes are bins. So rows are drawn, and those that do not meet the
condition are left out (rejection sampling), which gives the generator's own conditional distribution. It is post-processing and costs nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from core.artifacts.errors import InvalidCondition
from core.artifacts.sampling.condition_values import (
    Interval,
    is_period,
    listed,
    number_of,
    or_none,
    seconds_of,
    word_of,
)
from core.artifacts.sampling.conditions import (
    Condition,
    Where,
    possible_values,
    table_condition,
)
from core.plan.domain.columns.bins import Floats
from core.plan.domain.columns.differences import distances
from core.plan.domain.columns.kinds import LabelColumn, Modelled, NumericColumn, TimeColumn
from core.plan.domain.table import TableDomain
from core.plan.near_names import nearest

_PAIR: Final = 2
_DAY_SECONDS: Final = 86400
_ROUNDING: Final = 1e-6
_ENDS: Final = (("from", "above"), ("to", "below"))
"""Names of both ends of a range: where the range includes it, and where it does not."""

Ordered = NumericColumn | TimeColumn


@dataclass(frozen=True, slots=True)
class Bounds:
    """A range of values.

    Attributes:
        low: its lower end; None for an open one.
        high: its upper end.
        is_above: whether `low` itself is left out.
        is_below: whether `high` itself is left out.
    """

    low: object
    high: object
    is_above: bool = False
    is_below: bool = False


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

    @property
    def is_compared(self) -> bool:
        """Whether drawn values are compared with some of them."""
        return bool(self.words or self.spans)

    def codes(self, domain: TableDomain, *, with_bins: bool = False) -> Condition:
        """The part of them that codes decide; `with_bins` fixes the bins of intervals too.

        Raises:
            InvalidCondition: as `table_condition`.
        """
        found = table_condition(domain, {**self.fixed, **self.bins} if with_bins else self.fixed)
        own = {column.name for column in domain.modelled}
        among = {
            place: _codes_of_words(column, self.words[column.name])
            for place, column in enumerate(domain.coded)
            if column.name in self.words and column.name not in own
        }
        return Condition(found.label, found.others, among)

    def met_by(self, batch: pa.RecordBatch, values: Sequence[Floats], domain: TableDomain) -> pa.RecordBatch:
        """The rows of a batch that meet the conditions. `values` are the numbers of each column, for distances alone."""
        mask = np.ones(batch.num_rows, dtype=np.bool_)
        own = set(batch.schema.names)
        for name, words in self.words.items():
            if name in own:
                mask &= _among(batch.column(name), words)
        coded = {column.name: place for place, column in enumerate(domain.coded)}
        for name, (spans, is_missing) in self.spans.items():
            if name in own:
                mask &= _within(batch.column(name), spans, is_missing=is_missing)
                continue
            (one,) = (each for each in domain.differences if each["place"] == coded[name])
            apart = distances(values[one["start"]], values[one["place"]], one)
            mask &= _numbers_within(apart, spans, is_missing=is_missing)
        return batch.filter(pa.array(mask))


def requested_conditions(where: Where, domain: TableDomain) -> Conditions:
    """Read conditions that came as JSON, and refuse those that no row can meet.

    Args:
        where: conditions by column: a value, a list of values, or an object with one or both ends of a range, `from` or `above` and `to` or
            `below`. A single number, date or time fixes its bin; of a column that is drawn by a distance it is that value alone, and a month
            `2024-01` or a year `2024` of a column of dates is all its days.

    Raises:
        InvalidCondition: no modelled column is called so, or a column cannot have such values.
    """
    columns = {column.name: column for column in domain.modelled}
    compared: dict[str, object] = {}
    plain: dict[str, object] = {}
    for name, value in where.items():
        if isinstance(value, dict | list) or _is_compared(columns.get(name), value):
            compared[name] = value
        else:
            plain[name] = value
    table_condition(domain, plain)
    found = read_conditions(compared, domain)
    found.fixed.update(plain)
    return found


def _is_compared(column: Modelled | None, value: object) -> bool:
    """Whether a single value is compared with drawn ones, because no code stands for it."""
    if column is None:
        return False
    return column.difference is not None or (isinstance(column, TimeColumn) and is_period(value))


def _bounds(column: Modelled, value: tuple[object, ...] | Mapping[str, object]) -> Bounds:
    if isinstance(value, tuple):
        if len(value) != _PAIR:
            raise InvalidCondition(
                f"A range of column {column.name!r} is a pair (low, high); give several values as a set."
            )
        return Bounds(value[0], value[1])
    name = column.name
    ends: list[object] = []
    is_open = []
    for names in _ENDS:
        given = [one for one in names if value.get(one) is not None]
        ends.append(value[given[0]] if len(given) == 1 else None)
        is_open.append(given == [names[1]])
        if len(given) > 1:
            raise InvalidCondition(f"A range of column '{name}' has either '{names[0]}' or '{names[1]}'.")
    if ends == [None, None] or not value.keys() <= {one for names in _ENDS for one in names}:
        raise InvalidCondition(
            f"A range of column '{name}' has the ends 'from' or 'above', and 'to' or 'below'."
        )
    return Bounds(ends[0], ends[1], *is_open)


def read_conditions(where: object, domain: TableDomain) -> Conditions:
    """Read conditions, and refuse those that no row can meet.

    Args:
        where: conditions by column: a value; a set, list, array or Series of values; a pair (low, high) of bounds that both belong to the
            range, None for an open end; or a mapping with its ends, `from` or `above` and `to` or `below`. A date of a column of times stands
            for all times of that day, and a month `2024-01` or a year `2024` for all its days.

    Raises:
        InvalidCondition: it is no mapping, no modelled column is called so, or a column cannot have such values.
    """
    if not isinstance(where, Mapping):
        raise InvalidCondition('Give conditions by column, such as {"age": (65, None), "sex": "f"}.')
    columns = {column.name: column for column in domain.modelled}
    coded = {column.name: column for column in domain.coded}
    found = Conditions()
    for name, given in where.items():
        value = or_none(given)
        if not isinstance(name, str) or (name not in columns and name not in coded):
            raise InvalidCondition(
                f"There is no modelled column {name!r}{_suggestion(str(name), columns) or '.'}"
            )
        column = columns.get(name) or coded[name]
        wanted = _bounds(column, value) if isinstance(value, tuple | Mapping) else value
        if name not in columns and not isinstance(wanted, Bounds) and listed(wanted) is None:
            found.fixed[name] = wanted
        elif isinstance(column, LabelColumn):
            _add_words(found, column, wanted)
        else:
            assert isinstance(column, Ordered), "a column has words, numbers or times"
            _add_intervals(found, column, wanted, domain)
    return found


def _add_words(found: Conditions, column: LabelColumn, value: object) -> None:
    """Add a condition on words: one is fixed, several are compared."""
    values = listed(value)
    if isinstance(value, Bounds):
        values = _levels(column, value)
    if values is None:
        found.fixed[column.name] = None if value is None else _known_word(column, value)
        _require_missing(column, wanted=value is None)
        return
    _require_some(column, values)
    found.words[column.name] = frozenset(None if one is None else _known_word(column, one) for one in values)
    _require_missing(column, wanted=None in found.words[column.name])


def _levels(column: LabelColumn, value: Bounds) -> list[object]:
    """The levels from one to another."""
    if column.kind != "ordinal":
        raise InvalidCondition(f"The words of column {column.name!r} have no order: give a set, not a range.")
    levels = column.labels
    first = 0 if value.low is None else levels.index(_known_word(column, value.low)) + value.is_above
    last = (
        len(levels) - 1
        if value.high is None
        else levels.index(_known_word(column, value.high)) - value.is_below
    )
    if first > last:
        raise _reversed(column)
    return list(levels[first : last + 1])


def _known_word(column: LabelColumn, value: object) -> str:
    word = word_of(column, value)
    if word is None or word not in column.words:
        near = _suggestion(str(value), column.words)
        raise InvalidCondition(
            f"The column {column.name!r} has no such word{near or f'; {possible_values(column)}.'}"
        )
    return word


def _add_intervals(found: Conditions, column: Ordered, value: object, domain: TableDomain) -> None:
    """Add a condition on numbers or times."""
    values = listed(value)
    is_missing = value is None
    if isinstance(value, Bounds):
        spans = [_span(column, value)]
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
        # A column that is drawn by a distance is missing where the distance is.
        found.fixed[column.name if column.difference is None else column.difference.coded.name] = None
        return
    found.spans[column.name] = (spans, is_missing)
    if len(spans) == 1 and not is_missing:
        span = spans[0]
        if isinstance(column, NumericColumn) and not isinstance(value, Bounds):
            # The interval around a number only keeps rounding from distinguishing it from itself.
            span = (sum(span) / 2, sum(span) / 2)
        if (one_bin := _bin_of(column, span, domain)) is not None:
            found.bins[column.name] = one_bin


def _span(column: Ordered, value: Bounds) -> Interval:
    """The smallest and largest number, or second since 1970, of a range."""
    start, end = -np.inf, np.inf
    if value.low is not None:
        first, last = _end(column, value.low)
        start = _next(column, last, np.inf) if value.is_above else first
    if value.high is not None:
        first, last = _end(column, value.high)
        end = _next(column, first, -np.inf) if value.is_below else last
    if start > end:
        raise _reversed(column)
    return start, end


def _next(column: Ordered, value: float, towards: float) -> float:
    """The next possible number, or second, beyond the end of a range that does not hold it."""
    if isinstance(column, TimeColumn):
        return value + float(np.sign(towards))
    scale = column.grid.scale if column.grid is not None else None
    return (
        float(np.nextafter(value, towards))
        if scale is None
        else value + float(np.sign(towards)) * 0.25 / scale
    )


def _end(column: Ordered, value: object) -> Interval:
    """What one end of a range stands for."""
    try:
        return _interval(column, value)
    except InvalidCondition:
        what, example = ("numbers", "65")
        if isinstance(column, TimeColumn):
            what, example = ("dates or times without a zone", "'2024-01-31'")
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
        if not _is_multiple(low, 1 / scale):
            held = "whole numbers" if column.integer else f"numbers of {column.decimals} decimals"
            raise _impossible(column, f"it holds {held} alone")
        if column.multiple_of is not None and not _is_multiple(low, column.multiple_of):
            raise _impossible(column, f"it holds multiples of {column.multiple_of:g} alone")
        return low - 0.25 / scale, high + 0.25 / scale
    if column.kind == "date" and low == high and low % _DAY_SECONDS:
        raise _impossible(column, "it holds dates, which have no time of the day; write a date")
    return low, high


def _is_multiple(value: float, of: float) -> bool:
    return abs(value / of - round(value / of)) < _ROUNDING * max(1.0, abs(value / of))


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


def _suggestion(name: str, names: Iterable[str]) -> str:
    near = nearest(name, names)
    return f"; did you mean {near!r}?" if near else ""


def _reversed(column: Modelled) -> InvalidCondition:
    return InvalidCondition(f"The range of column {column.name!r} ends before it begins.")


def _require_some(column: Modelled, values: list[Any] | None) -> None:
    if values is not None and not values:
        raise InvalidCondition(f"The condition on column {column.name!r} has no value.")


def _require_missing(column: Modelled, *, wanted: bool) -> None:
    if wanted and column.null_code is None:
        raise _impossible(column, "none of its values is missing")


def _impossible(column: Modelled, why: str) -> InvalidCondition:
    return InvalidCondition(f"The column {column.name!r} cannot have such values: {why.rstrip('.')}.")


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
    if pa.types.is_temporal(values.type):
        values = values.cast(pa.timestamp("s")).cast(pa.int64())
    numbers = pc.fill_null(values.cast(pa.float64()), np.nan).to_numpy(zero_copy_only=False)
    return _numbers_within(numbers, spans, is_missing=is_missing)


def _numbers_within(
    numbers: NDArray[np.float64], spans: list[Interval], *, is_missing: bool
) -> NDArray[np.bool_]:
    """A mask of the numbers that lie in one of some intervals; NaN is a missing one."""
    missing = np.isnan(numbers)
    starts, ends = np.array(sorted(spans), dtype=np.float64).T
    # The farthest end of all intervals that begin at or before a value decides.
    farthest = np.maximum.accumulate(ends)
    place = np.searchsorted(starts, numbers, side="right") - 1
    met: NDArray[np.bool_] = ~missing & (place >= 0) & (numbers <= farthest[np.maximum(place, 0)])
    return met | missing if is_missing else met


def _codes_of_words(column: Modelled, words: frozenset[str | None]) -> NDArray[np.bool_]:
    """A mask of the codes that stand for some words."""
    assert isinstance(column, LabelColumn), "only labels have words"
    codes = np.zeros(column.cardinality, dtype=np.bool_)
    for word in words:
        code = column.null_code if word is None else column.code_of(word)
        assert code is not None, "words were looked up before"
        codes[code] = True
    return codes
