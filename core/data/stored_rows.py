"""The stored form of rows and images: an Arrow IPC stream (zstd) of clean, typed columns, sealed."""

from typing import BinaryIO, Final

import pyarrow as pa

from core.plan.domain.declared import Domain
from core.plan.domain.schema import storage_schema

COMPRESSION_LEVEL: Final = 1


def rows_context(key: str) -> str:
    """Associated data of sealed rows, which open only under their object key."""
    return f"rows:{key}"


def open_writer(sink: BinaryIO, domain: Domain) -> pa.ipc.RecordBatchStreamWriter:
    """A writer of batches with ``storage_schema(domain)``."""
    options = pa.ipc.IpcWriteOptions(
        compression=pa.Codec("zstd", COMPRESSION_LEVEL), use_threads=False, unify_dictionaries=False
    )
    return pa.ipc.new_stream(sink, storage_schema(domain), options=options)
