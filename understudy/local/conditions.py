"""Conditions on synthetic rows by sets and ranges, beside the single values that samplers fix themselves.

    fitted.sample(1000, where={"ward": {"surgery", "oncology"}, "age": (65, None), "sex": "f"})

Rows are drawn and the others left out, which gives the generator's own conditional distribution. It is post-processing and costs nothing.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from core.artifacts.errors import ConditionTooRare, InvalidCondition
from core.artifacts.sampling.conditions import FEWEST_ROWS, TRIED_ROWS
from understudy.documents import Json
from understudy.near_names import suggestion

_PAIR: Final = 2

Draw = Callable[[int], pa.Table]


def split(where: Json, domain: Json) -> tuple[dict[str, Any], dict[str, Any]]:
    """Separate columns that are fixed to one value from those that have a set or a range.

    Args:
        where: conditions by column: a value; a set or list of values; a pair (low, high) of bounds that both belong to the
            range, None for an open end.
        domain: the domain document.

    Raises:
        InvalidCondition: no modelled column is called so, or a condition has no value.
    """
    known = [str(column["name"]) for column in domain["columns"] if column["kind"] not in {"ignored", "unit"}]
    for name, wanted in where.items():
        if name.partition(".")[0] not in known and name not in known:
            raise InvalidCondition(f"There is no modelled column {name!r}{suggestion(name, known) or '.'}")
        if isinstance(wanted, Collection) and not isinstance(wanted, str) and not wanted:
            raise InvalidCondition(f"The condition on column {name!r} has no value.")
    wide = {
        name: wanted for name, wanted in where.items() if isinstance(wanted, set | frozenset | list | tuple)
    }
    return {name: wanted for name, wanted in where.items() if name not in wide}, wide


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
    return _as(kind, [value])[0]
