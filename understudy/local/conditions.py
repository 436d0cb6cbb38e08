"""Conditions on synthetic rows by sets and ranges, beside the single values that samplers fix themselves.

    fitted.sample(1000, where={"ward": {"surgery", "oncology"}, "age": (65, None), "sex": "f"})

A single number, date or time is that value alone, although samplers fix its bin. Rows are drawn and the others left out, which gives the generator's own conditional distribution. It is post-processing and costs nothing.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from core.artifacts.errors import ConditionTooRare, InvalidCondition
from core.artifacts.sampling.conditions import FEWEST_ROWS, TRIED_ROWS
from understudy.documents import Json
from understudy.near_names import suggestion

_PAIR: Final = 2
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - columns have no zone
_LEFT_OUT: Final = frozenset({"ignored", "unit"})
_MEASURED: Final = frozenset({"numeric", "date", "datetime"})

Draw = Callable[[int], pa.Table]


def split(where: object, domain: Json) -> tuple[dict[str, Any], dict[str, Any]]:
    """Separate columns that samplers fix to one value from those that have a set or a range.

    Args:
        where: conditions by column: a value; a set, list, array or Series of values; a pair (low, high) of bounds that both belong
            to the range, None for an open end.
        domain: the domain document.

    Raises:
        InvalidCondition: it is no mapping, no modelled column is called so, a condition has no value, a word is not declared, or a
            range is reversed or misses all declared values.
    """
    if not isinstance(where, Mapping):
        raise InvalidCondition('Give conditions by column, such as {"age": (65, None), "sex": "f"}.')
    columns = {str(column["name"]): column for column in domain["columns"] if column["kind"] not in _LEFT_OUT}
    fixed, wide = dict[str, Any](), dict[str, Any]()
    for name, given in where.items():
        column = columns.get(str(name).partition(".")[0], columns.get(str(name)))
        if column is None:
            raise InvalidCondition(
                f"There is no modelled column {name!r}{suggestion(str(name), list(columns)) or '.'}"
            )
        wanted = _plain(given)
        if column["kind"] == "boolean" and isinstance(wanted, set | frozenset | list):
            wanted = [_word(one, column) for one in wanted]
        if isinstance(wanted, tuple) and column["kind"] in _MEASURED:
            _require_range(name, wanted, column)
        elif isinstance(wanted, Collection) and not isinstance(wanted, str):
            _require_words(name, wanted, column)
        if isinstance(wanted, set | frozenset | list | tuple):
            wide[name] = wanted
        elif column["kind"] in _MEASURED and wanted is not None and name in columns:
            wide[name] = [wanted]
        else:
            fixed[name] = wanted
    return fixed, wide


def _plain(given: object) -> Any:  # noqa: ANN401 - a value, or several
    """Values of Python: arrays and Series are lists, their single values numbers, and decimals floats."""
    if isinstance(given, tuple):
        return tuple(_plain(one) for one in given)
    if isinstance(given, Decimal):
        return float(given)
    if hasattr(given, "tolist") and not isinstance(given, str):
        return given.tolist()
    if type(given).__module__.startswith("polars") and hasattr(given, "to_list"):
        return given.to_list()
    return given


def _word(given: object, column: Mapping[str, Any]) -> object:
    """The declared word of True or False."""
    return column["true" if given else "false"] if isinstance(given, bool) else given


def _require_words(name: str, wanted: Collection[Any], column: Mapping[str, Any]) -> None:
    """Refuse an empty set, and one with a word that is not declared."""
    if not wanted:
        raise InvalidCondition(f"The condition on column {name!r} has no value.")
    if isinstance(wanted, tuple) and column["kind"] != "ordinal":
        raise InvalidCondition(f"The words of column {name!r} have no order: give a set, not a range.")
    declared = column.get("categories", column.get("levels"))
    if column["kind"] == "boolean":
        declared = [column["true"], column["false"]]
    if not isinstance(declared, list):
        return
    other = column.get("other")
    known = [str(word) for word in declared] + ([other] if isinstance(other, str) else [])
    if isinstance(other, bool) and other:
        return  # the text of "other" words is the domain's own
    for word in wanted:
        if word is None or isinstance(word, bool) or str(word) in known:
            continue
        near = suggestion(str(word), known) if isinstance(word, str) else ""
        raise InvalidCondition(f"The column {name!r} has no such word{near or '.'}")


def _require_range(name: str, wanted: tuple[Any, ...], column: Mapping[str, Any]) -> None:
    """Refuse a range that is no pair of values of the column's type, that is reversed, or that misses all declared values."""
    if len(wanted) != _PAIR:
        raise InvalidCondition(
            f"A range of column {name!r} is a pair (low, high); give several values as a set."
        )
    is_number = column["kind"] == "numeric"
    place: Callable[[object], float] = _number if is_number else _seconds
    try:
        low, high = (None if end is None else place(end) for end in wanted)
    except (TypeError, ValueError):
        what, example = ("numbers", "(65, None)") if is_number else ("dates or times", '("2024-01-31", None)')
        raise InvalidCondition(
            f"The ends of a range of column {name!r} are {what}, such as {example}."
        ) from None
    if low is not None and high is not None and low > high:
        raise InvalidCondition(f"The range of column {name!r} ends before it begins: give (low, high).")
    lower, upper = column.get("lower"), column.get("upper")
    if lower is None or upper is None or "learn" in {lower, upper}:
        return
    possible = [place(one) for one in column.get("specials") or ()]
    inside = (low is None or low <= place(upper)) and (high is None or place(lower) <= high)
    if not inside and not any(
        (low is None or low <= one) and (high is None or one <= high) for one in possible
    ):
        raise InvalidCondition(
            f"The range of column {name!r} misses all its values, which lie between {lower} and {upper}."
        )


