"""Clean the user's data frame as the service cleans rows, without guessing what a column holds.

How a value is read may not depend on other rows. Columns of Arrow have a type; a pandas column of Python objects has
none, and Arrow's guess from all of them would let one date cut the hours off everybody else's times. So such a column
must hold values of one kind.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa

from core.data.intake.clean_rows import CleanBlock, clean_rows
from core.data.intake.header import check_header, used_names
from core.plan.domain.columns import LabelColumn, NumericColumn
from core.plan.domain.table import TableDomain
from understudy.draft_frames import plain_times
from understudy.errors import InputUnusable

_BROKEN: Final = (pa.ArrowException, TypeError, ValueError, OverflowError)
"""Errors of Arrow; their messages quote private values."""
_KINDS: Final[Mapping[str, tuple[type, ...]]] = {
    "text": (str,),
    "truth": (bool, np.bool_),
    "number": (int, float, np.integer),
    "decimal": (Decimal,),
    "date": (date,),
    "time of the day": (time,),
}
"""The first kind that fits applies."""
_READ_ALIKE: Final = frozenset({"text", "truth", "number", "time of the day"})
"""Kinds whose text does not depend on the other values of a column, unlike decimals and times."""


def clean_frame(frame: object, domain: TableDomain) -> CleanBlock:
    """Clean a frame by the declared rules.

    A frame is cleaned like the CSV file it may come from: the declared texts for "missing" and the stripping of blanks
    hold for its text, and a number or time that such a text stands for is missing too.

    Args:
        frame: a pandas DataFrame, an Arrow table or batch, or anything with ``__arrow_c_stream__``.
        domain: the declared domain.

    Returns:
        The accepted rows and what happened to the others; the second is for their owner alone.

    Raises:
        InputUnusable: it is no frame, or a column holds values of several kinds.
        core.errors.UnderstudyError: its columns are not the declared ones.
    """
    try:
        table = _used(frame, domain).combine_chunks()
        table.validate(full=True)  # text that is not UTF-8, indices beyond a dictionary
        columns = {name: plain_times(_one(table.column(name))) for name in table.column_names}
        return clean_rows(domain, columns, table.num_rows, domain.csv.text_rules())
    except _BROKEN:
        message = (
            "the rows must be a DataFrame of pandas or polars, or an Arrow table, with one kind of value in each column, "
            "and of a kind that can be read as declared"
        )
        raise InputUnusable(message) from None


def _used(frame: object, domain: TableDomain) -> pa.Table:
    """Return the modelled columns as Arrow."""
    names = used_names(domain)
    if type(frame).__module__.partition(".")[0] == "pandas" and hasattr(frame, "columns"):
        return _of_pandas(frame, domain, names)
    table = frame if isinstance(frame, pa.Table) else pa.table(_streamed(frame))
    check_header(domain, table.column_names)
    return table.select(names)


def _of_pandas(frame: Any, domain: TableDomain, names: Sequence[str]) -> pa.Table:  # noqa: ANN401 - pandas is not there when types are checked
    present = [str(name) for name in frame.columns]
    check_header(domain, present)
    used = frame.iloc[:, [present.index(name) for name in names]]
    for place, name in enumerate(names):
        column = used.iloc[:, place]
        values = getattr(column.dtype, "categories", column)
        if values.dtype == object:
            _require_one_kind(name, values[values.notna()], domain)
    return pa.Table.from_pandas(used, preserve_index=False).rename_columns(list(names))


def _require_one_kind(name: str, values: Iterable[object], domain: TableDomain) -> None:
    """Refuse objects whose reading would depend on the other rows."""
    kinds = {_kind(value) for value in values}
    declared = next((column for column in domain.modelled if column.name == name), None)
    if None not in kinds and len(kinds) <= 1:
        as_words = declared is None or isinstance(declared, LabelColumn)
        if kinds <= _READ_ALIKE or not as_words:
            return
    wanted = "numbers" if isinstance(declared, NumericColumn) else "text"
    message = (
        f"the column {name!r} holds Python objects of several kinds, or of one that has no text of its own; "
        f"give the whole column one type, such as {wanted}"
    )
    raise InputUnusable(message)


def _kind(value: object) -> str | None:
    """Return the kind of a Python object, as Arrow would read it; None if it has none."""
    if isinstance(value, datetime):
        return "time" if value.tzinfo is None else "time with a zone"
    return next((kind for kind, types in _KINDS.items() if isinstance(value, types)), None)


def _streamed(frame: object) -> Any:  # noqa: ANN401 - whatever can show itself as an Arrow stream
    if not hasattr(frame, "__arrow_c_stream__"):
        raise TypeError
    return frame


def _one(column: pa.ChunkedArray) -> pa.Array:
    """One array of a column; a table without rows has none."""
    if column.num_chunks == 0:
        return pa.array([], column.type)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
