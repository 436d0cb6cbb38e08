"""Synthetic rows as a byte stream: CSV, Parquet, JSON lines or an Arrow stream, in constant memory."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from core.artifacts.drained_file import DrainedFile
from core.artifacts.sampling.json_lines import json_lines
from core.plan.domain.spreadsheet import plain_cell

Batches = Iterator[pa.RecordBatch]

DICTIONARY_BYTES: Final = 100_000
"""Maximum size of a Parquet column's dictionary; beyond it, as in columns of distinct numbers, values are written to pages."""


def _csv(batches: Batches, schema: pa.Schema) -> Iterator[bytes]:
    drained = DrainedFile()
    with pyarrow.csv.CSVWriter(drained, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            yield drained.take()
    yield drained.take()


def _parquet(batches: Batches, schema: pa.Schema) -> Iterator[bytes]:
    drained = DrainedFile()
    # Statistics of words help no reader; those of numbers do.
    bounded = [field.name for field in schema if not pa.types.is_dictionary(field.type)]
    with pyarrow.parquet.ParquetWriter(
        drained,
        schema,
        compression="zstd",
        compression_level=1,
        write_statistics=bounded,
        dictionary_pagesize_limit=DICTIONARY_BYTES,
    ) as writer:
        for batch in batches:
            writer.write_batch(batch)
            yield drained.take()
    yield drained.take()


def _jsonl(batches: Batches, _schema: pa.Schema) -> Iterator[bytes]:
    for batch in batches:
        yield from json_lines(batch)


def _arrow(batches: Batches, schema: pa.Schema) -> Iterator[bytes]:
    drained = DrainedFile()
    with pa.ipc.new_stream(drained, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            yield drained.take()
    yield drained.take()


_WRITERS: Final = {"csv": _csv, "parquet": _parquet, "jsonl": _jsonl, "arrow": _arrow}

MEDIA_TYPES: Final = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "jsonl": "application/jsonl",
    "arrow": "application/vnd.apache.arrow.stream",
}


def _of_plain_cells(batches: Batches) -> Batches:
    """The same rows with an apostrophe before every name and word that a spreadsheet would run as a formula."""
    for batch in batches:
        names = [plain_cell(name) for name in batch.schema.names]
        yield pa.RecordBatch.from_arrays([_plain(column) for column in batch.columns], names)


def _plain(column: pa.Array) -> pa.Array:
    if not pa.types.is_dictionary(column.type):
        return column  # numbers, times and truth values
    words = [plain_cell(word) for word in column.dictionary.to_pylist()]
    return pa.DictionaryArray.from_arrays(column.indices, pa.array(words, column.type.value_type))


def _as_declared(batches: Batches, written: Mapping[str, str]) -> Batches:
    """The same rows with dates and times as words of their declared format."""
    for batch in batches:
        columns = [
            _moments(column, written[name]) if name in written else column
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, batch.schema.names)


def _moments(column: pa.Array, format_: str) -> pa.Array:
    coded = column.dictionary_encode()
    words = pc.strftime(coded.dictionary, format=format_, locale="C")
    return pa.DictionaryArray.from_arrays(coded.indices, words)


def stream(
    batches: Batches,
    name: str,
    *,
    spreadsheet_safe: bool = False,
    written: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[bytes]:
    """Write record batches in a format.

    Args:
        batches: At least one record batch; all of one schema.
        name: ``csv``, ``parquet``, ``jsonl`` or ``arrow``.
        spreadsheet_safe: Whether text that a spreadsheet would run as a formula gets an apostrophe.
        written: By column of dates or times the strftime format of its text in CSV; ISO 8601 for the others.

    Yields:
        The file's bytes, in pieces: at least one for each batch that has rows.
    """
    if written and name == "csv":
        batches = _as_declared(batches, written)
    if spreadsheet_safe:
        batches = _of_plain_cells(batches)
    first = next(batches)

    def all_batches() -> Batches:
        yield first
        yield from batches

    yield from _WRITERS[name](all_batches(), first.schema)
