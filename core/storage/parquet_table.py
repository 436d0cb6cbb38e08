"""Parquet files to clean rows.

Parquet needs random access, so the upload is spooled first: to an unlinked scratch file, sealed under a key that lives
only in this process. Plaintext never touches a disk. Strings are read as dictionaries: a page that repeats one long
text a million times costs that text once.
"""

import io
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa
from pyarrow import parquet

from core.domain.table import TableDomain
from core.storage.clean_rows import CleanBlock, clean_rows
from core.storage.errors import DamagedUpload, DecompressionBomb, EmptyUpload
from core.storage.header import check_header, used_names
from core.storage.sealing import SealedReader, SealedWriter, new_data_key
from core.storage.unpacking import IntakeLimits, check_ratio

_SPOOL_CHUNK_BYTES = 1 << 16
_BATCH_ROWS = 1 << 15
_BROKEN = (pa.ArrowException, OSError, ValueError, OverflowError)


@contextmanager
def spooled(pieces: Iterable[bytes], scratch_folder: Path) -> Iterator[SealedReader]:
    """The bytes of a stream as a seekable file, sealed on disk under a key that is forgotten."""
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
        DamagedUpload: not a whole Parquet file.
        DecompressionBomb: its footer promises more than the limits allow.
        WrongHeader: other columns than the declared ones.
    """

    def __init__(self, source: SealedReader, domain: TableDomain, limits: IntakeLimits) -> None:
        if source.size == 0:
            raise EmptyUpload("The upload has no bytes.")
        self._domain = domain
        self._names = used_names(domain)
        buffered = io.BufferedReader(source, _SPOOL_CHUNK_BYTES)
        try:
            metadata = parquet.read_metadata(buffered)
            schema = metadata.schema.to_arrow_schema()
        except _BROKEN:
            raise _damaged() from None
        check_header(domain, schema.names)
        _check_sizes(metadata, source.size, limits)
        if metadata.num_rows == 0:
            raise EmptyUpload("The file has no rows.")
        texts = [field.name for field in schema if field.name in self._names and _is_text(field.type)]
        self._file = parquet.ParquetFile(
            buffered, metadata=metadata, read_dictionary=texts, pre_buffer=False, buffer_size=1 << 18
        )

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The raw rows of the columns that are used.

        Raises:
            DamagedUpload: a page does not decode.
        """
        batches = self._file.iter_batches(_BATCH_ROWS, columns=self._names, use_threads=False)
        while True:
            try:
                batch = next(batches, None)
                if batch is not None:
                    batch.validate(full=True)  # text that is not UTF-8, indices beyond a dictionary
            except _BROKEN:
                raise _damaged() from None
            if batch is None:
                return
            yield batch

    def clean(self, batch: pa.RecordBatch) -> CleanBlock:
        """Clean one batch; the problems' rows count from 0 within it."""
        columns = {name: batch.column(name) for name in self._names}
        return clean_rows(self._domain, columns, batch.num_rows, None)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _damaged() -> DamagedUpload:
    return DamagedUpload(
        "This is not a whole, readable Parquet file.", remedy="Write or send the file again."
    )


def _check_sizes(metadata: parquet.FileMetaData, sent: int, limits: IntakeLimits) -> None:
    unpacked = 0
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        for index in range(row_group.num_columns):
            size = max(0, row_group.column(index).total_uncompressed_size)
            unpacked += size
            if size > limits.max_column_chunk_bytes:
                raise DecompressionBomb(
                    f"One column of row group {group} has more than {limits.max_column_chunk_bytes} bytes.",
                    remedy="Write the file with smaller row groups (100,000 rows are usual).",
                    limit_bytes=limits.max_column_chunk_bytes,
                )
    check_ratio(sent, unpacked, limits)
