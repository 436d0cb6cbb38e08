"""The only access to private rows. Import contracts allow it to the workers' child processes only."""

import hashlib
import io
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from typing_extensions import Buffer

from core.data.errors import SealBroken
from core.data.objects import ObjectStore
from core.data.sealing import SealedReader
from core.data.stored_rows import rows_context
from core.plan.domain.declared import Domain
from core.plan.domain.schema import storage_schema

SHARD_BYTES: Final = 1 << 27
"""Stored bytes of a shard, compressed: about a million rows of sixty columns."""


def open_private_rows(
    store: ObjectStore, key: str, data_key: bytes, domain: Domain
) -> Iterator[pa.RecordBatch]:
    """The clean rows of a dataset, decrypted while they are read; plaintext never touches a disk.

    Args:
        key: Their object key; it is part of what was sealed.
        domain: The declared domain under which they were taken in.

    Yields:
        Batches with ``storage_schema(domain)``, a few ten thousand rows or a few megabytes of images each.

    Raises:
        ObjectMissing: there are no rows under this key.
        SealBroken: they are damaged or moved, or the key or the domain is wrong.
    """
    with closing(SealedReader(store.open(key), key=data_key, context=rows_context(key))) as sealed:
        yield from _checked(sealed, domain, None)


class PrivateShards:
    """The clean rows of a dataset in shards that can be read one by one and repeatedly; see `open_private_rows`.

    Shards are contiguous ranges of the stored stream, in order. Their boundaries depend only on the stored
    bytes, so every reader gets the same shards. Opening reads the whole stream once without decompressing it.

    Args:
        shard_bytes: Minimum stored bytes of a shard, except the last; `SHARD_BYTES` by default.

    Raises:
        ObjectMissing: there are no rows under this key.
        SealBroken: they are damaged, or the key is wrong.
    """

    def __init__(
        self,
        store: ObjectStore,
        key: str,
        data_key: bytes,
        domain: Domain,
        *,
        shard_bytes: int | None = None,
    ) -> None:
        self._store = store
        self._key = key
        self._data_key = data_key
        self._domain = domain
        self.shard_bytes = SHARD_BYTES if shard_bytes is None else shard_bytes
        with closing(self._opened()) as sealed:
            self._shards = _cut(sealed, self.shard_bytes)

    def __len__(self) -> int:
        """Number of shards, at least one."""
        return len(self._shards)

    @property
    def cut(self) -> str:
        """SHA-256 of the shard boundaries: readers with the same digest have the same shards."""
        return hashlib.sha256(repr([shard.stretches for shard in self._shards]).encode()).hexdigest()

    def read(self, shard: int, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The batches of one shard.

        Args:
            shard: Index of the shard, from 0.
            columns: Names of the columns to decompress, in the order of the schema; None for all.

        Raises:
            SealBroken: the rows are damaged, or the domain is wrong.
        """
        with closing(self._opened()) as sealed:
            yield from _checked(_Stretches(sealed, self._shards[shard].stretches), self._domain, columns)

    def _opened(self) -> SealedReader:
        return SealedReader(self._store.open(self._key), key=self._data_key, context=rows_context(self._key))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shard:
    """Byte ranges of a shard in the stream: schema and dictionaries, then its own messages."""

    stretches: tuple[tuple[int, int], ...]


class _Stretches(io.RawIOBase):
    """Several byte ranges of a sealed stream as one file."""

    def __init__(self, sealed: SealedReader, stretches: tuple[tuple[int, int], ...]) -> None:
        self._sealed = sealed
        self._left = list(stretches)

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Buffer, /) -> int:
        """Fill a buffer across ranges. Returns the number of bytes read, 0 at the end."""
        view = memoryview(buffer).cast("B")
        done = 0
        while done < len(view) and self._left:
            start, stop = self._left.pop(0)
            self._sealed.seek(start)
            read = self._sealed.readinto(view[done : done + stop - start])
            done += read
            if start + read < stop:
                self._left.insert(0, (start + read, stop))
                if not read:
                    raise SealBroken
        return done


def _cut(sealed: SealedReader, shard_bytes: int) -> list[_Shard]:
    """Split a stream into shards of whole messages."""
    shards: list[_Shard] = []
    before: list[tuple[int, int]] = []  # the schema and dictionaries that a shard needs from before it
    own: list[tuple[int, int]] = []
    fresh: list[tuple[int, int]] = []
    holds_rows = False
    for kind, start, stop in _messages(sealed):
        own.append((start, stop))
        if kind != "record batch":
            fresh.append((start, stop))
            continue
        holds_rows = True
        if stop - own[0][0] >= shard_bytes:
            shards.append(_Shard(stretches=(*before, *own)))
            before, own, fresh, holds_rows = [*before, *fresh], [], [], False
    if holds_rows or not shards:
        shards.append(_Shard(stretches=(*before, *own)))
    return shards


def _messages(sealed: SealedReader) -> Iterator[tuple[str, int, int]]:
    """Kind, begin and end of every message of an Arrow stream."""
    try:
        reader = pa.ipc.MessageReader.open_stream(sealed)
        start = sealed.tell()
        while True:
            try:
                kind = reader.read_next_message().type
            except StopIteration:
                return
            yield kind, start, (start := sealed.tell())
    except pa.ArrowInvalid:
        raise SealBroken from None


def _checked(sealed: io.RawIOBase, domain: Domain, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
    """The batches of a stream with the domain's schema, or with these columns of it."""
    schema = storage_schema(domain)
    fields = None if columns is None else [schema.get_field_index(name) for name in columns]
    try:
        reader = pa.ipc.open_stream(sealed, options=pa.ipc.IpcReadOptions(included_fields=fields))
    except pa.ArrowInvalid:
        raise SealBroken from None
    if reader.schema != (schema if fields is None else pa.schema([schema.field(place) for place in fields])):
        raise SealBroken
    yield from reader
