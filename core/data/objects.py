"""Object stores: a local folder, an S3 bucket, or memory (for tests), chosen by URL.

``file:///folder`` · ``memory://`` · ``s3://bucket/prefix?endpoint=http://host:9000&region=eu-1`` (the query is
optional; credentials come from the usual AWS environment variables and are never part of a URL).

All personal data is sealed before it gets here. Puts are atomic: an object exists completely or not at all.
They are durable: when a put returns, the object survives a power failure (in a folder the file, its name and
the folders above it are synced; a bucket promises the same).
"""

import errno
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO, Final, Protocol, cast
from urllib.parse import parse_qsl, unquote, urlsplit

import obstore
from obstore.exceptions import BaseError as StoreError
from obstore.store import LocalStore, MemoryStore, S3Store
from typing_extensions import Buffer

from core.data.durable_files import DurableFolder
from core.data.errors import ObjectMissing, StorageUnavailable
from core.logs import get_logger

_S3_KEYS: Final = {"endpoint", "region", "virtual_hosted_style_request"}
_READ_AHEAD_BYTES: Final = 1 << 20
# The library's own timeouts are minutes, too long for a request or a probe; jobs are resumed anyway.
_CONNECT_PATIENCE: Final = timedelta(seconds=3)
_RETRIES: Final = 3
_RETRY_PATIENCE: Final = timedelta(seconds=15)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """An object in a listing, with when it was last put."""

    key: str
    stored_at: datetime


class Putter(Protocol):
    """Stores content under a key, atomically and durably."""

    def put(self, key: str, content: bytes | Path) -> None:
        """Store bytes or a file's content, replacing an existing object."""


class ObjectStore:
    """Bytes under keys such as ``datasets/<id>/rows.sealed``; made by ``open_store``."""

    def __init__(self, backend: LocalStore | MemoryStore | S3Store, *, putter: Putter | None = None) -> None:
        self._backend = backend
        self._putter = putter or _RemotePutter(backend)

    def put_bytes(self, key: str, data: bytes) -> None:
        """Store bytes, replacing an existing object."""
        self._putter.put(key, data)

    def put_file(self, key: str, path: Path) -> None:
        """Store a file's content, replacing an existing object; streamed, so any size."""
        self._putter.put(key, path)

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """The objects in a folder such as ``datasets``, at any depth; a batch at a time."""
        for batch in obstore.list(self._backend, prefix=prefix):
            for found in batch:
                yield StoredObject(key=found["path"], stored_at=found["last_modified"])

    def get_bytes(self, key: str) -> bytes:
        """The whole object.

        Raises:
            ObjectMissing: there is no such object.
        """
        try:
            return bytes(obstore.get(self._backend, key).bytes())
        except FileNotFoundError:
            raise ObjectMissing from None

    def open(self, key: str) -> BinaryIO:
        """The object as a seekable binary file.

        Raises:
            ObjectMissing: there is no such object.
        """
        try:
            return cast("BinaryIO", _ObjectReader(self._backend, key))
        except FileNotFoundError:
            raise ObjectMissing from None

    def exists(self, key: str) -> bool:
        """Whether there is such an object."""
        try:
            obstore.head(self._backend, key)
        except FileNotFoundError:
            return False
        return True

    def size_of(self, key: str) -> int:
        """The size of an object in bytes.

        Raises:
            ObjectMissing: there is no such object.
        """
        try:
            return int(obstore.head(self._backend, key)["size"])
        except FileNotFoundError:
            raise ObjectMissing from None

    def delete(self, key: str) -> None:
        """Remove an object; a missing one is ignored."""
        try:
            obstore.delete(self._backend, key)
        except FileNotFoundError:
            return


class _RemotePutter:
    """A bucket, or memory: puts are atomic."""

    def __init__(self, backend: LocalStore | MemoryStore | S3Store) -> None:
        self._backend = backend

    def put(self, key: str, content: bytes | Path) -> None:
        obstore.put(self._backend, key, content)


class _ObjectReader(io.RawIOBase):
    def __init__(self, backend: LocalStore | MemoryStore | S3Store, key: str) -> None:
        self._reader = obstore.open_reader(backend, key, buffer_size=_READ_AHEAD_BYTES)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return int(self._reader.seek(offset, whence))

    def tell(self) -> int:
        return int(self._reader.tell())

    def readinto(self, buffer: Buffer, /) -> int:
        view = memoryview(buffer).cast("B")
        try:
            piece = memoryview(self._reader.read(len(view)))
        except (StoreError, OSError) as error:
            # Readers of private rows must distinguish these errors: free memory may depend on rows.
            if is_out_of_memory(error):
                raise MemoryError from error
            raise StorageUnavailable from error
        view[: len(piece)] = piece
        return len(piece)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an operating system error means out of memory; the store's library only leaves the number in the text."""
    return getattr(error, "errno", None) == errno.ENOMEM or f"(os error {errno.ENOMEM})" in str(error)


def open_store(url: str) -> ObjectStore:
    """The store of a URL (see the module).

    Raises:
        ValueError: the scheme or a query key is unknown.
    """
    parts = urlsplit(url)
    if parts.scheme == "memory":
        return ObjectStore(MemoryStore())
    if parts.scheme == "file" and parts.netloc in {"", "localhost"}:
        folder = Path(unquote(parts.path))
        return ObjectStore(LocalStore(folder, mkdir=True), putter=DurableFolder(folder))
    if parts.scheme == "s3":
        config = dict(parse_qsl(parts.query))
        if not set(config) <= _S3_KEYS:
            message = f"an s3 URL takes only {', '.join(sorted(_S3_KEYS))}"
            raise ValueError(message)
        plain_http = config.get("endpoint", "").startswith("http://")
        return ObjectStore(
            S3Store(
                parts.netloc,
                prefix=parts.path.strip("/") or None,
                config=config,
                client_options={"allow_http": plain_http, "connect_timeout": _CONNECT_PATIENCE},
                retry_config={"max_retries": _RETRIES, "retry_timeout": _RETRY_PATIENCE},
            )
        )
    message = "a storage URL begins with file:///, s3:// or memory://"
    raise ValueError(message)


def delete_each(store: ObjectStore, keys: Iterable[str], *, failed: str) -> int:
    """Delete objects as far as the store lets, and return how many; what is left, which the log calls `failed`, is for a later sweep."""
    removed = 0
    for key in keys:
        try:
            store.delete(key)
        except (StoreError, OSError):
            get_logger().warning(failed, exc_info=True)
        else:
            removed += 1
    return removed
