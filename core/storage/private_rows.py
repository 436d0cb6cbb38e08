"""The only door to private rows. Import contracts let ``workers.runner`` through it and nobody else."""

from collections.abc import Iterator
from contextlib import closing

import pyarrow as pa

from core.domain.declared import Domain
from core.domain.schema import storage_schema
from core.storage.errors import SealBroken
from core.storage.objects import ObjectStore
from core.storage.sealing import SealedReader
from core.storage.stored_rows import rows_context


def open_private_rows(
    store: ObjectStore, key: str, data_key: bytes, domain: Domain
) -> Iterator[pa.RecordBatch]:
    """The clean rows of a dataset, decrypted while they are read; plaintext never touches a disk.

    Args:
        store: Where the sealed rows are.
        key: Their object key; it is part of what was sealed.
        data_key: The unwrapped data key.
        domain: The declared domain under which they were taken in.

    Yields:
        Batches with ``storage_schema(domain)``, a few ten thousand rows or a few megabytes of images each.

    Raises:
        ObjectMissing: there are no rows under this key.
        SealBroken: they are damaged, belong elsewhere, or the key or the domain is another one.
    """
    with closing(SealedReader(store.open(key), key=data_key, context=rows_context(key))) as sealed:
        try:
            reader = pa.ipc.open_stream(sealed)
        except pa.ArrowInvalid:
            raise SealBroken from None
        if reader.schema != storage_schema(domain):
            raise SealBroken
        yield from reader
