"""Clean the user's data frame as the service cleans rows, without guessing the content of a column.

Reading a value may not depend on other rows. Arrow columns have a type. A pandas column of Python objects has none, and by Arrow's guess
from all of them one date would cut the hours off everybody else's times. So such a column must hold values of one kind.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa

from core.data.errors import WrongHeader
from core.data.intake.clean_rows import CleanBlock, clean_rows
from core.data.intake.header import check_header, declared_names, used_names
from core.plan.domain.cleaning.cleaned import Refusal
from core.plan.domain.cleaning.column import clean_column
from core.plan.domain.cleaning.text import Mask
from core.plan.domain.columns.kinds import LabelColumn, NumericColumn
from core.plan.domain.table import TableDomain
from understudy.drafts.facts import require_different
from understudy.drafts.frame_types import plain_times, wall_times
from understudy.errors import InputUnusable

_BROKEN: Final = (pa.ArrowException, TypeError, ValueError, OverflowError)
"""Arrow errors; their messages quote private values."""
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
    """Clean a frame by the declared rules. The report on the refused rows is for the owner alone.

    A frame is a pandas DataFrame, an Arrow table or batch, or anything with ``__arrow_c_stream__``. It is cleaned like a CSV file: declared texts for
    "missing" and the stripping of blanks apply to its text, and numbers or times with such a text are missing too. Times with a zone are read as
    local times.

    Raises:
        InputUnusable: the input is no frame, a column holds values of several kinds, or a pandas index has a name.
        core.errors.UnderstudyError: the columns are not the declared ones.
    """
    with _readable():
        frame = _columned(frame)
        _require_no_named_index(frame)
        columns, rows = _arrays(frame, domain, used_names(domain), check_header(domain, _names(frame)))
        return clean_rows(domain, columns, rows, domain.csv)


def clean_features(
    frame: object, domain: TableDomain
) -> tuple[pa.RecordBatch, Mapping[str, Mapping[Refusal, Mask]]]:
    """Clean the columns that predict the target, as `clean_frame` does, and keep every row.

    Only the modelled columns without the target are read; others may be absent.

    Returns:
        The columns, and by their names and the kinds of refusals which rows hold a value that the domain refuses; there the column is
        arbitrary or null.

    Raises:
        InputUnusable: the input is no frame, or a column holds values of several kinds.
        core.errors.UnderstudyError: a column is missing or repeated, or its type does not fit the declaration.
    """
    with _readable():
        frame = _columned(frame)
        features = [column for column in domain.modelled if column.name != domain.target]
        names = [column.name for column in features]
        present = declared_names([column.name for column in domain.columns], _names(frame))
        _check_features(names, Counter(present))
        columns, _ = _arrays(frame, domain, names, present)
        cleaned = [clean_column(column, columns[column.name], domain.csv) for column in features]
    batch = pa.RecordBatch.from_arrays([column.values for column in cleaned], names=names)
    return batch, {name: column.refused for name, column in zip(names, cleaned, strict=True)}


def _check_features(names: Sequence[str], present: Mapping[str, int]) -> None:
    """Refuse a frame with missing or repeated columns."""
    missing = [name for name in names if present[name] == 0]
    repeated = [name for name in names if present[name] > 1]
    parts = [f"missing: {', '.join(missing)}"] if missing else []
    parts += [f"repeated: {', '.join(repeated)}"] if repeated else []
    if parts:
        raise WrongHeader(
            f"Each column that predicts the target must be in the frame once ({'; '.join(parts)}).",
            remedy="Give unknown values as missing.",
            missing=missing,
            repeated=repeated,
        )


@contextmanager
def _readable() -> Iterator[None]:
    """Refuse what Arrow cannot read, without its errors, which quote values."""
    try:
        yield
    except _BROKEN:
        message = (
            "the rows must be a DataFrame of pandas or polars, or an Arrow table, with one kind of value per column, "
            "in a type that fits the declaration"
        )
        raise InputUnusable(message) from None


def dense(frame: Any) -> Any:  # noqa: ANN401 - pandas is not there when types are checked
    """A pandas frame with sparse columns filled in, because Arrow cannot read them."""
    sparse = [place for place, dtype in enumerate(frame.dtypes) if str(dtype).startswith("Sparse")]
    if not sparse:
        return frame
    filled = frame.copy(deep=False)
    for place in sparse:
        filled.isetitem(place, frame.iloc[:, place].sparse.to_dense())
    return filled


def _columned(frame: Any) -> Any:  # noqa: ANN401 - pandas is not there when types are checked
    """Return a pandas frame unchanged, other frames as an Arrow table."""
    if _is_pandas(frame) or isinstance(frame, pa.Table):
        return frame
    if not hasattr(frame, "__arrow_c_stream__"):
        raise TypeError
    return pa.table(frame)


def _require_no_named_index(frame: Any) -> None:  # noqa: ANN401 - pandas is not there when types are checked
    """Refuse a named pandas index: it may identify the person of each row, and it is not read."""
    if not _is_pandas(frame):
        return
    named = [str(name) for name in frame.index.names if name is not None]
    if named:
        message = (
            f"the index of the frame has a name, {', '.join(map(repr, named))}, and may identify the people, but an index is not read: "
            "frame.reset_index() turns it into a column, frame.reset_index(drop=True) drops it"
        )
        raise InputUnusable(message)


def _is_pandas(frame: object) -> bool:
    return type(frame).__module__.partition(".")[0] == "pandas" and hasattr(frame, "columns")


def _names(frame: Any) -> list[str]:  # noqa: ANN401
    return [str(name) for name in frame.columns] if _is_pandas(frame) else frame.column_names


def _arrays(
    frame: Any,  # noqa: ANN401
    domain: TableDomain,
    names: Sequence[str],
    present: Sequence[str],
) -> tuple[dict[str, pa.Array], int]:
    """Return some declared columns of a frame as arrays, with its number of rows; `present` has the declared name of each column of the frame."""
    places = [present.index(name) for name in names]
    if _is_pandas(frame):
        table = _of_pandas(frame, domain, names, places)
    else:
        table = frame.select(places).rename_columns(list(names))
    table = table.combine_chunks()
    table.validate(full=True)  # invalid UTF-8, indices outside a dictionary
    return {name: wall_times(plain_times(_one(table.column(name)))) for name in names}, table.num_rows


def _of_pandas(
    frame: Any,  # noqa: ANN401 - pandas is not there when types are checked
    domain: TableDomain,
    names: Sequence[str],
    places: Sequence[int],
) -> pa.Table:
    used = dense(frame.iloc[:, list(places)])
    for place, name in enumerate(names):
        column = used.iloc[:, place]
        values = getattr(column.dtype, "categories", column)
        if values.dtype == object:
            _require_one_kind(name, values[values.notna()], domain)
    return pa.Table.from_pandas(used, preserve_index=False).rename_columns(list(names))


def _require_one_kind(name: str, values: Iterable[object], domain: TableDomain) -> None:
    """Refuse objects that would be read depending on other rows."""
    kinds = {_kind(value) for value in values}
    declared = next((column for column in domain.modelled if column.name == name), None)
    if None not in kinds and len(kinds) <= 1:
        as_words = declared is None or isinstance(declared, LabelColumn)
        if kinds <= _READ_ALIKE or not as_words:
            return
    wanted = "numbers" if isinstance(declared, NumericColumn) else "text"
    message = (
        f"the column {name!r} holds Python objects of several kinds, or of a kind without a text form; "
        f"give the whole column one type, such as {wanted}"
    )
    raise InputUnusable(message)


def _kind(value: object) -> str | None:
    """Return the kind of a Python object in Arrow; None if it has none."""
    if isinstance(value, datetime):
        # Arrow would give all of them the zone of the first.
        return "time" if value.tzinfo is None else f"time of {value.tzinfo}"
    return next((kind for kind, types in _KINDS.items() if isinstance(value, types)), None)


def _one(column: pa.ChunkedArray) -> pa.Array:
    """One array of a column, without text views (from polars, hardly supported by Arrow) and with numbers as wide as those of a file."""
    kind = column.type
    if pa.types.is_string_view(kind):
        column = column.cast(pa.string())
    elif pa.types.is_float32(kind) or pa.types.is_float16(kind):
        # As in a draft or a file: 4.4, not 4.400000095, which would exceed a bound of 4.4.
        column = column.cast(pa.float32()).cast(pa.string()).cast(pa.float64())
    elif pa.types.is_dictionary(kind) and pa.types.is_string_view(kind.value_type):
        chunks = [
            pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(pa.string()))
            for chunk in column.chunks
        ]
        column = pa.chunked_array(chunks, pa.dictionary(kind.index_type, pa.string()))
    if column.num_chunks == 0:
        return pa.array([], column.type)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def arrow_of(frame: Any) -> pa.Table:  # noqa: ANN401 - whatever a user calls a frame
    """A frame to draft, as an Arrow table.

    Raises:
        InputUnusable: the input is no frame, two columns have the same name, a column holds values of several kinds or whole numbers beyond 64 bits, or a pandas
            index has a name.
    """
    message = "the rows must be a DataFrame of pandas or polars, or an Arrow table"
    if isinstance(frame, pa.Table):
        return frame
    _require_no_named_index(frame)
    try:
        if _is_pandas(frame):
            # pyarrow's error would not name the repeated columns.
            require_different([str(name) for name in frame.columns])
            return pa.Table.from_pandas(dense(frame), preserve_index=False)
        return pa.table(frame)
    except pa.ArrowException as error:
        # Arrow's messages quote values, so only the column's name is used.
        named = [str(name) for name in getattr(frame, "columns", ()) if f"column {name} " in str(error)]
        if named:
            message = f"the column {named[0]!r} holds values of several kinds; give it one type"
        raise InputUnusable(message) from None
    except OverflowError:
        named = [str(name) for name, values in frame.items() if _overflows(values)]
        if named:
            message = f"the column {named[0]!r} holds a whole number that is too large for 64 bits; make the column text or float"
        raise InputUnusable(message) from None
    except (TypeError, ValueError):
        raise InputUnusable(message) from None


def _overflows(values: Any) -> bool:  # noqa: ANN401 - a column of pandas
    try:
        pa.array(values, from_pandas=True)
    except _BROKEN as error:
        return isinstance(error, OverflowError)
    return False
