"""A frame of the user as the coded table that a synthesizer trains on: the service's own cleaning and coding."""

from typing import Any

import pyarrow as pa

from core.domain.table import TableDomain
from core.storage.clean_rows import CleanBlock, clean_rows
from core.storage.header import check_header, used_names
from models.coding import coded_table
from models.encoding import PrivateTable
from understudy.errors import InputUnusable


def coded_frame(frame: object, domain: TableDomain) -> tuple[PrivateTable, CleanBlock]:
    """Clean a frame by the declared rules and code it.

    Values are taken as they are, like those of a Parquet file: the rules for CSV text do not apply.

    Args:
        frame: a pandas DataFrame, an Arrow table or batch, or anything with ``__arrow_c_stream__``.
        domain: the declared domain.

    Returns:
        The coded records, and what happened to the rows; the second is for their owner alone.

    Raises:
        InputUnusable: it is no frame, or no row is acceptable.
        core.errors.UnderstudyError: its columns are not the declared ones.
    """
    table = arrow_table(frame)
    check_header(domain, table.column_names)
    table = table.select(used_names(domain)).combine_chunks()
    columns = {name: _one(table.column(name)) for name in table.column_names}
    block = clean_rows(domain, columns, table.num_rows, None)
    if block.batch.num_rows == 0:
        reasons = ", ".join(
            sorted({f"{column}: {kind}" for column, kind in block.refusals}) or ["it has no rows"]
        )
        message = f"no row of the frame is acceptable ({reasons}); compare it with the declared domain"
        raise InputUnusable(message)
    return coded_table([block.batch], domain), block


def arrow_table(frame: object) -> pa.Table:
    """Give a frame as an Arrow table.

    Raises:
        InputUnusable: it is none.
    """
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    try:
        if type(frame).__module__.partition(".")[0] == "pandas":
            return pa.Table.from_pandas(frame, preserve_index=False)
        return pa.table(_streamed(frame))
    except (pa.ArrowException, TypeError, ValueError):
        # Arrow's own words quote values.
        message = (
            "the rows must be a pandas DataFrame or an Arrow table, with one kind of value in each column"
        )
        raise InputUnusable(message) from None


def _streamed(frame: object) -> Any:  # noqa: ANN401 - whatever can show itself as an Arrow stream
    if not hasattr(frame, "__arrow_c_stream__"):
        raise TypeError
    return frame


def _one(column: pa.ChunkedArray) -> pa.Array:
    """One array of a column; a table without rows has none."""
    if column.num_chunks == 0:
        return pa.array([], column.type)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
