"""Clean rows from Parquet files.

Parquet needs random access, so the upload is spooled first: to an unlinked scratch file, sealed under a key that lives
only in this process. Plaintext never touches a disk. Strings are read as dictionaries: a page that repeats one long
text a million times costs that text once.
"""

import io
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, cast

import pyarrow as pa
from pyarrow import parquet

from core.data.errors import EmptyUpload
from core.data.intake.clean_rows import CleanBlock, clean_rows
from core.data.intake.header import check_header, used_names
from core.data.intake.parquet_footer import Footer, Refooted, damaged
from core.data.intake.parquet_pages import check_pages
from core.data.intake.unpacking import IntakeLimits, check_ratio
from core.data.sealing import SealedReader, SealedWriter, new_data_key
from core.plan.domain.errors import DomainMismatch
from core.plan.domain.table import TableDomain

_SPOOL_CHUNK_BYTES = 1 << 16
_BATCH_ROWS = 1 << 15
_READ_BYTES: Final = 1 << 18
_BROKEN = (pa.ArrowException, OSError, ValueError, OverflowError)


@contextmanager
def spooled(pieces: Iterable[bytes], scratch_folder: Path) -> Iterator[SealedReader]:
    """A stream as a seekable file, sealed on disk under an ephemeral key."""
    key = new_data_key()
    with tempfile.TemporaryFile(dir=scratch_folder) as file:
        raw = cast("BinaryIO", file)
        with SealedWriter(raw, key=key, context="spool", chunk_bytes=_SPOOL_CHUNK_BYTES) as writer:
            for piece in pieces:
                writer.write(piece)
        with SealedReader(raw, key=key, context="spool") as reader:
            yield reader


class ParquetTable:
    """An opened file whose columns are the declared ones.

    Raises:
        EmptyUpload: no bytes or no rows.
        DamagedUpload: not a complete Parquet file.
        DecompressionBomb: its footer or its pages promise more than the limits allow.
        DomainMismatch: a column holds lists or structures.
        UnsupportedUpload: a column has an unsupported encoding.
        WrongHeader: other columns than the declared ones.
    """

    def __init__(self, source: SealedReader, domain: TableDomain, limits: IntakeLimits) -> None:
        if source.size == 0:
            raise EmptyUpload("The upload has no bytes.")
        self._domain = domain
        self._names = used_names(domain)
        buffered = io.BufferedReader(source, _SPOOL_CHUNK_BYTES)
        footer = Footer.read(cast("BinaryIO", buffered), source.size, limits)
        ours = cast(
            "BinaryIO", io.BufferedReader(Refooted(cast("BinaryIO", buffered), footer), _SPOOL_CHUNK_BYTES)
        )
        schema = _schema_of(ours)
        named = dict(zip(check_header(domain, schema.names), schema.names, strict=True))
        self._in_file = [named[name] for name in self._names]
        _require_flat(schema, self._in_file)
        if footer.rows == 0:
            raise EmptyUpload("The file has no rows.")
        columns = {(name.encode(),) for name in self._in_file}
        unpacked = check_pages(cast("BinaryIO", buffered), footer, columns, limits)
        check_ratio(source.size, unpacked, limits)
        self._size, self._limits = source.size, limits
        texts = [field.name for field in schema if field.name in self._in_file and _is_text(field.type)]
        self._file = _opened(ours, read_dictionary=texts)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The raw rows of the used columns.

        Raises:
            DamagedUpload: a page does not decode.
            DecompressionBomb: values are repeated so often that they would fill far more than any table.
        """
        values = 0
        batches = self._file.iter_batches(_BATCH_ROWS, columns=self._in_file, use_threads=False)
        while True:
            try:
                batch = next(batches, None)
                if batch is not None:
                    batch.validate(full=True)  # text that is not UTF-8, indices beyond a dictionary
            except _BROKEN:
                raise damaged() from None
            if batch is None:
                return
            values += batch.num_rows * batch.num_columns
            check_ratio(self._size, values, self._limits)
            yield batch

    def clean(self, batch: pa.RecordBatch) -> CleanBlock:
        """Clean one batch; the problems' rows count from 0 within it."""
        columns = {name: batch.column(place) for name, place in zip(self._names, self._in_file, strict=True)}
        return clean_rows(self._domain, columns, batch.num_rows, None)


def _opened(file: BinaryIO, *, read_dictionary: list[str]) -> parquet.ParquetFile:
    try:
        return parquet.ParquetFile(
            file, read_dictionary=read_dictionary, pre_buffer=False, buffer_size=_READ_BYTES
        )
    except _BROKEN:
        raise damaged() from None


def _schema_of(file: BinaryIO) -> pa.Schema:
    try:
        return _opened(file, read_dictionary=[]).schema_arrow
    except _BROKEN:
        raise damaged() from None


def _require_flat(schema: pa.Schema, names: list[str]) -> None:
    for name in names:
        if pa.types.is_nested(schema.field(name).type):
            raise DomainMismatch(
                f"The column '{name}' holds lists or structures.",
                remedy="Write one value per row and column.",
                column=name,
            )


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