def _number(given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise TypeError
    return float(given)


def _seconds(given: object) -> float:
    return (_moment(given) - _EPOCH).total_seconds()


def _moment(given: object) -> datetime:
    """A date or time, or its ISO text; a date is its first moment."""
    if isinstance(given, str):
        return datetime.fromisoformat(given).replace(tzinfo=None)
    if isinstance(given, datetime):
        return given.replace(tzinfo=None)
    if isinstance(given, date):
        return datetime(given.year, given.month, given.day)  # noqa: DTZ001 - columns have no zone
    raise TypeError


def drawn_where(draw: Draw, rows: int, wide: Mapping[str, Any], domain: Json) -> pa.Table:
    """Draw rows until enough of them meet the conditions.

    Args:
        draw: draws so many rows.
        rows: number of rows.
        wide: sets and ranges by column, see `split`.
        domain: the domain document.

    Raises:
        ConditionTooRare: fewer than about one row in a thousand meets them.
        InvalidCondition: a column cannot have such values.
    """
    tables = _met(draw, wide, domain)
    first = next(tables)
    if first.num_rows < FEWEST_ROWS:
        raise ConditionTooRare(tried=TRIED_ROWS, fewest=FEWEST_ROWS)
    kept, count = [first], first.num_rows
    while count < rows:
        kept.append(next(tables))
        count += kept[-1].num_rows
    return pa.concat_tables(kept, promote_options="permissive").slice(0, rows)


def _met(draw: Draw, wide: Mapping[str, Any], domain: Json) -> Iterator[pa.Table]:
    columns = {str(column["name"]): column for column in domain["columns"]}
    while True:
        table = draw(TRIED_ROWS)
        mask = pa.array([True] * table.num_rows)
        for name, wanted in wide.items():
            if name not in table.column_names:
                raise InvalidCondition(f"The column {name!r} takes one value, not a set or a range.")
            try:
                met = _one(table.column(name).combine_chunks(), wanted, columns[name])
            except (pa.ArrowException, TypeError, ValueError, OverflowError):
                raise InvalidCondition(f"The column {name!r} cannot have such values.") from None
            mask = pc.and_(mask, met)
        yield table.filter(mask)


def _one(values: Any, wanted: Collection[Any], column: Mapping[str, Any]) -> Any:  # noqa: ANN401 - arrays of Arrow have no types
    """A mask of the values that meet one condition."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if not isinstance(wanted, tuple):
        return pc.is_in(values, value_set=_as(values.type, list(wanted)))
    if len(wanted) != _PAIR:
        raise ValueError
    if column["kind"] == "ordinal":
        return pc.is_in(values, value_set=_as(values.type, _levels(column["levels"], *wanted)))
    if not (pa.types.is_primitive(values.type) and not pa.types.is_boolean(values.type)):
        raise ValueError
    low, high = wanted
    mask = pc.is_valid(values)
    if low is not None:
        mask = pc.and_(mask, pc.greater_equal(values, _bound(values.type, low)))
    if high is not None:
        mask = pc.and_(mask, pc.less_equal(values, _bound(values.type, high)))
    return pc.fill_null(mask, fill_value=False)


def _levels(levels: Sequence[str], low: str | None, high: str | None) -> list[str]:
    first = 0 if low is None else levels.index(low)
    last = len(levels) - 1 if high is None else levels.index(high)
    return list(levels[first : last + 1])


def _as(kind: Any, items: list[Any]) -> Any:  # noqa: ANN401
    """Values as an array of a column's type; dates may be texts, and whole numbers words."""
    if pa.types.is_string(kind):
        return pa.array(
            [item if item is None or isinstance(item, str) else str(item) for item in items], kind
        )
    if pa.types.is_temporal(kind) and any(isinstance(item, str) for item in items):
        return pa.array(items, pa.string()).cast(kind)
    return pa.array(items, kind)


def _bound(kind: Any, value: object) -> Any:  # noqa: ANN401
    """One end of a range; of whole numbers it need not be whole."""
    if pa.types.is_integer(kind) and isinstance(value, float):
        return pa.scalar(value, pa.float64())
    if pa.types.is_temporal(kind) and isinstance(value, date):
        return pa.scalar(_moment(value), pa.timestamp("us"))
    return _as(kind, [value])[0]
